/**
 * The parts of the Agents API's JSON that Holdfast reads, written by hand and on purpose loose: statuses, codes
 * and types are open strings and unknown fields pass through (I12). A compile-only test holds them against the
 * `openai` package. Times are Unix seconds. Source: agents-api.md 1.1, 2.5, 3.2 and 4.
 */

export interface TokenUsage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  input_tokens_details?: { cached_tokens?: number };
  output_tokens_details?: { reasoning_tokens?: number };
}

/** An entry of `session.required_actions`: the only authority for what is still owed (I5). */
export interface RequiredAction {
  type: string;
  turn_id?: string;
  call_id?: string;
  name?: string | null;
  /** An object or a JSON string; the API says `unknown`. */
  arguments?: unknown;
  request_id?: string;
  environment_id?: string;
}

export interface Session {
  id: string;
  status: string;
  required_actions: RequiredAction[];
  metadata?: Record<string, string> | null;
  created_at: number;
  error?: string | null;
  agent?: {
    id?: string;
    model?: string;
    name?: string | null;
    tools?: { type: string; name?: string }[] | null;
  };
  usage?: TokenUsage | null;
}

export interface Turn {
  id: string;
  status: string;
  /** Null exactly for a root turn. */
  subagent_id: string | null;
  session_id: string;
  created_at: number;
  started_at?: number | null;
  completed_at?: number | null;
  error?: { code?: string | null; message?: string | null } | null;
  usage?: TokenUsage | null;
}

export interface ContentPart {
  type: string;
  text?: string;
  image_url?: string;
}

/** Any session item. Only what is used is named. */
export interface Item {
  id: string | null;
  type: string;
  turn_id?: string | null;
  status?: string | null;
  role?: string;
  phase?: string | null;
  content?: ContentPart[];
  call_id?: string;
  name?: string;
  output?: unknown;
  error?: unknown;
}

/** Any event of a session's stream. Only what is used is named. */
export interface SessionEvent {
  type: string;
  event_id?: string;
  session_id?: string;
  turn_id?: string | null;
  session?: Session;
  turn?: Turn;
  item?: Item;
  item_id?: string;
  content_index?: number;
  delta?: string;
  text?: string;
  environment?: { status?: string; error?: { code?: string; message?: string } | null };
  error?: { code?: string | null; message?: string };
}

/** A list page. `last_id` is the cursor, never the last element's id, which may be null (agents-api.md 1.4). */
export interface Page<T> {
  data: T[];
  has_more?: boolean;
  last_id?: string | null;
}

/** `input_text` or `input_image`: the only parts a message or a tool result may hold (agents-api.md 5.1, 5.4). */
export type InputContent =
  | { type: 'input_text'; text: string; image_url?: never }
  | { type: 'input_image'; image_url: string; text?: never };

export interface InputMessage {
  type?: 'message';
  role: 'user';
  content: InputContent[];
}

export type ToolOutput = string | InputContent[] | null;

/** One element of the body of `POST …/events` (agents-api.md 5). */
export type InputEvent =
  | { type: 'agent.session.input.message'; input: InputMessage[] }
  | { type: 'agent.session.input.cancel' }
  | {
      type: 'agent.session.input.tool_result';
      turn_id: string;
      call_id: string;
      success: boolean;
      output?: ToolOutput;
      error?: string;
    };
