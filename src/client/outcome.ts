/** How an ended workflow is told as a task's outcome. */
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { isRecord } from '../protocol/json.ts';
import { FAILURE } from '../protocol/task.ts';
import type { FailureType } from '../protocol/task.ts';
import { oneLine } from '../protocol/text.ts';
import { AgentTaskError } from './errors.ts';
import type { EndRecord } from './errors.ts';

/** Turn failures after which the API's guide advises a bounded retry (agents-api.md 2.2). */
const PASSING_CODES: readonly string[] = [
  'rate_limit_exceeded',
  'server_overloaded',
  'flex_unavailable',
  'connection_failed',
  'request_timeout',
  'server_error',
  'internal_error',
];
/** Room for the service's own sentence and for what to do about it. */
const MAX_MESSAGE = 1000;

/** Memo field in which a cancelled task leaves what became of its calls: a cancelled workflow has no details. */
const CANCELLED_MEMO = 'holdfast_cancelled';

/**
 * The task's error for what `result()` of its workflow threw, or undefined when that was something else.
 * @param memo asked for a cancelled task alone
 */
export async function taskError(
  taskId: string,
  error: unknown,
  memo: () => Promise<Record<string, unknown> | undefined>,
): Promise<AgentTaskError | undefined> {
  if (!(error instanceof WorkflowFailedError)) return undefined;
  const cause = error.cause;
  const text = oneLine(cause?.message ?? error.message, MAX_MESSAGE);
  if (cause instanceof CancelledFailure) {
    const record = recordIn((await memo())?.[CANCELLED_MEMO]);
    const but = record?.run.error ? `, but ${oneLine(record.run.error.message, MAX_MESSAGE)}` : '';
    return new AgentTaskError(taskId, 'Cancelled', `the task was cancelled${but}`, { record, cause });
  }
  if (cause instanceof TerminatedFailure) {
    const message = `the task was terminated (${text}); its session may still be working`;
    return new AgentTaskError(taskId, 'Terminated', message, { cause });
  }
  if (cause instanceof TimeoutFailure) {
    return new AgentTaskError(taskId, 'TimedOut', 'the task ran out of the time it was given', { cause });
  }
  const record = cause instanceof ApplicationFailure ? recordIn(cause.details?.[0]) : undefined;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  const reason = isFailureType(type) ? type : 'Failed';
  return new AgentTaskError(taskId, reason, text, { record, retryable: passing(reason, record), cause });
}

function isFailureType(type: string | null | undefined): type is FailureType {
  return Object.values<string | null | undefined>(FAILURE).includes(type);
}

function recordIn(details: unknown): EndRecord | undefined {
  return isRecord(details) && isRecord(details['run']) ? (details as unknown as EndRecord) : undefined;
}

function passing(reason: string, record: EndRecord | undefined): boolean {
  if (reason === FAILURE.sessionBusy) return true;
  return reason !== FAILURE.invalidInput && PASSING_CODES.includes(record?.run.error?.code ?? '');
}
