/**
 * The wire types of the Agents API as the emulator uses them. They come from the `openai` package
 * (types only), so the emulator and the client it tests share a contract and no code.
 */
import type {
  Agent,
  AgentFunctionCallOutput,
  AgentSession,
  AgentSessionEvent,
  AgentSessionInputMessageParam,
  AgentSessionInputParam,
  AgentSessionItem,
  AgentToolParam,
  SessionError,
  SessionTurnError,
  Subagent,
  TokenUsage,
} from 'openai/resources/beta/agents/agents';
import type { Turn } from 'openai/resources/beta/agents/sessions/turns';

export type {
  Agent,
  AgentFunctionCallOutput,
  AgentSession,
  AgentSessionInputMessageParam,
  AgentSessionInputParam,
  AgentSessionItem,
  AgentToolParam,
  SessionError,
  SessionTurnError,
  Subagent,
  TokenUsage,
  Turn,
};

/** A JSON object of no known shape. */
export type RawObject = { [key: string]: unknown };

export type RequiredAction = AgentSession['required_actions'][number];
export type SessionStatus = AgentSession['status'];
export type FunctionTool = Extract<AgentSession['agent']['tools'][number], { type: 'function' }>;
/** What an approval shows to the person who decides. */
export type ApprovalRequest = Extract<RequiredAction, { request: unknown }>['request'];

type WithoutEnvelope<E> = E extends unknown ? Omit<E, 'event_id' | 'obfuscation'> : never;
/** An event before it is delivered; every delivery adds `event_id` and perhaps `obfuscation`. */
export type EventBody = WithoutEnvelope<AgentSessionEvent>;

/** True for a plain JSON object. */
export function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An item outside the union of known types, which a script may send to test the reader's tolerance. */
export function asItem(raw: RawObject): AgentSessionItem {
  return raw as unknown as AgentSessionItem;
}

/** An event outside the union of known types, which a script may send to test the reader's tolerance. */
export function asEvent(raw: RawObject): EventBody {
  return raw as unknown as EventBody;
}
