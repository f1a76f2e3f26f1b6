/** One session of the probe, and the few things that scenes do with it. */
import { isRecord } from '../protocol/json.ts';
import { isTaken, type Answer, type ProbeHttp } from './http.ts';
import type { ProbeStream } from './stream.ts';
import { Unasked } from './unasked.ts';
import { poll } from './waiting.ts';

type Json = Record<string, unknown>;

export interface Call {
  turn_id: string;
  call_id: string;
  name: string;
}

export interface SessionView {
  status: string;
  /** Pending function calls. */
  calls: Call[];
  raw: Json;
}

export interface TurnView {
  id: string;
  status: string;
  usage: unknown;
}

/** What the probe's tools give. */
export const RESULT = 'ok';

const MAX_REFUSALS = 5;
const TERMINAL = ['completed', 'failed', 'cancelled'];
const PAGE = 100;

export class ProbeSession {
  readonly id: string;
  readonly #http: ProbeHttp;
  readonly #signal: AbortSignal;
  /** Calls whose result was taken. Reads may be older than that, so nothing else says it. */
  readonly #answered: Set<string>;

  constructor(id: string, http: ProbeHttp, signal: AbortSignal, answered = new Set<string>()) {
    this.id = id;
    this.#http = http;
    this.#signal = signal;
    this.#answered = answered;
  }

  /** The like under another signal: each scene has its own. */
  under(signal: AbortSignal): ProbeSession {
    return new ProbeSession(this.id, this.#http, signal, this.#answered);
  }

  get path(): string {
    return `/agents/sessions/${encodeURIComponent(this.id)}`;
  }

  async get(below = ''): Promise<Answer> {
    return this.#http.send({ method: 'GET', path: `${this.path}${below}`, signal: this.#signal });
  }

  async post(events: readonly Json[], key?: string): Promise<Answer> {
    return this.#http.send({
      method: 'POST',
      path: `${this.path}/events`,
      body: { events },
      signal: this.#signal,
      ...(key === undefined ? {} : { key }),
    });
  }

  async delete(): Promise<Answer> {
    return this.#http.send({ method: 'DELETE', path: this.path, signal: this.#signal });
  }

  /** A stream of this session, or the answer that refused it. */
  async open(): Promise<ProbeStream | Answer> {
    return this.#http.open(`${this.path}/events?include_obfuscation=false`, this.#signal);
  }

  /** A stream of this session. Throws Unasked when it is refused. */
  async listen(): Promise<ProbeStream> {
    const stream = await this.open();
    if ('events' in stream) return stream;
    throw new Unasked(`the event stream was refused with ${stream.status}`);
  }

  async view(): Promise<SessionView> {
    const raw = objectIn(await this.get(), 'the session');
    const actions = Array.isArray(raw['required_actions']) ? (raw['required_actions'] as unknown[]) : [];
    return { status: text(raw['status']), calls: callsIn(actions), raw };
  }

  async turn(id: string): Promise<TurnView> {
    return turnView(objectIn(await this.get(`/turns/${encodeURIComponent(id)}`), 'the turn'));
  }

  /** The newest root turn, or null. */
  async newestTurn(): Promise<TurnView | null> {
    const turns = listIn(await this.get('/turns?order=desc&limit=20'), 'the turns');
    const root = turns.find((turn) => (turn['subagent_id'] ?? null) === null);
    return root === undefined ? null : turnView(root);
  }

  /** The saved items of a turn, oldest first; a probe's turn has no second page. */
  async items(turnId: string): Promise<Json[]> {
    const path = `/turns/${encodeURIComponent(turnId)}/items?order=asc&limit=${PAGE}`;
    return listIn(await this.get(path), 'the items of the turn');
  }

  async allItems(): Promise<Json[]> {
    return listIn(await this.get(`/items?order=desc&limit=${PAGE}`), 'the items');
  }

  /** Posts a result for a call. */
  async answer(call: Call, output: string): Promise<Answer> {
    const answer = await this.post([resultEvent(call, output)]);
    if (isTaken(answer)) this.markAnswered(call);
    return answer;
  }

  markAnswered(call: Call): void {
    this.#answered.add(call.call_id);
  }

  isAnswered(call: Call): boolean {
    return this.#answered.has(call.call_id);
  }

  /**
   * Waits for calls that are not answered yet, and after the first one `gatherMs` for the rest of `wanted`. `after`
   * is the turn before, if there is one. Throws Unasked when the model calls nothing.
   */
  async calls(want: {
    limitMs: number;
    gatherMs: number;
    wanted: number;
    after: string | null;
  }): Promise<Call[]> {
    const first = await poll(this.#signal, want.limitMs, async () => {
      const calls = await this.#openCalls();
      if (calls.length > 0) return calls;
      const turn = await this.newestTurn();
      return turn !== null && turn.id !== want.after && isEnded(turn.status) ? [] : undefined;
    });
    if (first === null) throw new Unasked('no call came in time');
    if (first.found.length === 0) throw new Unasked('the model did not call the tool');
    const all = await poll(this.#signal, want.gatherMs, async () => {
      const calls = await this.#openCalls();
      return calls.length >= want.wanted ? calls : undefined;
    });
    return all?.found ?? first.found;
  }

  async #openCalls(): Promise<Call[]> {
    return (await this.view()).calls.filter(({ call_id }) => !this.#answered.has(call_id));
  }

  /**
   * Answers whatever the turn still asks for until it has ended. `after` is the turn before, if there is one. Answers
   * the turn, or null when the time is over. Throws Unasked when the server goes on asking and takes no result.
   */
  async finish(limitMs: number, after: string | null): Promise<TurnView | null> {
    let refusals = 0;
    const ended = await poll(this.#signal, limitMs, async () => {
      const turn = await this.newestTurn();
      if (turn !== null && turn.id !== after && isEnded(turn.status)) return turn;
      for (const call of await this.#openCalls()) {
        const answer = await this.answer(call, RESULT);
        // The call may be gone by now, which an old read does not show: a few refusals mean nothing.
        if (!isTaken(answer) && ++refusals > MAX_REFUSALS) {
          throw new Unasked(`results were refused with ${answer.status}`);
        }
      }
      return undefined;
    });
    return ended?.found ?? null;
  }

  /** Waits until the session says idle: a message then begins a turn. */
  async idle(limitMs: number): Promise<void> {
    const idle = await poll(this.#signal, limitMs, async () =>
      (await this.view()).status === 'idle' ? true : undefined,
    );
    if (idle === null) throw new Unasked('the session did not become idle in time');
  }
}

