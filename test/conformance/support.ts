/** What the conformance tests share: an emulator of their own, the official client, and raw HTTP. */
import OpenAI from 'openai';
import type { AgentSessionEvent, AgentToolParam } from 'openai/resources/beta/agents/agents';
import { startEmulator, type Emulator, type EmulatorOptions, type Step } from '../../src/emulator/index.ts';

export type Json = Record<string, unknown>;
/** Of each test: a broken emulator must fail a test, not hang it. */
export const LIMIT = { timeout: 180_000 };

interface Cleanup {
  after: (fn: () => Promise<void>) => void;
}

/** An emulator that lives as long as the test, with the SDK's own retries off. */
export async function emulate(t: Cleanup, options: EmulatorOptions = {}): Promise<Bench> {
  const emulator = await startEmulator({ deltaMs: 1, stepMs: 1, usageDelayMs: 10, ...options });
  t.after(() => emulator.close());
  return new Bench(emulator.origin, emulator);
}

export const BETA = { 'openai-beta': 'agents=v1' };
const AUTH = { ...BETA, authorization: 'Bearer test-key' };

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Json;
}

/** A client of one emulator, official and raw. */
export class Bench {
  readonly origin: string;
  readonly client: OpenAI;
  private readonly own: Emulator | undefined;

  constructor(origin: string, own?: Emulator) {
    this.origin = origin;
    this.own = own;
    this.client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'test-key', maxRetries: 0 });
  }

  get emulator(): Emulator {
    if (this.own === undefined) throw new Error('the emulator runs in another process');
    return this.own;
  }

  get sessions(): OpenAI['beta']['agents']['sessions'] {
    return this.client.beta.agents.sessions;
  }

  async raw(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = AUTH,
  ): Promise<Answer> {
    const response = await fetch(`${this.origin}/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = {};
    }
    return { status: response.status, headers: response.headers, text, body: parsed as Json };
  }

  async control(method: string, name: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.origin}/__emulator/${name}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Json };
  }

  /** Posts one input event. */
  post(sessionId: string, event: Json, key?: string): Promise<Answer> {
    const headers: Record<string, string> = key === undefined ? AUTH : { ...AUTH, 'idempotency-key': key };
    return this.raw('POST', `/agents/sessions/${sessionId}/events`, { events: [event] }, headers);
  }

  /** A new session whose first turn plays these steps. */
  async start(steps: Step[] | string, extra: Json = {}): Promise<string> {
    const answer = await this.raw('POST', '/agents/sessions', {
      environment: { type: 'none' },
      agent: { model: 'scripted', ...(extra['agent'] as Json | undefined) },
      input: typeof steps === 'string' ? steps : script(steps),
      ...Object.fromEntries(Object.entries(extra).filter(([key]) => key !== 'agent')),
    });
    if (answer.status !== 201 && answer.status !== 200) throw new Error(answer.text);
    return String(answer.body['id']);
  }

  /** A session whose first turn is over, so that messages are taken. */
  async startIdle(extra: Json = {}): Promise<string> {
    const id = await this.start([{ say: 'ready' }], extra);
    await this.status(id, 'idle');
    return id;
  }

  async session(id: string): Promise<Json> {
    return (await this.raw('GET', `/agents/sessions/${id}`)).body;
  }

  /** Reads the session until it has this status; answers it. */
  async status(id: string, status: string): Promise<Json> {
    return waitFor(`session ${status}`, async () => {
      const session = await this.session(id);
      return session['status'] === status ? session : undefined;
    });
  }

  async list(path: string): Promise<Json[]> {
    return (await this.raw('GET', path)).body['data'] as Json[];
  }

  async turns(id: string): Promise<Json[]> {
    return this.list(`/agents/sessions/${id}/turns?order=asc&limit=100`);
  }

  async items(id: string): Promise<Json[]> {
    return this.list(`/agents/sessions/${id}/items?order=asc&limit=100`);
  }

  /** The pending function calls of a session. */
  async pending(
    id: string,
  ): Promise<{ turn_id: string; call_id: string; name: string; arguments: unknown }[]> {
    const session = await this.status(id, 'requires_action');
    return session['required_actions'] as {
      turn_id: string;
      call_id: string;
      name: string;
      arguments: unknown;
    }[];
  }

  /** Opens a stream and answers once its headers are here. */
  async open(id: string, query = ''): Promise<RawStream> {
    const control = new AbortController();
    const response = await fetch(`${this.origin}/v1/agents/sessions/${id}/events${query}`, {
      headers: AUTH,
      signal: control.signal,
    });
    return new RawStream(response, control);
  }
}

/** A stream read without the SDK: bytes, frames, and how it ended. */
export class RawStream {
  readonly response: Response;
  text = '';
  ended: 'open' | 'eof' | 'broken' = 'open';
  private readonly control: AbortController;
  private readonly reading: Promise<void>;

  constructor(response: Response, control: AbortController) {
    this.response = response;
    this.control = control;
    this.reading = this.read();
  }

  /** Complete frames so far, comments left out. */
  get events(): (Json & { type: string })[] {
    return this.text
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => frame.split('\n').find((line) => line.startsWith('data: ')))
      .filter((line) => line !== undefined)
      .map((line) => JSON.parse(line.slice('data: '.length)) as Json & { type: string });
  }

  get types(): string[] {
    return this.events.map((event) => event.type.replace('agent.session.', ''));
  }

  async until(type: string, count = 1): Promise<void> {
    await waitFor(`${count} × ${type}`, async () =>
      this.types.filter((one) => one === type).length >= count ? true : undefined,
    );
  }

  /** Resolves when the server ended or broke the stream. */
  async end(): Promise<'eof' | 'broken'> {
    await this.reading;
    return this.ended === 'eof' ? 'eof' : 'broken';
  }

  /** Goes away, as a client does. */
  async cancel(): Promise<void> {
    this.control.abort();
    await this.reading;
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.response.body as unknown as AsyncIterable<Uint8Array>) {
        this.text += decoder.decode(chunk, { stream: true });
      }
      this.ended = 'eof';
    } catch {
      this.ended = 'broken';
    }
  }
}

/** Repeats a check until it answers something; throws after fifteen seconds. */
export async function waitFor<T>(what: string, check: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`waited too long for: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

export function script(steps: Step[]): string {
  return `script:${JSON.stringify(steps)}`;
}

export function message(text: string): Json {
  return {
    type: 'agent.session.input.message',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  };
}

export const cancel: Json = { type: 'agent.session.input.cancel' };

export function result(call: { turn_id: string; call_id: string }, output: unknown): Json {
  const { turn_id, call_id } = call;
  return { type: 'agent.session.input.tool_result', turn_id, call_id, success: true, output };
}

export function failure(call: { turn_id: string; call_id: string }, error: string): Json {
  const { turn_id, call_id } = call;
  return { type: 'agent.session.input.tool_result', turn_id, call_id, success: false, error };
}

export function tool(name: string, properties: Json = {}): AgentToolParam {
  return {
    type: 'function',
    name,
    description: `the tool ${name}`,
    parameters: { type: 'object', properties, required: Object.keys(properties) },
  };
}

/** The value under nested keys, or undefined. */
export function dig(value: unknown, ...keys: (string | number)[]): unknown {
  let current = value;
  for (const key of keys) current = (current as Json | undefined)?.[key];
  return current;
}

export function errorOf(answer: Answer): Json {
  return answer.body['error'] as Json;
}

/** Types of the events that the SDK yields, in order. */
export async function typesOf(stream: AsyncIterable<AgentSessionEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const event of stream) types.push(event.type.replace('agent.session.', ''));
  return types;
}
