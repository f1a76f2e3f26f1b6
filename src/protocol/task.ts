/**
 * What crosses the boundary of a task: its input, its result, its status, the updates it takes. All of it is JSON
 * in the API's own spelling; API objects are embedded unchanged.
 */
import type { Effect } from './calls.ts';
import type { InputMessage, TokenUsage } from './wire.ts';

/** The workflow type; people type it: `temporal workflow start --type agentTask`. */
export const AGENT_TASK = 'agentTask';
/** The task queue of workers, client and command when nothing else is said. */
export const DEFAULT_TASK_QUEUE = 'holdfast';

/** Search attributes (all Keyword). Written only where the namespace has all of them. */
export const SEARCH_ATTRIBUTES = {
  sessionId: 'HoldfastSessionId',
  agent: 'HoldfastAgent',
  state: 'HoldfastState',
} as const;

/** What people are shown when their input is none. */
export const TASK_INPUT_EXAMPLE = '{"agent": "trip-planner", "input": "Plan a weekend in Lisbon"}';

/** Input of the workflow `agentTask`. Exactly one of `agent`, `agent_id` or `session_id` is needed. */
export interface AgentTaskInput {
  /** The name of an agent registered with the worker, or an agent configuration as the API takes it. */
  agent?: string | Record<string, unknown>;
  /** The id of a saved agent; an `agent` object beside it overrides fields of it. */
  agent_id?: string;
  /** Attaches to an existing session instead of creating one. `agent` may then name whose tools answer. */
  session_id?: string;
  /** The first message: text, or user messages as the API takes them. */
  input?: string | InputMessage[];
  /** Default `{"type": "none"}`. */
  environment?: Record<string, unknown>;
  /** At most 14 pairs: two of the API's 16 are Holdfast's own. */
  metadata?: Record<string, string>;
  spend_control?: Record<string, unknown> | null;
  prompt_cache_options?: Record<string, unknown> | null;
  review?: string;
  vault_ids?: string[];
}

/** Where a task stands, in one word. Also the search attribute `HoldfastState`. */
export type TaskState =
  | 'opening'
  | 'working'
  | 'running_tools'
  | 'waiting_for_person'
  | 'waiting_for_service'
  | 'cancelling'
  | 'completed'
  | 'failed'
  | 'cancelled';

/** How a call stands. `succeeded` and `failed` are results that the service has confirmed to have. */
export type CallState =
  | 'planned'
  | 'running'
  | 'unknown'
  | 'saved'
  | 'posted'
  | 'succeeded'
  | 'failed'
  | 'dropped';

/** A call in the status and in the run record. Times in ms. */
export interface CallReport {
  turn_id: string;
  call_id: string;
  name: string;
  summary: string;
  effect: Effect | null;
  state: CallState;
  /** How often the tool was started, as far as it is known. */
  runs: number;
  attempts: number;
  duration_ms: number | null;
  /** Why a call is unknown or was dropped. */
  note?: string;
}

/** A root turn that has ended. */
export interface TurnReport {
  turn_id: string;
  status: string;
  error: { code: string | null; message: string } | null;
  /** Null means unknown, not zero: the service fills usage in late (agents-api.md 7). */
  usage: TokenUsage | null;
  /** The final answer of the turn, built from saved items (I7). */
  output_text: string;
  /** Tool items of the turn that failed: a completed turn with failed tools says so (I7). */
  failed_tools: number;
}

/** The result of a task: what became of it, by which turns and calls, at which cost. */
export interface RunRecord {
  run: {
    /** The task id, which is the workflow id. */
    id: string;
    status: 'completed' | 'failed' | 'cancelled';
    stop_reason: StopReason;
    error: { code: string | null; message: string } | null;
  };
  session_id: string;
  agent: string;
  model: string | null;
  output_text: string;
  /** `output_text` parsed, when the agent's text format is a JSON schema and it parses; else null. */
  output: unknown;
  turns: TurnReport[];
  tool_calls: CallReport[];
  /** Calls settled in all; `tool_calls` keeps the last 50. */
  tool_calls_total: number;
  tool_calls_failed: number;
  usage: TokenUsage | null;
}

export type StopReason =
  | 'turn_completed'
  | 'turn_failed'
  | 'turn_cancelled'
  | 'session_failed'
  | 'session_gone'
  | 'environment_failed'
  | 'budget_reached'
  | 'task_cancelled';

/** Answer of the query `status`. */
export interface TaskStatus {
  state: TaskState;
  agent: string | null;
  model: string | null;
  session_id: string | null;
  turn_id: string | null;
  /** Open calls and the last 50 settled ones. */
  tool_calls: CallReport[];
  tool_calls_total: number;
  tool_calls_failed: number;
  /** Required actions that no tool can answer, for example an approval. */
  waiting_for: { type: string; id: string | null }[];
  turns: TurnReport[];
  cancel_requested: boolean;
  /** The last signals that had no effect: whoever sends one is told nothing (scenario 55). */
  ignored_signals: IgnoredSignal[];
}

/** A signal without effect, and why. */
export interface IgnoredSignal {
  name: string;
  reason: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** Answer of the query `pending`: what waits for a person, with what is needed to decide. */
export interface PendingDecision {
  kind: 'unknown_outcome';
  turn_id: string;
  call_id: string;
  name: string;
  summary: string;
  run_no: number;
  reason: string;
  /** Milliseconds since the epoch. */
  since: number;
}

/**
 * Argument of the update `resolveCall`, a person's answer about a call whose outcome is unknown:
 * `result` gives the result the tool would have given, `run_again` runs it once more, `report_failure` tells
 * the model that it failed.
 */
export interface ResolveCallInput {
  call_id: string;
  turn_id?: string;
  action: 'result' | 'run_again' | 'report_failure';
  /** With `result`: text, or any JSON value, which is sent as compact JSON. */
  output?: unknown;
  /** With `report_failure`: the sentence that the model sees. */
  error?: string;
}

export interface ResolveCallResult {
  turn_id: string;
  call_id: string;
  action: ResolveCallInput['action'];
  state: 'recorded';
}

/** How a task that did not complete says so: the `type` of the workflow's failure. */
export const FAILURE = {
  invalidInput: 'InvalidInput',
  turnFailed: 'TurnFailed',
  turnCancelled: 'TurnCancelled',
  sessionFailed: 'SessionFailed',
  sessionGone: 'SessionGone',
  environmentFailed: 'EnvironmentFailed',
  budgetReached: 'BudgetReached',
  sessionBusy: 'SessionBusy',
  apiRefused: 'ApiRefused',
} as const;
export type FailureType = (typeof FAILURE)[keyof typeof FAILURE];
