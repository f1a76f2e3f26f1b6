/** Everything a task knows. Plain data; handlers record in it, the loop acts on it (I8). */
import type { FollowReason, OpenedSession } from '../src/protocol/activities.ts';
import type { IgnoredSignal, TaskState as StateName, TaskStatus, TurnReport } from '../src/protocol/task.ts';
import { redact } from '../src/protocol/secrets.ts';
import { oneLine } from '../src/protocol/text.ts';
import { CallBook, type CallBookSnapshot } from './call-book.ts';

/** Why nothing more will come. */
export interface Outcome {
  reason:
    | Exclude<FollowReason, 'calls' | 'blocked' | 'handover'>
    | 'cancel_unconfirmed'
    | 'cancelled_idle'
    | 'api_refused'
    | 'session_busy';
  error: { code: string | null; message: string } | null;
}

/** Where the task's own message stands. `none`: there is none, or it went with the creation of the session. */
export type MessageState = 'none' | 'queued' | 'posted' | 'landed';

const RECENT_TURNS = 50;
const RECENT_IGNORED = 10;

export interface TaskSnapshot {
  version: 1;
  opened: OpenedSession;
  turn_id: string | null;
  after_turn_id: string | null;
  message: MessageState;
  message_key: string;
  turns: TurnReport[];
  calls: CallBookSnapshot;
  swept_at: number | null;
  ignored?: IgnoredSignal[];
}

export class TaskState {
  opened: OpenedSession | null = null;
  turnId: string | null = null;
  afterTurnId: string | null = null;
  message: MessageState = 'none';
  messageKey = '';
  turns: TurnReport[] = [];
  calls = new CallBook();
  others: TaskStatus['waiting_for'] = [];
  outcome: Outcome | null = null;
  cancelRequested = false;
  /** The service goes on only when we post something (I9). */
  blocked = false;
  sweptAt: number | null = null;
  #ignored: IgnoredSignal[] = [];

  static restore(snapshot: TaskSnapshot): TaskState {
    const state = new TaskState();
    state.opened = snapshot.opened;
    state.turnId = snapshot.turn_id;
    state.afterTurnId = snapshot.after_turn_id;
    state.message = snapshot.message;
    state.messageKey = snapshot.message_key;
    state.turns = snapshot.turns;
    state.calls = CallBook.restore(snapshot.calls);
    state.sweptAt = snapshot.swept_at;
    state.#ignored = snapshot.ignored ?? [];
    return state;
  }

  /** What the next run needs. Made at a safe point only: nothing running, nothing on its way. */
  snapshot(opened: OpenedSession): TaskSnapshot {
    return {
      version: 1,
      opened,
      turn_id: this.turnId,
      after_turn_id: this.afterTurnId,
      message: this.message,
      message_key: this.messageKey,
      turns: this.turns,
      calls: this.calls.snapshot(),
      swept_at: this.sweptAt,
      ignored: this.#ignored,
    };
  }

  addTurn(turn: TurnReport): void {
    this.turns = [...this.turns, turn].slice(-RECENT_TURNS);
    this.calls.startTurn();
  }

  /** Notes a signal that has no effect. Its name is whatever somebody has sent. */
  ignore(name: string, reason: string): void {
    const entry = { name: oneLine(redact(name), 60), reason, at: Date.now() };
    this.#ignored = [...this.#ignored, entry].slice(-RECENT_IGNORED);
  }

  /** Where the task stands, in one word. */
  get name(): StateName {
    if (this.outcome) return endName(this.outcome, this.turns.at(-1));
    if (this.cancelRequested) return 'cancelling';
    if (!this.opened) return 'opening';
    if (this.calls.asked().length > 0) return 'waiting_for_person';
    if (this.calls.inState('running', 'planned', 'unknown').length > 0) return 'running_tools';
    if (this.blocked && this.others.length > 0) return 'waiting_for_service';
    return 'working';
  }

  status(): TaskStatus {
    const { total, failed } = this.calls.totals;
    return {
      state: this.name,
      agent: this.opened?.label ?? null,
      model: this.opened?.model ?? null,
      session_id: this.opened?.session_id ?? null,
      turn_id: this.turnId,
      tool_calls: this.calls.reports(),
      tool_calls_total: total,
      tool_calls_failed: failed,
      waiting_for: this.others,
      turns: this.turns,
      cancel_requested: this.cancelRequested,
      ignored_signals: this.#ignored,
    };
  }
}

function endName(outcome: Outcome, turn: TurnReport | undefined): StateName {
  if (outcome.reason === 'cancel_unconfirmed' || outcome.reason === 'cancelled_idle') return 'cancelled';
  if (outcome.reason !== 'ended') return 'failed';
  if (turn?.status === 'completed') return 'completed';
  return turn?.status === 'cancelled' ? 'cancelled' : 'failed';
}
