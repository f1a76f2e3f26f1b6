/**
 * Every session that the probe creates, and their deletion in any case: what is created is written down the moment it
 * is known, and a create whose answer was lost is found by the run's mark in the metadata.
 */
import { isRecord } from '../protocol/json.ts';
import { sleep } from '../openai/sleep.ts';
import { errorOf, isTaken, type Answer, type ProbeHttp } from './http.ts';
import { CANCEL_EVENT, listIn, ProbeSession } from './session.ts';
import { poll } from './waiting.ts';

/** Sessions of one run, whatever happens. */
export const MAX_SESSIONS = 8;
/** The field of a session's metadata that marks it as a probe's. */
const MARK = 'holdfast_probe';
/** Pauses between looks for sessions whose create got no answer: lists lag. */
const LOOK_PAUSES_MS = [0, 1000, 2500];

export interface Left {
  id: string;
  why: string;
}

export interface Cleared {
  deleted: string[];
  left: Left[];
  /** Turns of all sessions, as far as they could be counted. */
  turns: number;
  /** Tokens of all sessions, where the server told them; else null. */
  tokens: number | null;
}

export class Ledger {
  readonly #http: ProbeHttp;
  readonly #run: string;
  readonly #ids = new Set<string>();
  readonly #gone = new Set<string>();
  #sent = 0;
  #unanswered = 0;
  #turns = 0;
  #tokens: number | null = null;

  constructor(http: ProbeHttp, run: string) {
    this.#http = http;
    this.#run = run;
  }

  get created(): number {
    return this.#ids.size;
  }

  /** The metadata that each create of this run carries. */
  get metadata(): Record<string, string> {
    return { [MARK]: this.#run };
  }

  /** The query that finds the sessions of this run. */
  get filter(): string {
    return `${encodeURIComponent(`metadata[${MARK}]`)}=${this.#run}`;
  }

  /** Sends a create, at most `MAX_SESSIONS` in all; the answer may be a refusal. */
  async create(
    body: Record<string, unknown>,
    signal: AbortSignal,
    key?: string,
  ): Promise<{ answer: Answer; session: ProbeSession | null }> {
    if (this.#sent >= MAX_SESSIONS) throw new Error(`a probe makes at most ${MAX_SESSIONS} sessions`);
    this.#sent += 1;
    this.#unanswered += 1;
    const sent = { ...body, metadata: this.metadata };
    const keyed = key === undefined ? {} : { key };
    const answer = await this.#http.send({
      method: 'POST',
      path: '/agents/sessions',
      body: sent,
      signal,
      ...keyed,
    });
    this.#unanswered -= 1;
    const id = isRecord(answer.body) ? answer.body['id'] : undefined;
    if (!isTaken(answer) || typeof id !== 'string') return { answer, session: null };
    this.#ids.add(id);
    return { answer, session: new ProbeSession(id, this.#http, signal) };
  }

  /** A session that a scene has deleted itself. */
  markGone(id: string): void {
    this.#gone.add(id);
  }

  /** Turns and tokens of a session, which cannot be read once it is gone. */
  async count(session: ProbeSession): Promise<void> {
    try {
      const turns = listIn(await session.get('/turns?limit=100'), 'the turns');
      this.#turns += turns.length;
      for (const { usage } of turns) {
        const tokens = isRecord(usage) ? usage['total_tokens'] : undefined;
        if (typeof tokens === 'number') this.#tokens = (this.#tokens ?? 0) + tokens;
      }
    } catch {
      // Only a number in the report.
    }
  }

  /** Deletes whatever is there of this run, trying `limitMs` for each session. Never throws for a session that stays: it is named in `left`. */
  async clear(signal: AbortSignal, limitMs: number): Promise<Cleared> {
    const left: Left[] = [];
    try {
      if (this.#sent > 0) await this.#findLost(signal);
    } catch (error) {
      if (this.#unanswered > 0) left.push({ id: 'unknown', why: `a create got no answer; ${words(error)}` });
    }
    const open = [...this.#ids].filter((id) => !this.#gone.has(id));
    await Promise.all(
      open.map(async (id) => {
        try {
          const why = await this.#remove(new ProbeSession(id, this.#http, signal), signal, limitMs);
          if (why === null) this.#gone.add(id);
          else left.push({ id, why });
        } catch (error) {
          left.push({ id, why: words(error) });
        }
      }),
    );
    return { deleted: [...this.#gone], left, turns: this.#turns, tokens: this.#tokens };
  }

  /** Sessions of this run that nobody has written down. */
  async #findLost(signal: AbortSignal): Promise<void> {
    for (const pause of this.#unanswered > 0 ? LOOK_PAUSES_MS : LOOK_PAUSES_MS.slice(0, 1)) {
      await sleep(pause, signal);
      for (const query of [`${this.filter}&limit=100`, 'limit=100&order=desc']) {
        const path = `/agents/sessions?${query}`;
        const rows = listIn(await this.#http.send({ method: 'GET', path, signal }), 'the sessions');
        for (const { id, metadata } of rows) {
          const own = isRecord(metadata) && metadata[MARK] === this.#run;
          if (own && typeof id === 'string') this.#ids.add(id);
        }
      }
    }
  }

  /** Cancels and deletes, again and again: a delete is refused while a turn runs. Answers why it stays, or null. */
  async #remove(session: ProbeSession, signal: AbortSignal, limitMs: number): Promise<string | null> {
    await this.count(session);
    let last = '';
    const done = await poll(signal, limitMs, async () => {
      const answer = await session.delete();
      if (isTaken(answer) || answer.status === 404) return true;
      last = `${answer.status} ${this.#http.shown(errorOf(answer).message ?? '')}`.trim();
      await session.post([CANCEL_EVENT]);
      return undefined;
    });
    return done === null ? `deleting it gave ${last}` : null;
  }
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
