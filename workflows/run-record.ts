/** How a task ends: the run record, or a failure that carries it. */
import { CancelledFailure, type ApplicationFailure } from '@temporalio/workflow';

import { addUsage } from '../src/protocol/outcome.ts';
import { FAILURE, type FailureType, type RunRecord, type StopReason } from '../src/protocol/task.ts';
import type { TokenUsage } from '../src/protocol/wire.ts';
import { plainFailure } from './plain-failure.ts';
import type { Outcome, TaskState } from './task-state.ts';

/** The record of a task whose session was opened and whose outcome is known. */
export function runRecord(taskId: string, state: TaskState, outcome: Outcome): RunRecord {
  const turn = state.turns.at(-1);
  const { total, failed } = state.calls.totals;
  const text = turn?.output_text ?? '';
  let usage: TokenUsage | null = null;
  for (const each of state.turns) usage = addUsage(usage, each.usage);
  const stop = stopReason(state, outcome);
  return {
    run: {
      id: taskId,
      status: stop === 'turn_completed' ? 'completed' : state.name === 'cancelled' ? 'cancelled' : 'failed',
      stop_reason: stop,
      error: turn?.error ?? outcome.error,
    },
    session_id: state.opened?.session_id ?? '',
    agent: state.opened?.label ?? '',
    model: state.opened?.model ?? null,
    output_text: text,
    output: state.opened?.json_output ? parse(text) : null,
    turns: state.turns,
    tool_calls: state.calls.reports(),
    tool_calls_total: total,
    tool_calls_failed: failed,
    usage,
  };
}

function stopReason(state: TaskState, outcome: Outcome): StopReason {
  switch (outcome.reason) {
    case 'ended': {
      const status = state.turns.at(-1)?.status;
      if (status === 'completed') return 'turn_completed';
      if (status === 'cancelled') return state.cancelRequested ? 'task_cancelled' : 'turn_cancelled';
      return 'turn_failed';
    }
    case 'cancel_unconfirmed':
    case 'cancelled_idle':
      return 'task_cancelled';
    case 'session_failed':
    case 'session_gone':
    case 'environment_failed':
    case 'budget_reached':
      return outcome.reason;
    default:
      return 'session_failed';
  }
}

/** The error that ends a task which did not complete: a cancellation, or a failure with the record as detail. */
export function failureOf(record: RunRecord, outcome: Outcome): Error {
  const { stop_reason, error } = record.run;
  const because = error ? `: ${error.code ? `${error.code}: ` : ''}${error.message}` : '';
  const told = error ? ` (${error.message})` : '';
  switch (stop_reason) {
    case 'task_cancelled':
      return new CancelledFailure(error ? `cancelled; ${error.message}` : 'cancelled');
    case 'turn_cancelled':
      return failure(
        FAILURE.turnCancelled,
        'the turn was cancelled at the service, not by this task',
        record,
      );
    case 'turn_failed':
      return failure(FAILURE.turnFailed, `the turn failed${because}`, record);
    case 'session_gone':
      return failure(
        FAILURE.sessionGone,
        `session ${record.session_id} is gone: it was deleted, or the key does not see it any more; start a new task${told}`,
        record,
      );
    case 'environment_failed':
      return failure(FAILURE.environmentFailed, `the environment failed${because}`, record);
    case 'budget_reached':
      return failure(FAILURE.budgetReached, 'the session has reached its spending limit', record);
    default:
      return outcome.reason === 'api_refused'
        ? failure(FAILURE.apiRefused, error?.message ?? 'the Agents API refused a request', record)
        : outcome.reason === 'session_busy'
          ? failure(FAILURE.sessionBusy, error?.message ?? 'another task holds the session', record)
          : failure(FAILURE.sessionFailed, `the session failed${because}`, record);
  }
}

function failure(type: FailureType, message: string, record: RunRecord): ApplicationFailure {
  return plainFailure(type, message, [record]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
