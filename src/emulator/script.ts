/** What a scripted agent is: data steps or a pure function, and the view that it decides on. */
import type { AgentSession, ApprovalRequest, RawObject } from './wire.ts';

/** One function call that the agent makes. `call_id` is made up when absent. */
export interface CallSpec {
  name: string;
  arguments?: unknown;
  call_id?: string;
}

/**
 * One thing the agent does. Text of `say` and `reason` may hold `{{tool}}` (last result text of that
 * tool in this turn) and `{{tool.N}}` (its N-th, from 0).
 */
export type Step =
  | { say: string; phase?: 'commentary' | 'final_answer'; delta_ms?: number }
  | { reason: string; delta_ms?: number }
  | {
      call: CallSpec | CallSpec[];
      /** `one_by_one`: each call has its own `requires_action`, `gap_ms` (default 40) apart. */
      appear?: 'together' | 'one_by_one';
      gap_ms?: number;
      arguments_as?: 'object' | 'string';
      /** The turn fails with `request_timeout` when a call is not answered in this time. */
      timeout_ms?: number;
    }
  /** Asks a person: `request` is the wire object of agents-api.md 2.5; the answer is a result named `approval`. */
  | { ask: ApprovalRequest; request_id?: string; timeout_ms?: number }
  | { wait_ms: number }
  | { wait_for: 'message' | 'cancel' }
  | { fail: { code: string; message: string } }
  | { fail_session: { code: string; message: string } }
  | { budget: true }
  | {
      subagent: {
        name: string;
        say: string;
        outcome?: 'completed' | 'failed' | 'cancelled';
        work_ms?: number;
        /** Shows the child's own turn and items on the session's stream as well. */ on_stream?: boolean;
      };
    }
  | { event: RawObject }
  | { item: RawObject };

/** The kinds of step, by the field that names them. */
export const STEP_KINDS = [
  'say',
  'reason',
  'call',
  'ask',
  'wait_ms',
  'wait_for',
  'fail',
  'fail_session',
  'budget',
  'subagent',
  'event',
  'item',
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** An answered call (or approval) of this turn. `output` and `error` are what the client posted, as text. */
export interface ResultView {
  name: string;
  call_id: string;
  success: boolean;
  output: string | null;
  error: string | null;
}

/** Everything a code script may decide on. It is derived from saved state, so a restart gives the same view. */
export interface TurnView {
  /** Number of this root turn in its session, from 0. */
  turn_index: number;
  /** Text of the message that started the turn. */
  input_text: string;
  /** Texts of the messages that steered this turn so far. */
  messages: string[];
  /** Number of steps done. */
  step: number;
  results: ResultView[];
  /** Declared function tools. */
  tools: { name: string; description: string; parameters: RawObject }[];
  metadata: Record<string, string>;
  model: string;
  instructions: string | null;
  /** The JSON schema that the answer has to follow, if the session has one. */
  answer_schema: RawObject | null;
}

/** Which sessions a script plays for. All given conditions must hold. */
export type ScriptMatch =
  | { model?: string; tools?: string[]; instructions?: string; metadata?: Record<string, string> }
  | ((session: AgentSession) => boolean);

/**
 * A scripted agent: `steps` (the same in every turn) or `next`, a pure function of the view (null ends
 * the turn as completed). Give exactly one of the two.
 */
export interface AgentScript {
  name: string;
  match?: ScriptMatch;
  steps?: Step[];
  next?: (view: TurnView) => Step | null;
}