export function isEnded(status: string | undefined): boolean {
  return status !== undefined && TERMINAL.includes(status);
}

export function messageEvent(words: string): Json {
  return {
    type: 'agent.session.input.message',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] }],
  };
}

export function resultEvent({ turn_id, call_id }: Call, output: string): Json {
  return { type: 'agent.session.input.tool_result', turn_id, call_id, success: true, output };
}

export const CANCEL_EVENT: Json = { type: 'agent.session.input.cancel' };

/** The function calls in a list of required actions. */
export function callsIn(actions: readonly unknown[]): Call[] {
  return actions
    .filter(isRecord)
    .filter((action) => action['type'] === 'function_call' && typeof action['call_id'] === 'string')
    .map((action) => ({
      turn_id: text(action['turn_id']),
      call_id: text(action['call_id']),
      name: text(action['name']),
    }));
}

/** The words of a user item, or null for any other item. */
export function userWords(item: Json): string | null {
  if (item['type'] !== 'message' || item['role'] !== 'user' || !Array.isArray(item['content'])) return null;
  return (item['content'] as unknown[]).map((part) => (isRecord(part) ? text(part['text']) : '')).join('');
}

/** The rows of a list answer. Throws Unasked. */
export function listIn(answer: Answer, what: string): Json[] {
  const data = isRecord(answer.body) ? answer.body['data'] : undefined;
  if (isTaken(answer) && Array.isArray(data)) return data.filter(isRecord);
  throw new Unasked(`reading ${what} gave ${answer.status}`);
}

function objectIn(answer: Answer, what: string): Json {
  if (isTaken(answer) && isRecord(answer.body)) return answer.body;
  throw new Unasked(`reading ${what} gave ${answer.status}`);
}

function turnView(raw: Json): TurnView {
  return { id: text(raw['id']), status: text(raw['status']), usage: raw['usage'] ?? null };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
