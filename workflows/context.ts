/** What the parts of a task share: its state, its session, and how work beside the loop is begun and ended. */
import type { OpenedSession } from '../src/protocol/activities.ts';
import type { Outcome, TaskState } from './task-state.ts';

export interface TaskContext {
  readonly state: TaskState;
  readonly opened: OpenedSession;
  /** Lets work go on beside the loop; the loop looks again when it ends. An error in it is a bug of ours. */
  background(work: Promise<unknown>): void;
  /** Sets the outcome; the first one stays. */
  end(outcome: Outcome): void;
}
