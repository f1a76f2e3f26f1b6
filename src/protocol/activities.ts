/**
 * The contract between the workflow and its activities: inputs and outputs as they stand in history.
 * Small by design: no deltas, no item bodies (I10).
 */
import type { CheckResult, PlannedCall, ToolCallInput, ToolExecution, ToolResult } from './calls.ts';
import { isRecord } from './json.ts';
import type { AgentTaskInput, TurnReport } from './task.ts';
import type { InputMessage } from './wire.ts';

/** Internal activity types contain a dot, which tool names cannot. */
export const ACTIVITY = {
  openSession: 'holdfast.openSession',
  followTurn: 'holdfast.followTurn',
  postInput: 'holdfast.postInput',
  sweepSessions: 'holdfast.sweepSessions',
} as const;

/** Worker settings that the workflow needs; recorded with the session so that replay sees the same. In ms. */
export interface TaskSettings {
  heartbeat_timeout_ms: number;
  /** How long a cancelled task waits for the service to confirm, and for its tools to stop. */
  cancel_wait_ms: number;
  /** How long a person is waited for who must say how a call ended; null: for ever. */
  unknown_limit_ms?: number | null;
  /** History events after which a task continues as new; the server's own suggestion counts too. */
  continue_after_events: number;
}

export interface OpenSessionInput {
  task: AgentTaskInput | undefined;
  /** More arguments than one were given, or none at all. */
  argument_count: number;
  /** Chain identity of the task, the session's key (I1). */
  first_run_id: string;
  /** This run was reset or continued: a session may exist already though this is the first attempt. */
  look_first: boolean;
  /** This run was made by an operator's reset: what its session was stands in the history that was left behind. */
  reset: boolean;
}

export interface OpenedSession {
  session_id: string;
  how: 'created' | 'adopted' | 'attached';
  /** Creation was tried more than once: other sessions with our key may still appear (I1). */
  sweep: boolean;
  /** The registered agent whose tools answer; null means every registered tool. */
  agent: string | null;
  /** For people: the agent's name, its id or its model. */
  label: string;
  model: string | null;
  /** The active root turn, when known. */
  turn_id: string | null;
  /** The newest root turn that is not ours. */
  after_turn_id: string | null;
  /** The task's input is still to be posted as a message. */
  post_input: boolean;
  /** The agent's final text is JSON by a schema. */
  json_output: boolean;
  search_attributes: boolean;
  settings: TaskSettings;
}

/** `repeat` counts the posts that had no effect: each repeat goes out under a key of its own. */
export interface ResultPosting {
  kind: 'tool_result';
  turn_id: string;
  call_id: string;
  result: ToolResult;
  repeat?: number;
}

/** Something to post. `key` is the idempotency key of a message, kept for every retry (agents-api.md 5.6). */
export type Posting =
  | { kind: 'message'; key: string; input: InputMessage[] }
  | ResultPosting
  | { kind: 'cancel'; key: string };

/**
 * What became of a posting.
 * - `accepted`: 2xx. A result still needs a read that shows the call gone before it counts as delivered (I4).
 * - `unwanted`: refused, and two spaced reads show that the call is not required: settled earlier, or dropped.
 * - `still_required`: the service neither took it nor stopped asking; it is to be posted again later.
 * - `refused`: refused for what it is (for example too large); the same bytes must not be sent again.
 * - `idle`: of a cancellation: two spaced reads show no turn of ours, and no other that runs.
 */
export interface PostOutcome {
  kind: Posting['kind'];
  /** The call key, or the posting's own key. */
  key: string;
  outcome: 'accepted' | 'unwanted' | 'still_required' | 'refused' | 'idle';
  detail?: string;
}

export interface FollowInput {
  session_id: string;
  agent: string | null;
  turn_id: string | null;
  after_turn_id: string | null;
  postings: Posting[];
  /** Keys of the open calls that the workflow has. */
  known: string[];
  /** Of these, the ones posted and not yet confirmed. */
  unconfirmed: string[];
  /** Keys of the calls that were settled last. */
  settled: string[];
  /** Messages posted earlier whose landing was not seen yet. */
  messages: { key: string; input: InputMessage[] }[];
}

/**
 * Why the follower returned.
 * - `calls`: new calls to run. `blocked`: the service waits for nothing but calls that are known, or for a person.
 * - `ended`: the root turn ended; `turn` says how.
 * - `handover`: the worker shuts down, or an hour has passed: follow again.
 */
export type FollowReason =
  | 'calls'
  | 'blocked'
  | 'ended'
  | 'session_failed'
  | 'session_gone'
  | 'environment_failed'
  | 'budget_reached'
  | 'handover';

export interface FollowOutput {
  reason: FollowReason;
  turn_id: string | null;
  posted: PostOutcome[];
  /** Keys of `unconfirmed` and of accepted results that a read after the post shows to be settled. */
  confirmed: string[];
  /** Keys of `unconfirmed` and `settled` that two spaced reads show to be required: post them again. */
  required_again: string[];
  calls: PlannedCall[];
  /** The service goes on only when we answer: nothing is to be followed meanwhile (I9). */
  waiting: boolean;
  others: { type: string; id: string | null }[];
  turn: TurnReport | null;
  /** A root turn newer than the one that ended. */
  next_turn_id: string | null;
  /** Keys of messages seen in the ended turn. */
  landed: string[];
  /** Code and sentence when the session or its environment failed. */
  error: { code: string | null; message: string } | null;
}

export interface PostInputInput {
  session_id: string;
  postings: Posting[];
}

export interface PostInputOutput {
  posted: PostOutcome[];
  confirmed: string[];
  session_gone: boolean;
}

interface SweepInput {
  first_run_id: string;
  /** The session to leave alone; null when the task never learned of one. */
  keep: string | null;
}

interface SweepOutput {
  removed: string[];
  /** Found, but not removed within the bound. */
  left: string[];
}

/** Signal that a tool attempt sends when it finishes after the server gave it up. */
export const TOOL_OUTCOME_SIGNAL = 'holdfast.toolOutcome';
export interface ToolOutcome {
  turn_id: string;
  call_id: string;
  run_no: number;
  result: ToolResult;
}

/** Failure types of tool activities: how the workflow tells what is known about an execution. */
export const TOOL_FAILURE = {
  /** The tool answered with a failure; the message is the sentence for the model. */
  failed: 'ToolFailed',
  /** Nothing was executed. */
  notStarted: 'ToolNotStarted',
  /** It was started, and how it ended is not known. */
  unknown: 'ToolOutcomeUnknown',
  /** The worker shut down; a repeatable tool is tried again. */
  shutdown: 'ToolShutdown',
} as const;

/** True when heartbeat details prove that an attempt passed the fence. */
export function hasStarted(details: unknown): boolean {
  return isRecord(details) && details['started'] === true;
}

/** The activities as the workflow calls them. Tools are called by their own names. */
export interface Activities {
  'holdfast.openSession'(input: OpenSessionInput): Promise<OpenedSession>;
  'holdfast.followTurn'(input: FollowInput): Promise<FollowOutput>;
  'holdfast.postInput'(input: PostInputInput): Promise<PostInputOutput>;
  'holdfast.sweepSessions'(input: SweepInput): Promise<SweepOutput>;
}
export type ToolActivity = (
  args: Record<string, unknown> | null,
  call: ToolCallInput,
) => Promise<ToolExecution | CheckResult>;
