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
  /** The model's next step. */
  modelMs: number;
  /** One scene. */
  sceneMs: number;
  /** The whole run, without the deletion of its sessions. */
  totalMs: number;
  /** How long to listen for a keep-alive. */
  listenMs: number;
  /** How long to try to delete one session. */
  clearMs: number;
}

/** The session that several scenes go on with, idle between them; `stream` is open from its first turn on. */
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
   * Asks one question, if it is wanted. What keeps it from being answered is noted, so that the scene goes on; only
   * a stop or a limit of the scene ends it.
   */
  async ask(id: string, how: () => Promise<void>): Promise<void> {
    if (!this.context.wants(id)) return;
    try {
      await how();
    } catch (error) {
      if (this.signal.aborted) throw error;
      if (!(error instanceof Unasked) && !(error instanceof NoAnswer)) throw error;
      this.context.notes.unasked(id, error.message);
    }
  }

  /** The main session, under this scene's signal. Throws Unasked when no scene has made it. */
  main(): Main {
    const { main } = this.context;
    if (main === null) throw new Unasked('there is no session to ask in');
    return { ...main, session: main.session.under(this.signal) };
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
