/** The lock of a session: a child workflow whose id only one task can hold (I8). It ends with its task. */
import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy } from '@temporalio/common';
import {
  CancellationScope,
  defineSignal,
  isCancellation,
  ParentClosePolicy,
  setHandler,
  sleep,
  startChild,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';

/** A task that has just ended may still hold its lock for a moment. */
const TRIES = 10;
const PAUSE_MS = 1000;
/** How long a lock waits for the next run of its task, which has to find a worker first. */
const KEEP_MS = 10 * 60_000;

export type SessionLock = ChildWorkflowHandle<typeof sessionLock>;

/** Sent before a task continues as new: nobody else may take the lock between its two runs. */
export const keepLockSignal = defineSignal('keep');

/** Holds the lock until its parent ends, in whatever way. */
export async function sessionLock(): Promise<void> {
  let keep = false;
  setHandler(keepLockSignal, () => {
    keep = true;
  });
  try {
    await CancellationScope.current().cancelRequested;
  } catch (error) {
    if (!isCancellation(error)) throw error;
    if (keep) await CancellationScope.nonCancellable(() => sleep(KEEP_MS));
  }
}

/**
 * Takes the lock; null when another task keeps it.
 * @param continued an earlier run of this task holds the lock: it is replaced.
 */
export async function lockSession(
  sessionId: string,
  taskId: string,
  continued: boolean,
): Promise<SessionLock | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await startChild(sessionLock, {
        workflowId: `holdfast-session:${sessionId}`,
        workflowIdReusePolicy: continued
          ? WorkflowIdReusePolicy.TERMINATE_IF_RUNNING
          : WorkflowIdReusePolicy.ALLOW_DUPLICATE,
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        staticSummary: `lock of session ${sessionId}`,
        staticDetails: `Held by task ${taskId}. No other task may write to the session meanwhile.`,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      if (tries === TRIES) return null;
      await sleep(PAUSE_MS);
    }
  }
}
