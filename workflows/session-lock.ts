/** The lock of a session: a child workflow whose id only one task can hold (I8). It ends with its task. */
import {
  TemporalFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdReusePolicy,
} from '@temporalio/common';
import {
  CancellationScope,
  condition,
  defineSignal,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';

import { wasReset } from './reset.ts';

/** A task that has just ended may still hold its lock for a moment. */
const TRIES = 10;
const PAUSE_MS = 1000;
/** How long a lock waits for the next run of its task, which has to find a worker first. */
const KEEP_MS = 24 * 60 * 60_000;
/** How long the end of a lock that was given up takes to be heard of: a second, after a reset. */
const RELEASE_MS = 3000;

export type SessionLock = ChildWorkflowHandle<typeof sessionLock>;

/** Sent before a task continues as new, with true: nobody else may take the lock between its two runs. */
export const keepLockSignal = defineSignal<[boolean]>('keep');
/** Asks for the lock, with the first run id of the task that wants it. Only the same task is given it. */
const yieldLockSignal = defineSignal<[string]>('yield');

/** Holds the lock until its parent ends, in whatever way. `owner` is the first run id of the task that holds it. */
export async function sessionLock(owner: string): Promise<void> {
  let keep = false;
  let yielded = false;
  setHandler(keepLockSignal, (wanted) => {
    keep = wanted;
  });
  setHandler(yieldLockSignal, (claimant) => {
    yielded ||= claimant === owner;
  });
  try {
    await condition(() => yielded);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    if (keep) await CancellationScope.nonCancellable(() => condition(() => yielded, KEEP_MS));
  }
}

function lockId(sessionId: string): string {
  return `holdfast-session:${sessionId}`;
}

/** Takes the lock; null when another task keeps it. An earlier run of this task that holds it is replaced. */
export async function lockSession(sessionId: string): Promise<SessionLock | null> {
  const { workflowId: taskId, firstExecutionRunId: owner, continuedFromExecutionRunId } = workflowInfo();
  const workflowId = lockId(sessionId);
  // A task holds its lock from run to run. After a reset it may have lost it, and another task may have taken it.
  const replace = continuedFromExecutionRunId !== undefined && !wasReset();
  for (let tries = 1; ; tries++) {
    try {
      return await startChild(sessionLock, {
        workflowId,
        args: [owner],
        workflowIdReusePolicy: replace
          ? WorkflowIdReusePolicy.TERMINATE_IF_RUNNING
          : WorkflowIdReusePolicy.ALLOW_DUPLICATE,
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        staticSummary: `lock of session ${sessionId}`,
        staticDetails: `Held by task ${taskId}. No other task may write to the session meanwhile.`,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      if (tries === TRIES) return null;
      // A reset leaves the lock with the run that was reset.
      if (tries === 1) await askForLock(workflowId, owner);
      await sleep(PAUSE_MS);
    }
  }
}

/**
 * Gives up a lock that this task may hold through a run that was reset. Another task's is left alone.
 * @param own the lock that this run has taken, if it has: its end is waited for, which else would come while the
 * task ends, and have its last workflow task done twice.
 */
export async function releaseLock(sessionId: string, own: SessionLock | null): Promise<void> {
  const ended = own?.result().catch(() => undefined);
  await askForLock(lockId(sessionId), workflowInfo().firstExecutionRunId);
  await Promise.race([ended, sleep(RELEASE_MS)]);
}

async function askForLock(workflowId: string, owner: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(yieldLockSignal, owner);
  } catch (error) {
    // It has just ended.
    if (!(error instanceof TemporalFailure)) throw error;
  }
}
