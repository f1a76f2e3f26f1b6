/**
 * Plain requests to the probed server. The official client is not used: what counts here are exact statuses, bodies
 * and headers, and requests that the client would never send.
 */
import { isRecord } from '../protocol/json.ts';
import { redact } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';
import { ProbeStream } from './stream.ts';
import { within } from './waiting.ts';

const BETA = 'agents=v1';
const MAX_WORDS = 160;
const MAX_NAME = 60;

/** The server gave no answer at all. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed body; undefined when it is empty or no JSON. */
  body: unknown;
}

export interface Request {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the base URL, with its query. */
  path: string;
  body?: unknown;
  /** The Idempotency-Key. */
  key?: string;
  /** Instead of the own key; null sends none. */
  bearer?: string | null;
  /** False leaves the beta header out. */
  beta?: boolean;
  signal: AbortSignal;
}

export class ProbeHttp {
  /** Requests sent so far, streams among them. */
  requests = 0;
  readonly host: string;
  readonly #baseUrl: string;
  readonly #apiKey: string;
  readonly #limitMs: number;

  /**
   * @param baseUrl such as `http://127.0.0.1:8788/v1`. Throws TypeError for what is no URL.
   * @param limitMs how long one request may take; for a stream, until its headers are here.
   */
  constructor(baseUrl: string, apiKey: string, limitMs: number) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#limitMs = limitMs;
    this.host = new URL(baseUrl).host;
  }

  /** Any status is an answer. Throws NoAnswer, or the signal's reason. */
  async send(request: Request): Promise<Answer> {
    const { method, body, signal } = request;
    const init: RequestInit = {
      method,
      headers: this.#headers(request),
      // What is elsewhere is another server, which nobody asked for and which would get the key.
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return this.#reach(signal, async () =>
      within(signal, this.#limitMs, async (limited) => {
        const response = await fetch(`${this.#baseUrl}${request.path}`, { ...init, signal: limited });
        const text = await response.text();
        return { status: response.status, headers: response.headers, body: parsed(text) };
      }),
    );
  }

  /** Opens an event stream; a refusal is an Answer. Throws NoAnswer, or the signal's reason. */
  async open(path: string, signal: AbortSignal): Promise<ProbeStream | Answer> {
    const abort = new AbortController();
    const timeout = new DOMException('timeout', 'TimeoutError');
    const late = setTimeout(() => abort.abort(timeout), this.#limitMs);
    const headers = { ...this.#headers({}), accept: 'text/event-stream' };
    try {
      return await this.#reach(signal, async () => {
        const response = await fetch(`${this.#baseUrl}${path}`, {
          headers,
          redirect: 'manual',
          signal: AbortSignal.any([signal, abort.signal]),
        });
        if (response.ok && response.body !== null) return new ProbeStream(response.body, abort);
        const body = parsed(await response.text());
        return { status: response.status, headers: response.headers, body };
      });
    } finally {
      clearTimeout(late);
    }
  }

  /** A text of the server's as it may be shown: one line, without keys. */
  shown(text: string): string {
    return oneLine(redact(text, [this.#apiKey]), MAX_WORDS);
  }

  #headers({ body, key, bearer, beta }: Partial<Request>): Record<string, string> {
    const token = bearer === undefined ? this.#apiKey : bearer;
    return {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(beta === false ? {} : { 'openai-beta': BETA }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    };
  }

  async #reach<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    this.requests += 1;
    try {
      return await request();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new NoAnswer(`${this.host} did not answer (${this.shown(reasonOf(error))})`);
    }
  }
}

export function isTaken(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** The error object of an answer, its names fit to be shown; empty when it has none. */
export function errorOf(answer: Answer): { type?: string; code?: string; message?: string } {
  const error = isRecord(answer.body) ? answer.body['error'] : undefined;
  if (!isRecord(error)) return {};
  const { type, code, message } = error;
  return {
    ...(typeof type === 'string' ? { type: oneLine(type, MAX_NAME) } : {}),
    ...(typeof code === 'string' ? { code: oneLine(code, MAX_NAME) } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The system's word for it; else what the innermost cause says. */
function reasonOf(error: unknown): string {
  let words = 'unknown';
  for (let e: unknown = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if ('code' in e && typeof e.code === 'string') return e.code;
    if (e.name === 'TimeoutError') return 'timeout';
    words = e.message;
  }
  return words;
}
