/**
 * What the emulator keeps: plain JSON, so that writing a record and reading it back changes nothing.
 * A turn's place in its script is part of it; a killed emulator goes on from there.
 */
import type { Step } from './script.ts';
import type {
  AgentSession,
  AgentSessionInputMessageParam,
  AgentSessionItem,
  RequiredAction,
  SessionError,
  SessionStatus,
  Subagent,
  TokenUsage,
  Turn,
} from './wire.ts';

/** An item with its place. `key` is its cursor; it differs from `item.id` only for items with `id: null`. */
export interface ItemRecord {
  key: string;
  turn_id: string;
  /** Null for the root agent's items. */
  subagent_id: string | null;
  /** Null for items that are no output (user messages, results). */
  output_index: number | null;
  item: AgentSessionItem;
}

/** A function call (or approval) and what became of it. `dropped`: its turn ended without an answer. */
export interface CallRecord {
  kind: 'function' | 'approval';
  turn_id: string;
  call_id: string;
  name: string;
  item_key: string | null;
  state: 'pending' | 'answered' | 'dropped';
  /** Digest of the accepted answer, to tell a repeat from a second, different one. */
  answer: string | null;
}

/** The step that is being played, with what has to survive a restart. Times are Unix milliseconds. */
export interface CurrentStep {
  step: Step;
  started_ms: number;
  /** How many of the step's own sub-steps are done. */
  phase: number;
  item_key?: string;
  /** All calls of the step, in the order of its specs; which of them exist already is in `calls`. */
  call_ids?: string[];
  subagent_id?: string;
}

/** An answered call of a turn, in order of answers. What was answered stands in the item `output_key`. */
interface ResultRecord {
  name: string;
  call_id: string;
  output_key: string | null;
  /** Of an approval, which leaves no output item. */
  decision: string | null;
}

/** Where a turn's steps come from. `steps` are those of a `script:` message. */
export type ScriptRef = { kind: 'inline'; steps: Step[] } | { kind: 'named'; name: string };

export interface TurnRecord {
  turn: Turn;
  index: number;
  script: ScriptRef;
  input_text: string;
  messages: string[];
  steps_done: number;
  current: CurrentStep | null;
  results: ResultRecord[];
  next_output_index: number;
  /** Set by a cancel that takes effect later (fault `cancel_lag`). */
  cancel_at_ms: number | null;
  ended_ms: number | null;
  /** Known at the end, shown `usageDelayMs` later. */
  usage: TokenUsage | null;
}

export interface SubagentRecord {
  subagent: Subagent;
  turns: TurnRecord[];
}

export interface QueuedMessage {
  input: AgentSessionInputMessageParam[];
  /** It begins the next turn instead of joining this one (fault `steering_queued`). */
  waits?: boolean;
}

/** Counted per session and over all of them. */
export interface CounterSet {
  creates: number;
  deletes: number;
  streams_opened: number;
  posts: number;
  messages_accepted: number;
  messages_repeated: number;
  turns_started: number;
  results_accepted: number;
  results_repeated: number;
  results_refused: number;
  approvals_accepted: number;
  cancels: number;
  violations: number;
}

export interface SessionRecord {
  id: string;
  /** Order of creation over all sessions. */
  seq: number;
  agent: AgentSession['agent'];
  created_ms: number;
  last_active_ms: number;
  metadata: Record<string, string>;
  metadata_changed_ms: number;
  vault_ids: string[];
  review: 'none' | 'auto_review' | null;
  prompt_cache_options: AgentSession['prompt_cache_options'] | null;
  spend_limit: number | null;
  status: SessionStatus;
  failure: SessionError | null;
  /** The last turn's error, kept only under the fault `keep_turn_error`. */
  turn_error: string | null;
  required_actions: RequiredAction[];
  turns: TurnRecord[];
  items: ItemRecord[];
  calls: CallRecord[];
  subagents: SubagentRecord[];
  queue: QueuedMessage[];
  /** Idempotency key → canonical body that it was first accepted with. */
  keys: Record<string, string>;
  /** Key of the request that created the session, for the fault `create_key_honoured`. */
  create_key: string | null;
  deleted: boolean;
  counters: CounterSet;
}

export function emptyCounters(): CounterSet {
  return {
    creates: 0,
    deletes: 0,
    streams_opened: 0,
    posts: 0,
    messages_accepted: 0,
    messages_repeated: 0,
    turns_started: 0,
    results_accepted: 0,
    results_repeated: 0,
    results_refused: 0,
    approvals_accepted: 0,
    cancels: 0,
    violations: 0,
  };
}

const ENDED: readonly Turn['status'][] = ['completed', 'failed', 'cancelled'];

export function hasEnded(turn: Turn): boolean {
  return ENDED.includes(turn.status);
}

/** The root turn that is under way, if any; there is never more than one. */
export function activeTurn(record: SessionRecord): TurnRecord | undefined {
  const last = record.turns.at(-1);
  return last !== undefined && !hasEnded(last.turn) ? last : undefined;
}

/** The record of a call by the pair that names it. */
export function findCall(record: SessionRecord, turnId: string, callId: string): CallRecord | undefined {
  return record.calls.find((call) => call.turn_id === turnId && call.call_id === callId);
}
