/** The lock of a session: a child workflow whose id only one task can hold (I8). It ends with its task. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  isCancellation,
  ParentClosePolicy,
  sleep,
  startChild,
} from '@temporalio/workflow';

/** A task that has just ended may still hold its lock for a moment. */
const TRIES = 10;
const PAUSE_MS = 1000;

/** Holds the lock until its parent ends, in whatever way. */
export async function sessionLock(): Promise<void> {
  try {
    await CancellationScope.current().cancelRequested;
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
}

/** Takes the lock. False when another task keeps it. */
export async function lockSession(sessionId: string, taskId: string): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      await startChild(sessionLock, {
        workflowId: `holdfast-session:${sessionId}`,
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        staticSummary: `lock of session ${sessionId}`,
        staticDetails: `Held by task ${taskId}. No other task may write to the session meanwhile.`,
      });
      return true;
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      if (tries === TRIES) return false;
      await sleep(PAUSE_MS);
    }
  }
}
