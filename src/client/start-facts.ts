/** What a task is given at its start beside its input: an id, a line for people, a digest of the input. */
import { createHash } from 'node:crypto';
import { checkJson } from '../protocol/guards.ts';
import { canonicalJson } from '../protocol/json.ts';
import { TASK_INPUT_EXAMPLE, type AgentTaskInput } from '../protocol/task.ts';
import { oneLine, prefixWithin, wellFormed } from '../protocol/text.ts';
import { InvalidInputError } from '../schema/invalid-input.ts';
import { parseTaskInput } from '../schema/task-input.ts';

/** Memo field with the digest of the input, by which a repeated start is told from a conflicting one. */
export const INPUT_DIGEST_MEMO = 'holdfast_input';

/** The server takes ids and names of up to 1,000 bytes. */
const MAX_ID_BYTES = 1000;
const MAX_SUMMARY = 150;
/** The server takes 400 bytes, quotes and escapes included. */
const MAX_SUMMARY_BYTES = 380;

/**
 * The input as it goes to the server: what JSON makes of it, checked and normalised.
 * @throws InvalidInputError
 */
export function checkedInput(input: AgentTaskInput): AgentTaskInput {
  const problem = checkJson(input, TASK_INPUT_EXAMPLE);
  if (problem !== null) throw InvalidInputError.at('input', problem);
  const json: string | undefined = JSON.stringify(input);
  return parseTaskInput(json === undefined ? undefined : (JSON.parse(json) as unknown));
}

/** @throws InvalidInputError */
export function checkedTaskId(taskId: string): string {
  return checkedName('task id', taskId);
}

/** @throws InvalidInputError */
export function checkedTaskQueue(taskQueue: string): string {
  return checkedName('task queue', taskQueue);
}

function checkedName(what: string, name: unknown): string {
  if (typeof name === 'string' && name.trim() !== '' && Buffer.byteLength(name) <= MAX_ID_BYTES) {
    if (wellFormed(name) === name) return name;
    throw InvalidInputError.at(what, 'holds half of a character (a lone surrogate): leave it out');
  }
  throw InvalidInputError.at(what, `expected text of at most ${MAX_ID_BYTES} bytes that is not blank`);
}

/** A digest that is the same for the same JSON, whatever the order of its keys. */
export function inputDigest(input: AgentTaskInput): string {
  return createHash('sha256').update(canonicalJson(input)).digest('hex').slice(0, 32);
}

/** One line that tells people what the task is, for example `trip-planner: Plan a weekend in Lisbon`. */
export function summaryOf(input: AgentTaskInput): string {
  const model = typeof input.agent === 'object' ? input.agent['model'] : undefined;
  const agent = typeof input.agent === 'string' ? input.agent : (input.agent_id ?? input.session_id);
  const label = agent ?? (typeof model === 'string' ? model : 'agent');
  const text = firstText(input);
  return summaryLine(text === '' ? label : `${label}: ${text}`);
}

/** `text` as the server takes it for a summary. */
export function summaryLine(text: string): string {
  let line = oneLine(text, MAX_SUMMARY);
  if (Buffer.byteLength(JSON.stringify(line)) > MAX_SUMMARY_BYTES) {
    for (
      let room = MAX_SUMMARY_BYTES;
      Buffer.byteLength(JSON.stringify(line)) > MAX_SUMMARY_BYTES;
      room -= 20
    ) {
      line = `${prefixWithin(line.replace(/…$/, ''), room)}…`;
    }
  }
  return line;
}

function firstText(input: AgentTaskInput): string {
  if (typeof input.input === 'string') return input.input;
  for (const message of input.input ?? []) {
    for (const part of message.content) if (part.text !== undefined) return part.text;
  }
  return '';
}
