/**
 * Checks of messages that reach a running task, by hand: workflow code carries no schema library.
 * Each returns a sentence that names the field and the remedy, or null when the value is good.
 */
import type { ResolveCallInput } from './task.ts';
import { oneLine } from './text.ts';

const ACTIONS = ['result', 'run_again', 'report_failure'];
const RESOLVE_FIELDS = new Set(['call_id', 'turn_id', 'action', 'output', 'error']);
const EXAMPLE = '{"call_id": "call_1", "action": "run_again"}';

/** Checks the argument of the update `resolveCall`. */
export function checkResolveCall(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `expected an object such as ${EXAMPLE}, got ${kindOf(value)}`;
  }
  const input = value as Record<string, unknown>;
  for (const field of Object.keys(input)) {
    if (!RESOLVE_FIELDS.has(field)) {
      return `${oneLine(field, 40)}: unknown field; known are ${[...RESOLVE_FIELDS].join(', ')}`;
    }
  }
  if (typeof input['call_id'] !== 'string' || input['call_id'] === '') {
    return `call_id: expected the id of a call that waits for a decision, got ${kindOf(input['call_id'])}; the query "pending" lists them`;
  }
  if (input['turn_id'] !== undefined && typeof input['turn_id'] !== 'string') {
    return `turn_id: expected a string, got ${kindOf(input['turn_id'])}`;
  }
  if (typeof input['action'] !== 'string' || !ACTIONS.includes(input['action'])) {
    return `action: expected one of ${ACTIONS.join(', ')}, got ${kindOf(input['action'])}`;
  }
  const action = input['action'] as ResolveCallInput['action'];
  if (action === 'result' && !('output' in input)) {
    return 'output: needed with action "result": the text or JSON that the tool would have given';
  }
  if (action !== 'result' && 'output' in input) return 'output: goes only with action "result"';
  if (action !== 'report_failure' && 'error' in input) return 'error: goes only with action "report_failure"';
  if ('error' in input && (typeof input['error'] !== 'string' || input['error'].trim() === '')) {
    return `error: expected the sentence that the model is to see, got ${kindOf(input['error'])}`;
  }
  return null;
}

/** What kind of JSON value this is, in words; strings are quoted shortly. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value.length <= 40 ? JSON.stringify(value) : 'a long string';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'number' || typeof value === 'boolean' ? `${typeof value} ${value}` : typeof value;
}
