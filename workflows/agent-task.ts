/**
 * One agent task: a durable client of one session.
 *
 *   open the session → follow the turn → run tools → save → post → follow … → read the outcome
 *
 * One loop decides and is the only writer (I8). Everything else (activities, handlers, timers) records what
 * happened and wakes it. The whole task runs in a non-cancellable scope: a cancel request is a message like
 * others, so that what is owed is dealt with before the task ends.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  sleep,
  TemporalFailure,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';

import type { OpenedSession } from '../src/protocol/activities.ts';
import { checkJson } from '../src/protocol/guards.ts';
import { FAILURE, TASK_INPUT_EXAMPLE, type AgentTaskInput, type RunRecord } from '../src/protocol/task.ts';
import { handleMessages } from './messages.ts';
import { plainFailure } from './plain-failure.ts';
import { openSession, refusal, sweepSessions } from './remote.ts';
import { failureOf, runRecord } from './run-record.ts';
import { keepLockSignal, lockSession, releaseLock, type SessionLock } from './session-lock.ts';
import { SessionDriver } from './session-driver.ts';
import { wasReset } from './reset.ts';
import { show } from './show.ts';
import { TaskState, type Outcome, type TaskSnapshot } from './task-state.ts';

/** How long a cancelled task waits for the answer to a creation that is on its way. */
const OPEN_GRACE_MS = 30_000;
/** After a repeated creation, a lost attempt may still create a session for a while (I1). */
const SWEEP_AFTER_MS = 2 * 60_000;
/** The same for a task that ends without a session; a creation that takes longer is not waited for. */
const LATE_SESSION_MS = 45_000;

/** The workflow. Input: one `AgentTaskInput`; the second argument is set by continue-as-new alone. */
export async function agentTask(...args: [AgentTaskInput?, TaskSnapshot?]): Promise<RunRecord> {
  const root = CancellationScope.current();
  const continued = workflowInfo().continuedFromExecutionRunId === undefined ? undefined : args[1];
  const state = continued ? TaskState.restore(continued) : new TaskState();
  return CancellationScope.nonCancellable(() => {
    const task = new AgentTask(state, args[0], continued ? 1 : args.length);
    handleMessages(state, () => task.wake());
    root.cancelRequested.catch(() => {
      state.cancelRequested = true;
      task.wake();
    });
    return task.run();
  });
}

class AgentTask {
  readonly #state: TaskState;
  readonly #input: AgentTaskInput | undefined;
  readonly #argumentCount: number;
  #awake = false;
  #sessionLock: SessionLock | null = null;

  constructor(state: TaskState, input: AgentTaskInput | undefined, argumentCount: number) {
    this.#state = state;
    this.#input = input;
    this.#argumentCount = argumentCount;
  }

  wake(): void {
    this.#awake = true;
  }

