/** What the tests of the API layer share: an emulator of their own, our client of it, and servers that answer oddly. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEmulator, type Emulator, type EmulatorOptions, type Step } from '../../src/emulator/index.ts';
import { AgentsApi, type AgentsApiOptions } from '../../src/openai/agents-api.ts';
import { ApiError } from '../../src/openai/api-error.ts';
import type { Log } from '../../src/openai/log.ts';
import { inputMessages } from '../../src/protocol/inputs.ts';
import type { InputEvent, Session, Turn } from '../../src/protocol/wire.ts';
import { assertStruck } from '../support/strikes.ts';
import { until } from '../support/until.ts';

interface Cleanup {
  after: (fn: () => Promise<void>) => void;
}
export const never = new AbortController().signal;
export const KEY = 'emulator-key';

/** A log that remembers. */
export class Lines implements Log {
  readonly lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];

  info(words: string, fields: Record<string, unknown> = {}): void {
    this.lines.push({ level: 'info', message: words, fields });
  }

  warn(words: string, fields: Record<string, unknown> = {}): void {
    this.lines.push({ level: 'warn', message: words, fields });
  }

  /** The lines with these words. */
  with(words: RegExp): Lines['lines'] {
    return this.lines.filter((line) => words.test(line.message));
  }
}

/** Emulator, client and log for one test. Faults of which one has not struck by its end fail the test. */
export class Bench {
  readonly emulator: Emulator;
  readonly api: AgentsApi;
  readonly log = new Lines();

  private constructor(emulator: Emulator) {
    this.emulator = emulator;
    this.api = new AgentsApi({ apiKey: KEY, baseURL: emulator.url });
  }

  static async start(t: Cleanup, options: EmulatorOptions = {}): Promise<Bench> {
    const emulator = await startEmulator({ deltaMs: 0, stepMs: 1, usageDelayMs: 10, ...options });
    t.after(async () => {
      await emulator.close();
      assertStruck(emulator);
    });
    return new Bench(emulator);
  }

  /** A new session whose first turn plays these steps. */
  async session(steps: Step[], fields: Record<string, unknown> = {}): Promise<Session> {
    const body = {
      environment: { type: 'none' },
      agent: { model: 'scripted' },
      input: script(steps),
      ...fields,
    };
    return this.api.createSession(body);
  }

  /** A session whose first turn is over. */
  async idle(fields: Record<string, unknown> = {}): Promise<{ id: string; turn: Turn }> {
    const { id } = await this.session([{ say: 'ready' }], fields);
    const turn = await until('the first turn ends', async () => {
      const [newest] = await this.api.newestTurns(id, 1);
      return newest?.status === 'completed' ? newest : null;
    });
    return { id, turn };
  }

  /** A session with pending calls of these names; the turn says `done` when they are answered. */
  async calling(...names: string[]): Promise<{ id: string; turn: string; calls: string[] }> {
    const call = names.map((name) => ({ name, call_id: `call_${name}`, arguments: { of: name } }));
    const { id } = await this.session([{ call }, { say: 'done' }]);
    const session = await until('the calls are pending', async () => {
      const read = await this.api.getSession(id);
      return read.required_actions.length === names.length ? read : null;
    });
    const turn = session.required_actions[0]?.turn_id ?? '';
    return { id, turn, calls: names.map((name) => `${turn}/call_${name}`) };
  }

  async status(id: string, status: string): Promise<Session> {
    return until(`session ${status}`, async () => {
      const session = await this.api.getSession(id);
      return session.status === status ? session : null;
    });
  }

  /** Posts of one kind of input to a session, in order. */
  posts(id: string, type: string): ReturnType<Emulator['posts']> {
    return this.emulator.posts(id).filter((post) => post.input_types.includes(type));
  }

  async answer(id: string, turn: string, call: string, output: string): Promise<void> {
    const event: InputEvent = {
      type: 'agent.session.input.tool_result',
      turn_id: turn,
      call_id: call,
      success: true,
      output,
    };
    await this.api.postEvent(id, event, `answer ${call}`);
  }

  /** Waits until a stream of the session is open. */
  async listened(id: string): Promise<void> {
    await until('a stream is open', () => (this.emulator.counters().sessions[id]?.streams_open ?? 0) > 0);
  }

  async cancel(id: string): Promise<void> {
    await this.api.postEvent(id, { type: 'agent.session.input.cancel' }, 'cancel');
  }

  async say(id: string, text: string): Promise<void> {
    await this.api.postEvent(id, message(text), `say ${text}`);
  }
}

export function script(steps: Step[]): string {
  return `script:${JSON.stringify(steps)}`;
}

export function message(text: string): InputEvent {
  return { type: 'agent.session.input.message', input: inputMessages(text) };
}

/** A server that answers every request by hand, and our client of it. */
export async function oddServer(
  t: Cleanup,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<AgentsApiOptions> = {},
): Promise<AgentsApi> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return new AgentsApi({ apiKey: KEY, baseURL: `http://127.0.0.1:${port}/v1`, ...options });
}

/** Answers a request with JSON. */
export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** The ApiError that a request ends with. */
export async function refusal(work: () => Promise<unknown>): Promise<ApiError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
