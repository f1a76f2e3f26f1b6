/**
 * Every session that the probe creates, and their deletion in any case: what is created is written down the moment it
 * is known, and a create whose answer was lost is looked for by the run's mark in the metadata.
 */
import { isRecord } from '../protocol/json.ts';
import { sleep } from '../openai/sleep.ts';
import { errorOf, isTaken, NoAnswer, type Answer, type ProbeHttp } from './http.ts';
import { ProbeSession } from './session.ts';
import { poll, together, within } from './waiting.ts';
import { CANCEL_EVENT, listIn } from './wire.ts';

/** The field of a session's metadata that marks it as a probe's. */
const MARK = 'holdfast_probe';
/** Pauses between looks for sessions whose create got no answer: lists lag. */
const LOOK_PAUSES_MS = [0, 1000, 2500];
/** Counting turns is worth no longer wait: it comes before each deletion. */
const COUNT_LIMIT_MS = 5000;

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
  readonly #made: (id: string) => void;
  readonly #ids = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #usage = new Map<string, { turns: number; tokens: number | null }>();
  /** Creates of which nobody knows whether they made a session. */
  #open = 0;

  /** @param made is told the id of each session as soon as it is known. */
  constructor(http: ProbeHttp, run: string, made: (id: string) => void) {
    this.#http = http;
    this.#run = run;
    this.#made = made;
  }

  get created(): number {
    return this.#ids.size;
  }

  /** The metadata that each create of this run carries. */
  get metadata(): Record<string, string> {
    return { [MARK]: this.#run };
  }

  /** The query that finds the sessions of this run, or of one that does not exist. */
  filter(run = this.#run): string {
    return `${encodeURIComponent(`metadata[${MARK}]`)}=${run}`;
  }

  /** Sends a create; the answer may be a refusal. */
  async create(
    body: Record<string, unknown>,
    signal: AbortSignal,
    key?: string,
  ): Promise<{ answer: Answer; session: ProbeSession | null }> {
    this.#open += 1;
    const answer = await this.#http.send({
      method: 'POST',
      path: '/agents/sessions',
      body: { ...body, metadata: this.metadata },
      signal,
      ...(key === undefined ? {} : { key }),
    });
    const id = isRecord(answer.body) ? answer.body['id'] : undefined;
    const made = isTaken(answer) && typeof id === 'string';
    // A gateway may have lost the answer; a refusal is one.
    if (made || (answer.status >= 400 && answer.status < 500)) this.#open -= 1;
    if (!made) return { answer, session: null };
    this.#add(id);
    return { answer, session: new ProbeSession(id, this.#http, signal) };
  }

  /** A session that is known to be gone: a scene has deleted it, and a read has shown it. */
  markGone(id: string): void {
    this.#gone.add(id);
  }

  /** Notes turns and tokens of a session, which cannot be read any more once it is gone. */
  async count({ id }: ProbeSession, signal: AbortSignal): Promise<void> {
    try {
      const answer = await within(signal, COUNT_LIMIT_MS, async (short) =>
        new ProbeSession(id, this.#http, short).get('/turns?limit=100'),
      );
      const turns = listIn(answer, 'the turns');
      let tokens: number | null = null;
      for (const { usage } of turns) {
        const total = isRecord(usage) ? usage['total_tokens'] : undefined;
        if (typeof total === 'number') tokens = (tokens ?? 0) + total;
      }
      this.#usage.set(id, { turns: turns.length, tokens });
    } catch {
      // Only a number in the report.
    }
  }

  /** Deletes whatever is there of this run, within `limitMs`. Never throws for a session that stays: it is named in `left`. */
  async clear(limitMs: number): Promise<Cleared> {
    const signal = AbortSignal.timeout(limitMs);
    // A session that is only found later needs time as well.
    const eachMs = limitMs / 2;
    const left: Left[] = [];
    const removed = new Set<string>();
    const remove = async (): Promise<void> => {
      const open = [...this.#ids].filter((id) => !this.#gone.has(id) && !removed.has(id));
      for (const id of open) removed.add(id);
      await together(
        ...open.map(async (id) => {
          const why = await this.#remove(id, signal, eachMs);
          if (why === null) this.#gone.add(id);
          else left.push({ id, why });
        }),
      );
    };
    // What is known goes at once: a list that does not answer must not keep it.
    await together(remove(), this.#findLost(signal, left));
    await remove();
    const usage = [...this.#usage.values()];
    const known = usage.map(({ tokens }) => tokens).filter((tokens) => tokens !== null);
    return {
      deleted: [...this.#gone],
      left,
      turns: usage.reduce((sum, { turns }) => sum + turns, 0),
      tokens: known.length === 0 ? null : known.reduce((sum, tokens) => sum + tokens, 0),
    };
  }

  /** Looks for sessions of this run that nobody has written down; one that may be there and is not found is left. */
  async #findLost(signal: AbortSignal, left: Left[]): Promise<void> {
    if (this.#open === 0) return;
    const before = this.#ids.size;
    const missing = (): boolean => this.#ids.size - before < this.#open;
    let why = 'no list shows its session';
    try {
      for (const pause of LOOK_PAUSES_MS) {
        if (!missing()) break;
        await sleep(pause, signal);
        for (const query of [`${this.filter()}&limit=100`, 'limit=100&order=desc']) {
          const path = `/agents/sessions?${query}`;
          const rows = listIn(await this.#http.send({ method: 'GET', path, signal }), 'the sessions');
          for (const { id, metadata } of rows) {
            const own = isRecord(metadata) && metadata[MARK] === this.#run;
            if (own && typeof id === 'string') this.#add(id);
          }
        }
      }
    } catch (error) {
      why = signal.aborted ? 'the lists gave no answer in time' : words(error);
    }
    if (missing()) {
      const mark = `metadata ${MARK}=${this.#run}`;
      left.push({
        id: 'unknown',
        why: `a create got no clear answer, and ${why}; if it is there, it has ${mark}`,
      });
    }
  }

  /** Cancels and deletes, again and again: a delete is refused while a turn runs. Answers why it stays, or null. */
  async #remove(id: string, signal: AbortSignal, limitMs: number): Promise<string | null> {
    const session = new ProbeSession(id, this.#http, signal);
    let last = 'deleting it gave no answer';
    try {
      await this.count(session, signal);
      const done = await poll(signal, limitMs, async () => {
        try {
          const answer = await session.delete();
          if (isTaken(answer) || answer.status === 404 || answer.status === 410) return true;
          last =
            `deleting it gave ${answer.status} ${this.#http.shown(errorOf(answer).message ?? '')}`.trim();
          await session.post([CANCEL_EVENT]);
        } catch (error) {
          if (!(error instanceof NoAnswer)) throw error;
          last = error.message;
        }
        return undefined;
      });
      return done === null ? last : null;
    } catch (error) {
      return signal.aborted ? `${last}; the time for it was over` : words(error);
    }
  }

  #add(id: string): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#made(id);
  }
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
