/** Results that are told to a task from outside, by a person or by a signal: of any shape, and of any size. */
import type { ToolOutcome } from './activities.ts';
import type { ToolResult } from './calls.ts';
import { MAX_LEVELS } from './guards.ts';
import { isDeeper, isRecord } from './json.ts';
import { truncate, utf8Length, wellFormed } from './text.ts';

/** A result obeys the same bound as a tool's default. */
const MAX_RESULT_BYTES = 256 * 1024;
const MAX_ERROR_BYTES = 2000;

/**
 * Reads what claims to be an outcome that a tool tells. Anybody may send one: null for what names no run of a call or
 * has no result. Of a result these fields are taken and no others, and no more of them than a tool may give.
 */
export function toldOutcome(value: unknown): ToolOutcome | null {
  if (!isRecord(value) || isDeeper(value, MAX_LEVELS)) return null;
  const { turn_id, call_id, run_no, result } = value;
  if (typeof turn_id !== 'string' || typeof call_id !== 'string' || typeof run_no !== 'number') return null;
  if (!isRecord(result) || typeof result['success'] !== 'boolean') return null;
  return { turn_id, call_id, run_no, result: toldResult(result) };
}

function toldResult({ success, output, error }: Record<string, unknown>): ToolResult {
  if (!success) return failed(typeof error === 'string' ? error : 'The tool failed.');
  const parts =
    Array.isArray(output) && utf8Length(wellFormed(JSON.stringify(output))) <= 2 * MAX_RESULT_BYTES;
  return parts ? { success: true, output: output as NonNullable<ToolResult['output']> } : succeeded(output);
}

/** A result of text, or of JSON as text. */
export function succeeded(output: unknown): ToolResult {
  if (output === null || output === undefined) return { success: true, output: null };
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return { success: true, output: truncate(wellFormed(text), MAX_RESULT_BYTES) };
}

/** A failure with a sentence for the model. */
export function failed(sentence: string): ToolResult {
  return { success: false, error: truncate(wellFormed(sentence), MAX_ERROR_BYTES) };
}
