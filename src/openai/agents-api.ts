/**
 * The only place that talks to the Agents API, through the official client. Retries are off: Temporal alone
 * retries (agents-api.md 10.29). Every failure leaves here as an ApiError; any 2xx is success (I12).
 */
import OpenAI from 'openai';
import { Agent as Dispatcher } from 'undici';

import { isRecord, wellFormedJson } from '../protocol/json.ts';
import type { InputEvent, Item, Page, Session, SessionEvent, Turn } from '../protocol/wire.ts';
import { ApiError, noAnswer, toApiError } from './api-error.ts';

/** For an ordinary request, from its start to the end of the answer's body. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Input to a self-hosted environment without executor blocks up to five minutes (agents-api.md 2.3). */
const MESSAGE_TIMEOUT_MS = 330_000;
/**
 * How long an idle connection is kept for the next request, whatever the server promises: behind a router that
 * has forgotten it, a request on it would hang to its end (scenario 24).
 */
const KEEP_ALIVE_MS = 4000;
const PAGE_LIMIT = 100;
const MAX_PAGES = 1000;
const UNEXPECTED = 'unexpected answer';

export interface AgentsApiOptions {
  apiKey: string;
  /** For example `http://127.0.0.1:8788/v1`. Default: the service. */
  baseURL?: string;
  /** Limit of one request; input and the life of a stream have their own. Default 60 s. */
  requestTimeoutMs?: number;
}

interface RequestOptions {
  signal: AbortSignal;
  timeout: number;
}

export interface ListQuery {
  after?: string;
  limit?: number;
  order?: 'asc' | 'desc';
  metadata?: Record<string, string>;
}

export class AgentsApi {
  readonly #client: OpenAI;
  readonly #timeoutMs: number;
  readonly #secrets: readonly string[];

