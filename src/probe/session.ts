/** One session of the probe, and the few things that scenes do with it. */
import { randomUUID } from 'node:crypto';
import { isTaken, type Answer, type ProbeHttp } from './http.ts';
import type { ProbeStream } from './stream.ts';
import { Unasked } from './unasked.ts';
import { poll } from './waiting.ts';
import {
  CANCEL_EVENT,
  callsIn,
  isEnded,
  listIn,
  objectIn,
  resultEvent,
  turnView,
  uncalled,
  word,
  type Call,
  type SessionView,
  type TurnView,
} from './wire.ts';

type Json = Record<string, unknown>;

/** What the probe's tools give. */
export const RESULT = 'ok';

/** Calls that are answered to bring one turn to its end, taken or refused: each answer is a step of the model. */
const MAX_ANSWERS = 6;
/** In these a session goes on by nothing that the probe does. */
const STUCK = ['failed', 'budget_reached'];
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
    return { status: word(raw['status']), calls: callsIn(actions) };
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

  /** Posts a result for a call, under a key as Holdfast does. */
  async answer(call: Call, output: string, key: string = randomUUID()): Promise<Answer> {
    const answer = await this.post([resultEvent(call, output)], key);
    if (isTaken(answer)) this.markAnswered(call);
    return answer;
  }

  markAnswered(call: Call): void {
    this.#answered.add(call.call_id);
  }

  isAnswered(call: Call): boolean {
    return this.#answered.has(call.call_id);
  }

  /** Waits for the turn after `before`, which is null for the first one. Throws Unasked when none begins. */
  async turnAfter(before: string | null, limitMs: number): Promise<TurnView> {
    const begun = await poll(this.#signal, limitMs, async () => {
      const turn = await this.newestTurn();
      return turn === null || turn.id === before ? undefined : turn;
    });
    if (begun === null) throw new Unasked('no turn began in time');
    return begun.found;
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
      if (turn !== null && turn.id !== want.after && isEnded(turn.status)) throw new Unasked(uncalled(turn));
      return undefined;
    });
    if (first === null) throw new Unasked('no call came in time');
    const all = await poll(this.#signal, want.gatherMs, async () => {
      const calls = await this.#openCalls();
      return calls.length >= want.wanted ? calls : undefined;
    });
    return all?.found ?? first.found;
  }

  async #openCalls(): Promise<Call[]> {
    const { status, calls } = await this.view();
    if (STUCK.includes(status)) throw new Unasked(`the session is ${status}`);
    return calls.filter(({ call_id }) => !this.#answered.has(call_id));
  }

  /**
   * Answers what the turn still asks for until it has ended, and answers the turn. `after` is the turn before, if
   * there is one. A turn that does not end is cancelled, so that it costs no more; then, and when the server takes no
   * result, this throws Unasked.
   */
  async finish(limitMs: number, after: string | null): Promise<TurnView> {
    let answers = 0;
    const ended = await poll(this.#signal, limitMs, async () => {
      const turn = await this.newestTurn();
      if (turn !== null && turn.id !== after && isEnded(turn.status)) return turn;
      for (const call of await this.#openCalls()) {
        if (answers === MAX_ANSWERS) await this.#giveUp('the model went on calling its tools');
        answers += 1;
        const answer = await this.answer(call, RESULT);
        // The call may be gone by now, which an old read does not show: a few refusals mean nothing.
        if (!isTaken(answer) && answers === MAX_ANSWERS)
          throw new Unasked(`results were refused with ${answer.status}`);
      }
      return undefined;
    });
    return ended?.found ?? this.#giveUp('the turn did not end in time');
  }

  async #giveUp(why: string): Promise<never> {
    await this.post([CANCEL_EVENT]);
    throw new Unasked(why);
  }

  /** Waits until the session says idle: a message then begins a turn. Throws Unasked. */
  async idle(limitMs: number): Promise<void> {
    const idle = await poll(this.#signal, limitMs, async () => {
      const { status } = await this.view();
      if (STUCK.includes(status)) throw new Unasked(`the session is ${status}`);
      return status === 'idle' ? true : undefined;
    });
    if (idle === null) throw new Unasked('the session did not become idle in time');
  }
}
