/**
 * What scenes share: the server, the sessions, the limits, and the notes. A scene asks several questions of one
 * session, so that few model turns answer many of them.
 */
import { errorOf, isTaken, NoAnswer, type Answer, type ProbeHttp } from './http.ts';
import type { Ledger } from './ledger.ts';
import type { Notes } from './notes.ts';
import type { Measured, Values } from './question.ts';
import type { ProbeSession } from './session.ts';
import type { ProbeStream } from './stream.ts';
import { Unasked } from './unasked.ts';

/** Times in milliseconds. */
export interface Limits {
  /** When nothing has come for this long, nothing comes. */
  quietMs: number;
  /** A read that still shows the old state after this time never shows the new one. */
  readMs: number;
  /** One request. */
  requestMs: number;
  /** The model's next step. */
  modelMs: number;
  /** One scene. */
  sceneMs: number;
  /** The whole run, without the deletion of its sessions. */
  totalMs: number;
  /** How long to listen for a keep-alive. */
  listenMs: number;
  /** The deletion of all sessions. */
  clearMs: number;
}

/** The session that several scenes go on with, idle between them; `stream` is opened in its first turn. */
export interface Main {
  session: ProbeSession;
  stream: ProbeStream;
  createKey: string;
  createBody: Record<string, unknown>;
}

export interface SceneContext {
  http: ProbeHttp;
  ledger: Ledger;
  notes: Notes;
  limits: Limits;
  model: string;
  /** Limit of each session in cents; null sets none. */
  budgetCents: number | null;
  wants: (id: string) => boolean;
  /** Set by the first scene that makes it. */
  main: Main | null;
}

/** The text that refuses a result for a call that is not pending (agents-api.md 5.4). */
const UNKNOWN_CALL = 'Unknown pending tool call';

export class Scene {
  readonly context: SceneContext;
  readonly signal: AbortSignal;

  constructor(context: SceneContext, signal: AbortSignal) {
    this.context = context;
    this.signal = signal;
  }

  get limits(): Limits {
    return this.context.limits;
  }

  note(id: string, values: Values, seen: string, measured?: Measured): void {
    this.context.notes.add(id, values, seen, measured);
  }

  /**
   * Asks these questions, if one of them is wanted; answers null when it is not, or cannot be answered. What keeps it
   * from being answered is noted, so that the scene goes on; only a stop or a limit of the scene ends it.
   */
  async ask<T>(ids: string | readonly string[], how: () => Promise<T>): Promise<T | null> {
    const all = typeof ids === 'string' ? [ids] : ids;
    if (!all.some((id) => this.context.wants(id))) return null;
    try {
      return await how();
    } catch (error) {
      if (this.signal.aborted) throw error;
      if (!(error instanceof Unasked) && !(error instanceof NoAnswer)) throw error;
      for (const id of all) this.context.notes.unasked(id, error.message);
      return null;
    }
  }

  /** The main session, under this scene's signal and with an open stream. Throws Unasked when no scene has made it. */
  async main(): Promise<Main> {
    const { main } = this.context;
    if (main === null) throw new Unasked('there is no session to go on in');
    const session = main.session.under(this.signal);
    if (main.stream.ended !== null) main.stream = await session.listen();
    return { ...main, session };
  }
}

/** `taken`, or `refused` with the status and, for the one refusal that clients act on, its name. */
export function outcomeOf(answer: Answer): string {
  if (isTaken(answer)) return 'taken';
  const unknown = answer.status === 400 && (errorOf(answer).message ?? '').includes(UNKNOWN_CALL);
  return `refused ${answer.status}${unknown ? ' unknown_call' : ''}`;
}

/** Status and, for a refusal, its code, for people. */
export function told(answer: Answer): string {
  const { code, type } = errorOf(answer);
  const name = code ?? type;
  return isTaken(answer) || name === undefined ? String(answer.status) : `${answer.status} ${name}`;
}