  constructor(options: AgentsApiOptions) {
    this.#timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.#secrets = [options.apiKey];
    this.#client = new OpenAI({
      apiKey: options.apiKey,
      ...(options.baseURL === undefined ? {} : { baseURL: options.baseURL }),
      maxRetries: 0,
      logLevel: 'off',
      // Node's fetch kills a body that is silent for 300 s; silence is judged by our own watchdog (agents-api.md 3.1).
      fetchOptions: {
        dispatcher: new Dispatcher({ bodyTimeout: 0, headersTimeout: 0, keepAliveMaxTimeout: KEEP_ALIVE_MS }),
      },
    });
  }

  /** Creates a session. No key protects this request: see `session-opener.ts` (I1). */
  async createSession(body: Record<string, unknown>, signal?: AbortSignal): Promise<Session> {
    return this.#object('create session', signal, (options) =>
      this.#sessions.create(wellFormedJson(body) as never, options),
    );
  }

  async getSession(sessionId: string, signal?: AbortSignal): Promise<Session> {
    return this.#object('read session', signal, (options) => this.#sessions.retrieve(sessionId, options));
  }

  /** One page of sessions, newest first unless asked otherwise. */
  async listSessions(query: ListQuery, signal?: AbortSignal): Promise<Page<Session>> {
    return this.#page('list sessions', signal, (options) => this.#sessions.list(query, options));
  }

  /** Deletes a session; one that is gone already is success. */
  async deleteSession(sessionId: string, signal?: AbortSignal): Promise<void> {
    await this.#call('delete session', signal, (options) => this.#sessions.delete(sessionId, options));
  }

  /**
   * Posts one input event; atomicity of several is undocumented. `key` is the idempotency key and must go as a
   * parameter: the client's request option sends nothing here (agents-api.md 5.6).
   */
  async postEvent(sessionId: string, event: InputEvent, key: string, signal?: AbortSignal): Promise<void> {
    const timeout = event.type === 'agent.session.input.message' ? MESSAGE_TIMEOUT_MS : this.#timeoutMs;
    const what = event.type.slice(event.type.lastIndexOf('.') + 1).replace('_', ' ');
    const body = { events: [wellFormedJson(event)], 'Idempotency-Key': key };
    const post = async (options: RequestOptions): Promise<void> => {
      // The status alone says that it was taken; whatever body comes with it is not looked at (I12).
      const response = await this.#sessions.events.create(sessionId, body, options).asResponse();
      await response.body?.cancel();
    };
    await this.#call(`post ${what}`, signal, post, timeout);
  }

  async getTurn(sessionId: string, turnId: string, signal?: AbortSignal): Promise<Turn> {
    return this.#object('read turn', signal, (options) =>
      this.#sessions.turns.retrieve(turnId, { session_id: sessionId }, options),
    );
  }

  /**
   * The like, or null for a turn that is not to be found: session-level routes know no subagent's turns
   * (agents-api.md 9). Whether the session is there is for a read of the session to say.
   */
  async findTurn(sessionId: string, turnId: string, signal?: AbortSignal): Promise<Turn | null> {
    try {
      return await this.getTurn(sessionId, turnId, signal);
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'not_found') return null;
      throw error;
    }
  }

  /** The newest turns, newest first. */
  async newestTurns(sessionId: string, limit: number, signal?: AbortSignal): Promise<Turn[]> {
    const page = await this.#page<Turn>('list turns', signal, (options) =>
      this.#sessions.turns.list(sessionId, { limit, order: 'desc' } as never, options),
    );
    return page.data;
  }

  /**
   * All saved items of a root turn, oldest first, each once. Pages by `last_id`: an element's id may be null, and
   * items without one are never merged (R7).
   */
  async turnItems(sessionId: string, turnId: string, signal?: AbortSignal): Promise<Item[]> {
    const items = new Map<string | symbol, Item>();
    const doing = 'list turn items';
    let after: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const query = { session_id: sessionId, limit: PAGE_LIMIT, order: 'asc', ...(after ? { after } : {}) };
      const page: Page<Item> = await this.#page(doing, signal, (options) =>
        this.#sessions.turns.items.list(turnId, query as never, options),
      );
      for (const item of page.data) items.set(item.id ?? Symbol('no id'), item);
      if (!page.has_more) return [...items.values()];
      if (!page.last_id || page.last_id === after) throw noAnswer(doing, 'has_more without a new last_id');
      after = page.last_id;
    }
    throw noAnswer(doing, `more than ${MAX_PAGES} pages`);
  }

  /** Opens the session's event stream. Resolves when the headers are there: from then on nothing is missed. */
  async openStream(sessionId: string, signal: AbortSignal): Promise<AsyncIterable<SessionEvent>> {
    try {
      // The three-argument form: the two-argument one takes the query for request options (agents-api.md 3.1).
      const stream: unknown = await this.#sessions.events.stream(
        sessionId,
        { include_obfuscation: false },
        { signal, timeout: this.#timeoutMs },
      );
      return stream as AsyncIterable<SessionEvent>;
    } catch (error) {
      throw this.#errorOf(error, 'open event stream', signal);
    }
  }

  get #sessions(): OpenAI['beta']['agents']['sessions'] {
    return this.#client.beta.agents.sessions;
  }

  /** One request with a limit for all of it: the client's own ends with the headers (agents-api.md 3.1). */
  async #call<T>(
    doing: string,
    signal: AbortSignal | undefined,
    request: (options: RequestOptions) => PromiseLike<T>,
    timeoutMs = this.#timeoutMs,
  ): Promise<T> {
    signal?.throwIfAborted();
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    signal?.addEventListener('abort', stop, { once: true });
    const timer = setTimeout(stop, timeoutMs);
    try {
      return await request({ signal: abort.signal, timeout: timeoutMs });
    } catch (error) {
      if (abort.signal.aborted && !signal?.aborted) throw noAnswer(doing, 'timeout');
      throw this.#errorOf(error, doing, signal);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** The client's own abort error hides why; the signal knows. */
  #errorOf(error: unknown, doing: string, signal: AbortSignal | undefined): unknown {
    return signal?.aborted ? signal.reason : toApiError(error, doing, this.#secrets);
  }

  /** A request for one object with an id. Anything else is no answer: a proxy's page, an empty body. */
  async #object<T extends { id: string }>(
    doing: string,
    signal: AbortSignal | undefined,
    request: (options: RequestOptions) => PromiseLike<unknown>,
  ): Promise<T> {
    const answer = await this.#call(doing, signal, request);
    if (!isRecord(answer) || typeof answer['id'] !== 'string') throw noAnswer(doing, UNEXPECTED);
    return answer as unknown as T;
  }

  async #page<T>(
    doing: string,
    signal: AbortSignal | undefined,
    request: (options: RequestOptions) => { asResponse(): Promise<Response> },
  ): Promise<Page<T>> {
    const page = await this.#call(doing, signal, async (options): Promise<unknown> => {
      const response = await request(options).asResponse();
      return response.json();
    });
    if (!isRecord(page) || !Array.isArray(page['data'])) throw noAnswer(doing, UNEXPECTED);
    return page as unknown as Page<T>;
  }
}
