/** The activities that talk to the service, with the options that make a killed worker's task move on quickly. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
} from '@temporalio/workflow';

import { isRecord } from '../src/protocol/json.ts';
import { ACTIVITY, type Activities, type TaskSettings } from '../src/protocol/activities.ts';

const OPEN_HEARTBEAT_MS = 10_000;
/** Lost attempts are taken up again at once; waits that the API asks for come with the failure (nextRetryDelay). */
const RETRY = { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 2000 };

/** `holdfast.openSession`. A cancelled task still learns whether there is a session (I1). */
export function openSession(): Activities['holdfast.openSession'] {
  return proxyActivities<Activities>({
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: OPEN_HEARTBEAT_MS,
    retry: RETRY,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: 'create, adopt or attach',
  })[ACTIVITY.openSession];
}

/** `holdfast.followTurn`. Its heartbeats show in the Web UI how the turn stands. */
export function followTurn(settings: TaskSettings, summary: string): Activities['holdfast.followTurn'] {
  return proxyActivities<Activities>({
    startToCloseTimeout: '3 hours',
    heartbeatTimeout: settings.heartbeat_timeout_ms,
    retry: RETRY,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary,
  })[ACTIVITY.followTurn];
}

/** `holdfast.postInput`, beside a running follower. */
export function postInput(settings: TaskSettings, summary: string): Activities['holdfast.postInput'] {
  return proxyActivities<Activities>({
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: settings.heartbeat_timeout_ms,
    retry: RETRY,
    summary,
  })[ACTIVITY.postInput];
}

/**
 * `holdfast.sweepSessions`. Bounded in all, its retries and the waits that the API asks for included: the end of a
 * task waits for it.
 */
export function sweepSessions(): Activities['holdfast.sweepSessions'] {
  return proxyActivities<Activities>({
    scheduleToCloseTimeout: '1 minute',
    heartbeatTimeout: OPEN_HEARTBEAT_MS,
    retry: { ...RETRY, maximumAttempts: 5 },
    summary: 'remove sessions of lost attempts',
  })[ACTIVITY.sweepSessions];
}

/**
 * Type and sentence of an activity's final failure, whoever or whatever ended it; `attempts` when it says so.
 * Anything else is a fault of ours and thrown on.
 */
export function refusal(error: unknown): { type: string; message: string; attempts: number } {
  if (!(error instanceof ActivityFailure)) throw error;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) {
    return {
      type: 'ActivityEnded',
      message: `${error.activityType} was ended: ${cause?.name ?? 'unknown'}`,
      attempts: 0,
    };
  }
  const [detail] = cause.details ?? [];
  const attempts = isRecord(detail) && typeof detail['attempts'] === 'number' ? detail['attempts'] : 0;
  return { type: cause.type ?? 'Failed', message: cause.message, attempts };
}
