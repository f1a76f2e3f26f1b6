/**
 * One run of a tool: an activity under the tool's own name, and what its end says about the effect (I2).
 */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';

import { wasReset } from './reset.ts';
import { isRecord } from '../src/protocol/json.ts';
import { hasStarted, TOOL_FAILURE, type ToolActivity } from '../src/protocol/activities.ts';
import type {
  CheckResult,
  PlannedCall,
  RunPlan,
  ToolCallInput,
  ToolExecution,
  ToolResult,
} from '../src/protocol/calls.ts';

/** The wrapper keeps the tool's limit by itself; Temporal's is the last resort behind it. */
const LIMIT_MARGIN_MS = 30_000;
/** Attempts lost with their workers, on top of the failures that the tool allows. */
const LOST_ATTEMPTS = 10;
const CHECK_TIMEOUT_MS = 60_000;

export type RunEnd =
  | { kind: 'result'; result: ToolResult; attempts: number }
  /**
   * Nothing was executed: it may be run again. `missing`: the worker does not know the tool. `later`: the service
   * could not be read, so that nothing can go on anyway; it may have said for how long.
   */
  | { kind: 'not_started'; why: string; missing?: boolean; later?: boolean; pauseMs?: number }
  /** Executed at least in part, and nobody knows how it ended. */
  | { kind: 'unknown'; why: string }
  | { kind: 'cancelled' };

export interface RunRequest {
  sessionId: string;
  planned: PlannedCall;
  plan: RunPlan;
  runNo: number;
  /** The run that was allowed after an unknown outcome; 0 while there was none. */
  againRun: number;
  heartbeatTimeoutMs: number;
}

/** Runs the tool once, in Temporal's sense: a repeatable one is attempted again after losses and failures. */
export async function runTool(request: RunRequest): Promise<RunEnd> {
  const { planned, plan, runNo } = request;
  const once = plan.effect === 'once';
  const tools = proxyActivities<Record<string, ToolActivity>>({
    // Unique per run: a pending duplicate id would fail the workflow task for ever.
    activityId: `${planned.turn_id}/${planned.call_id}/${runNo}`,
    summary: planned.summary,
    startToCloseTimeout: plan.timeout_ms + LIMIT_MARGIN_MS,
    heartbeatTimeout: request.heartbeatTimeoutMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: once
      ? { maximumAttempts: 1 }
      : {
          maximumAttempts: plan.attempts + LOST_ATTEMPTS,
          initialInterval: plan.backoff_ms,
          backoffCoefficient: 2,
          maximumInterval: Math.max(plan.backoff_ms, 30_000),
        },
  });
  try {
    const execution = (await tools[planned.name]?.(
      ...activityArguments(request, 'execute'),
    )) as ToolExecution;
    return { kind: 'result', result: execution.result, attempts: execution.attempt };
  } catch (error) {
    return once ? endOfOnce(error, planned.name) : endOfRepeatable(error, planned.name);
  }
}

/** Asks the tool's own `check` about an interrupted execution. A check that fails knows nothing. */
export async function checkTool(request: RunRequest): Promise<CheckResult> {
  const { planned, runNo } = request;
  const tools = proxyActivities<Record<string, ToolActivity>>({
    activityId: `${planned.turn_id}/${planned.call_id}/${runNo}/check`,
    summary: `check: ${planned.summary}`,
    startToCloseTimeout: CHECK_TIMEOUT_MS,
    heartbeatTimeout: request.heartbeatTimeoutMs,
    retry: { maximumAttempts: 3 },
  });
  try {
    return (await tools[planned.name]?.(...activityArguments(request, 'check'))) as CheckResult;
  } catch {
    return { status: 'unknown' };
  }
}

function activityArguments(
  { sessionId, planned, plan, runNo, againRun }: RunRequest,
  mode: ToolCallInput['mode'],
): [Record<string, unknown> | null, ToolCallInput] {
  return [
    planned.arguments ?? null,
    {
      mode,
      session_id: sessionId,
      turn_id: planned.turn_id,
      call_id: planned.call_id,
      name: planned.name,
      run_no: runNo,
      effect: plan.effect,
      timeout_ms: plan.timeout_ms,
      attempts: plan.attempts,
      arguments_digest: planned.arguments_digest,
      arguments_omitted: planned.arguments === undefined,
      ...(wasReset() ? { former_runs_from: againRun } : {}),
    },
  ];
}

/** Only what proves that nothing was executed counts as not started; every other loss is unknown. */
function endOfOnce(error: unknown, name: string): RunEnd {
  const cause = causeOf(error);
  if (cause instanceof ApplicationFailure) {
    if (cause.type === TOOL_FAILURE.failed) return failed(cause.message);
    if (cause.type === TOOL_FAILURE.notStarted) return notStarted(cause);
    if (isNotRegistered(cause)) return missing(name);
    return { kind: 'unknown', why: cause.type === TOOL_FAILURE.unknown ? cause.message : 'it broke off' };
  }
  if (cause instanceof TimeoutFailure) {
    if (!hasStarted(cause.lastHeartbeatDetails)) {
      return { kind: 'not_started', why: 'its worker was lost before it started' };
    }
    return { kind: 'unknown', why: 'its worker was lost after it had started' };
  }
  // A started attempt never reports a plain cancellation: this one was cancelled while it waited for a worker.
  if (cause instanceof CancelledFailure) return { kind: 'cancelled' };
  return { kind: 'unknown', why: 'it broke off' };
}

function endOfRepeatable(error: unknown, name: string): RunEnd {
  const cause = causeOf(error);
  if (cause instanceof CancelledFailure) return { kind: 'cancelled' };
  if (cause instanceof ApplicationFailure) {
    if (cause.type === TOOL_FAILURE.failed) return failed(cause.message);
    if (cause.type === TOOL_FAILURE.notStarted) return notStarted(cause);
    if (isNotRegistered(cause)) return missing(name);
  }
  return failed(`Tool "${name}" could not be completed: its worker was lost too often.`);
}

function causeOf(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : error;
}

/** The SDK's own failure for an activity type that the worker does not have. */
function isNotRegistered(failure: ApplicationFailure): boolean {
  return failure.type === 'NotFoundError';
}

function notStarted({ message, details }: ApplicationFailure): RunEnd {
  const [detail] = details ?? [];
  if (!isRecord(detail) || detail['later'] !== true) return { kind: 'not_started', why: message };
  const pauseMs = Number(detail['retry_after_ms'] ?? 0);
  return { kind: 'not_started', why: message, later: true, pauseMs };
}

function missing(name: string): RunEnd {
  return { kind: 'not_started', why: `no worker knows the tool "${name}"`, missing: true };
}

function failed(error: string): RunEnd {
  return { kind: 'result', result: { success: false, error }, attempts: 1 };
}
