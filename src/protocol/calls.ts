/**
 * A function call, from the moment the service asks for it to the moment its result is confirmed.
 *
 *   preparing → running → (unknown →) saved → posted → confirmed | dropped
 *
 * A call is known by its turn and call id together: the API answers a call by both (agents-api.md 5.4).
 */
import type { RequiredAction, ToolOutput } from './wire.ts';

/**
 * `once`: executed at most once per call unless a person says "run again" (I2).
 * `repeatable`: may run again, always with the same idempotency key.
 */
export type Effect = 'once' | 'repeatable';

/** What is posted for a call: final bytes, made where the tool ran (I3). */
export interface ToolResult {
  success: boolean;
  output?: ToolOutput;
  error?: string;
}

/** What a tool activity returns when it executed. */
export interface ToolExecution {
  result: ToolResult;
  /** Which attempt of the run it was, from 1. */
  attempt: number;
}

/** How a call is to be run, decided where the tool is known and kept in history, so that a deploy changes nothing. */
export interface RunPlan {
  kind: 'run';
  effect: Effect;
  /** Limit of one execution, in ms. */
  timeout_ms: number;
  /** How many failed executions the tool allows; lost workers are counted apart. */
  attempts: number;
  backoff_ms: number;
  /** The tool can find out by itself whether an interrupted execution took effect. */
  has_check: boolean;
}

/** A call that can be answered without running anything: unknown tool, bad arguments. */
interface AnswerPlan {
  kind: 'answer';
  result: ToolResult;
}

/** A new call with the decision what to do about it. */
export interface PlannedCall {
  turn_id: string;
  call_id: string;
  name: string;
  /** The arguments in one short line, for people. */
  summary: string;
  /** Parsed arguments; absent when larger than 32 KiB, then the tool activity reads them again. */
  arguments?: Record<string, unknown>;
  arguments_digest: string;
  plan: RunPlan | AnswerPlan;
}

/** Second argument of every tool activity; the first is the arguments object. */
export interface ToolCallInput {
  mode: 'execute' | 'check';
  session_id: string;
  turn_id: string;
  call_id: string;
  name: string;
  /** 1 for the first run of this call; a person's "run again" adds one. */
  run_no: number;
  effect: Effect;
  timeout_ms: number;
  attempts: number;
  arguments_digest: string;
  /** The arguments were too large for history: read them from the session and check the digest. */
  arguments_omitted: boolean;
  /**
   * Only in a run that an operator's reset has made: an execution of this run number or a later one may stand in
   * the history that was left behind.
   */
  former_runs_from?: number;
}

/** What a tool's own `check` found out about an interrupted execution. */
export type CheckResult =
  | { status: 'done'; result: ToolResult }
  | { status: 'not_done' }
  | { status: 'unknown' };

/** The key of a call everywhere. */
export function callKey(call: { turn_id: string; call_id: string }): string {
  return `${call.turn_id}/${call.call_id}`;
}

/** A function call that the service waits for. */
export interface RequiredCall {
  turn_id: string;
  call_id: string;
  name: string;
  arguments: unknown;
}

/** What `required_actions` asks for: our calls, and everything that no tool can answer (agents-api.md 2.5). */
export interface Owed {
  calls: RequiredCall[];
  others: { type: string; id: string | null }[];
}

/**
 * Reads `required_actions`. An action of an unknown type, or a function call that lacks an id, is kept in
 * `others`: it is shown, never answered and never an error (I12).
 */
export function owed(actions: readonly RequiredAction[] | null | undefined): Owed {
  const result: Owed = { calls: [], others: [] };
  for (const action of actions ?? []) {
    if (action.type === 'function_call' && action.turn_id && action.call_id) {
      result.calls.push({
        turn_id: action.turn_id,
        call_id: action.call_id,
        name: action.name ?? '',
        arguments: action.arguments,
      });
    } else {
      result.others.push({
        type: action.type,
        id: action.request_id ?? action.environment_id ?? action.call_id ?? null,
      });
    }
  }
  return result;
}
