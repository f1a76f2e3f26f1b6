/** What the probe posts, and how it reads what it gets: as much of it as it uses, whatever else is there. */
import { isRecord } from '../protocol/json.ts';
import { oneLine } from '../protocol/text.ts';
import { isTaken, type Answer } from './http.ts';
import { Unasked } from './unasked.ts';

type Json = Record<string, unknown>;

export interface Call {
  turn_id: string;
  call_id: string;
  name: string;
}

export interface SessionView {
  status: string;
  /** Pending function calls. */
  calls: Call[];
}

export interface TurnView {
  id: string;
  status: string;
  usage: unknown;
  /** The code of its error, empty when there is none. */
  error: string;
}

const TERMINAL = ['completed', 'failed', 'cancelled'];
const MAX_WORD = 60;

/** Why there is no call in a turn that has ended. */
export function uncalled({ status, error }: TurnView): string {
  if (status === 'completed') return 'the model did not call the tool';
  return `the turn ended as ${status}${error === '' ? '' : ` (${error})`} without a call`;
}

export function isEnded(status: string | undefined): boolean {
  return status !== undefined && TERMINAL.includes(status);
}

export function messageEvent(words: string): Json {
  return {
    type: 'agent.session.input.message',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] }],
  };
}

export function resultEvent({ turn_id, call_id }: Call, output: string): Json {
  return { type: 'agent.session.input.tool_result', turn_id, call_id, success: true, output };
}

export const CANCEL_EVENT: Json = { type: 'agent.session.input.cancel' };

/** The function calls in a list of required actions. */
export function callsIn(actions: readonly unknown[]): Call[] {
  return actions
    .filter(isRecord)
    .filter((action) => action['type'] === 'function_call' && typeof action['call_id'] === 'string')
    .map((action) => ({
      turn_id: text(action['turn_id']),
      call_id: text(action['call_id']),
      name: text(action['name']),
    }));
}

/** The words of a user item, or null for any other item. */
export function userWords(item: Json): string | null {
  if (item['type'] !== 'message' || item['role'] !== 'user' || !Array.isArray(item['content'])) return null;
  return (item['content'] as unknown[]).map((part) => (isRecord(part) ? text(part['text']) : '')).join('');
}

/** The rows of a list answer. Throws Unasked. */
export function listIn(answer: Answer, what: string): Json[] {
  const data = isRecord(answer.body) ? answer.body['data'] : undefined;
  if (isTaken(answer) && Array.isArray(data)) return data.filter(isRecord);
  throw new Unasked(`reading ${what} gave ${answer.status}`);
}

export function objectIn(answer: Answer, what: string): Json {
  if (isTaken(answer) && isRecord(answer.body)) return answer.body;
  throw new Unasked(`reading ${what} gave ${answer.status}`);
}

export function turnView(raw: Json): TurnView {
  const error = isRecord(raw['error']) ? word(raw['error']['code']) : '';
  return { id: text(raw['id']), status: word(raw['status']), usage: raw['usage'] ?? null, error };
}

/** A word of the server's as it may be shown. */
export function word(value: unknown): string {
  return oneLine(text(value), MAX_WORD);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