  async run(): Promise<RunRecord> {
    const state = this.#state;
    show(state);
    const opened = (state.opened ??= await this.#open());
    const driver = new SessionDriver({
      state,
      opened,
      input: this.#input,
      background: (work) => this.#background(work),
      end: (outcome) => this.#end(outcome),
    });
    this.#lock(opened, driver);
    if (opened.sweep && state.sweptAt === null)
      this.#background(
        sleep(SWEEP_AFTER_MS, { summary: 'before orphan sessions are removed' }).then(() =>
          this.#sweep(opened),
        ),
      );
    while (!(state.outcome !== null && driver.idle)) {
      this.#awake = false;
      // Before anything new is begun: only then is there a safe point.
      if (this.#sessionLock && driver.mayContinueAsNew()) {
        await this.#keepLock(this.#sessionLock, true);
        await condition(allHandlersFinished);
        // A cancel request that came meanwhile is this run's to deal with.
        if (driver.mayContinueAsNew())
          await continueAsNew<typeof agentTask>(this.#input, state.snapshot(opened));
        await this.#keepLock(this.#sessionLock, false);
      }
      if (state.outcome === null) driver.work();
      else driver.stop();
      show(state);
      await condition(() => this.#awake);
    }
    return this.#finish(opened, state.outcome);
  }

  async #open(): Promise<OpenedSession> {
    const state = this.#state;
    // What cannot be handed on. All the rest is for the activity to check, which knows more.
    const problem = checkJson(this.#input, TASK_INPUT_EXAMPLE);
    if (problem !== null) throw plainFailure(FAILURE.invalidInput, `input: ${problem}`);
    const info = workflowInfo();
    const scope = new CancellationScope();
    let answered = false;
    void condition(() => state.cancelRequested || answered)
      .then(() => (answered ? true : condition(() => answered, OPEN_GRACE_MS)))
      .then(() => scope.cancel());
    try {
      const opened = await scope.run(() =>
        openSession()({
          task: this.#input,
          argument_count: this.#argumentCount,
          first_run_id: info.firstExecutionRunId,
          look_first: info.runId !== info.firstExecutionRunId,
          reset: wasReset(),
        }),
      );
      state.turnId = opened.turn_id;
      state.afterTurnId = opened.after_turn_id;
      state.message = opened.post_input ? 'queued' : 'none';
      // The same after a reset: the message may have been posted by the run that was left behind.
      state.messageKey = opened.post_input ? `hf_message_${info.firstExecutionRunId}` : '';
      return opened;
    } catch (error) {
      if (isCancellation(error)) {
        await this.#sweepUnopened();
        throw error;
      }
      const { type, message, attempts } = refusal(error);
      if (attempts > 1) await this.#sweepUnopened();
      throw plainFailure(type, message);
    } finally {
      answered = true;
    }
  }

  /** Takes the session's lock (I8). An attached session may be somebody else's: nothing is sent before. */
  #lock(opened: OpenedSession, driver: SessionDriver): void {
    if (opened.how === 'attached') driver.hold();
    const locking = lockSession(opened.session_id).then((lock) => {
      this.#sessionLock = lock;
      if (lock) driver.release();
      else {
        const message = `another task holds session ${opened.session_id}: a session takes input from one task at a time`;
        this.#end({ reason: 'session_busy', error: { code: null, message } });
      }
    });
    this.#background(locking);
  }

  /** Tells the lock whether the next run takes it over. One that an operator ended cannot be told. */
  async #keepLock(lock: SessionLock, keep: boolean): Promise<void> {
    try {
      await lock.signal(keepLockSignal, keep);
    } catch (error) {
      if (!(error instanceof TemporalFailure)) throw error;
    }
  }

  /** Removes sessions that lost attempts created (I1). What cannot be removed is in the worker's log. */
  async #sweep(opened: OpenedSession | null): Promise<void> {
    this.#state.sweptAt = Date.now();
    try {
      const keep = opened?.session_id ?? null;
      await sweepSessions()({ first_run_id: workflowInfo().firstExecutionRunId, keep });
    } catch (error) {
      refusal(error);
    }
  }

  /** No session was opened, but a lost attempt may have created one, or may still: none is to be left behind (I1). */
  async #sweepUnopened(): Promise<void> {
    await this.#sweep(null);
    await sleep(LATE_SESSION_MS, { summary: 'before orphan sessions are looked for again' });
    await this.#sweep(null);
  }

  #end(outcome: Outcome): void {
    this.#state.outcome ??= outcome;
    this.wake();
  }

  async #finish(opened: OpenedSession, outcome: Outcome): Promise<RunRecord> {
    const state = this.#state;
    state.calls.close();
    if (opened.sweep) await this.#sweep(opened);
    // Otherwise it ends with this run, whose child it is.
    if (wasReset()) await releaseLock(opened.session_id, this.#sessionLock);
    const record = runRecord(workflowInfo().workflowId, state, outcome);
    show(state);
    await condition(allHandlersFinished);
    if (record.run.status === 'completed') return record;
    if (record.run.status === 'cancelled') {
      // A cancelled workflow keeps no details of its own; the memo does.
      const { run, session_id, tool_calls } = record;
      upsertMemo({ holdfast_cancelled: { run, session_id, tool_calls } });
    }
    throw failureOf(record, outcome);
  }

  #background(work: Promise<unknown>): void {
    void work.then(() => this.wake());
  }
}
