/**
 * Checks of what people send to a task, by hand: workflow code carries no schema library. Each returns a sentence
 * that names the field and the remedy, or null when the value is good.
 */
import { isDeeper, isRecord } from './json.ts';
import { expected, expectedText } from './problems.ts';
import { nearest } from './suggest.ts';
import type { ResolveCallInput } from './task.ts';
import { oneLine, utf8Length } from './text.ts';
import { Unreadable } from './unreadable.ts';

/** Far more than any agent or schema needs, and far less than what JSON.stringify dies of. */
export const MAX_LEVELS = 200;
/** The server takes 2 MiB at once. What a continued run is given beside its input has to fit, too. */
export const MAX_INPUT_BYTES = 1_500_000;

const ACTIONS = ['result', 'run_again', 'report_failure'];
const RESOLVE_FIELDS = ['call_id', 'turn_id', 'action', 'output', 'error'];
const EXAMPLE = '{"call_id": "call_1", "action": "run_again"}';

/** Checks that a task's input is JSON that can be handed on at all. Which fields it needs is not its business. */
export function checkJson(value: unknown, example: string): string | null {
  if (value instanceof Unreadable || ArrayBuffer.isView(value))
    return expected(`a JSON object such as ${example}`, value);
  if (isDeeper(value, MAX_LEVELS))
    return `nested deeper than ${MAX_LEVELS} levels, or containing itself: make it flatter`;
  return sizeProblem(value, 'leave large data where a tool or the environment can read it');
}

function sizeProblem(value: unknown, remedy: string): string | null {
  let bytes: number;
  try {
    bytes = utf8Length(JSON.stringify(value) ?? '');
  } catch {
    return 'cannot be written as JSON (a bigint, or an object that does not allow it)';
  }
  if (bytes <= MAX_INPUT_BYTES) return null;
  return `${(bytes / 1e6).toFixed(1)} MB of JSON, at most ${MAX_INPUT_BYTES / 1e6} MB are taken: ${remedy}`;
}

/** Checks the arguments of the update `resolveCall`. */
export function checkResolveCall(args: readonly unknown[]): string | null {
  const [input] = args;
  if (args.length > 1)
    return `input: expected one argument, got ${args.length}: put everything into one JSON object such as ${EXAMPLE}`;
  if (input instanceof Unreadable || ArrayBuffer.isView(input) || !isRecord(input))
    return `input: ${expected(`a JSON object such as ${EXAMPLE}`, input)}`;
  for (const field of Object.keys(input)) {
    if (!RESOLVE_FIELDS.includes(field))
      return `${oneLine(field, 40)}: unknown field, ${meant(field, RESOLVE_FIELDS)}`;
  }
  return checkCall(input) ?? checkAnswer(input);
}

function checkCall({ call_id, turn_id }: Record<string, unknown>): string | null {
  const problem = textProblem(call_id, 'the id of a call that waits for a decision');
  if (problem !== null) return `call_id: ${problem}; the query "pending" lists them`;
  if (turn_id === undefined) return null;
  const turnProblem = textProblem(turn_id, "the id of the call's turn");
  return turnProblem === null ? null : `turn_id: ${turnProblem}, or leave it out`;
}

function checkAnswer(input: Record<string, unknown>): string | null {
  const { action, output, error } = input;
  const choice = `one of ${ACTIONS.join(', ')}`;
  if (typeof action !== 'string') return `action: ${expected(choice, action)}`;
  if (!ACTIONS.includes(action)) {
    const near = nearest(action, ACTIONS);
    return `action: expected ${choice}${near === null ? '' : `, did you mean "${near}"?`}`;
  }
  const known = action as ResolveCallInput['action'];
  if (known === 'result' && output === undefined)
    return 'output: needed with action "result": the text or JSON that the tool would have given';
  if (known !== 'result' && 'output' in input) return 'output: goes only with action "result"';
  if (known !== 'report_failure' && 'error' in input) return 'error: goes only with action "report_failure"';
  if (isDeeper(output, MAX_LEVELS)) return `output: nested deeper than ${MAX_LEVELS} levels: make it flatter`;
  const size = sizeProblem(input, 'shorten it');
  if (size !== null) return `${known === 'result' ? 'output' : 'error'}: ${size}`;
  const problem = error === undefined ? null : textProblem(error, 'the sentence that the model is to see');
  return problem === null ? null : `error: ${problem}`;
}

function textProblem(value: unknown, what: string): string | null {
  if (typeof value !== 'string') return expectedText(what, value);
  return value.trim() === '' ? `expected ${what}, got blank text` : null;
}

/** The remedy for a field that nobody knows. */
export function meant(field: string, known: readonly string[]): string {
  const near = nearest(field, known);
  return near === null ? `the fields are ${known.join(', ')}` : `did you mean "${near}"?`;
}
