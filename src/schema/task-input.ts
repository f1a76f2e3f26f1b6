/**
 * The check of a task's input, shared by the first activity and by the client, so that both refuse the same in
 * the same words. zod stays out of workflow code: it would add two thirds to the bundle.
 */
import { z } from 'zod';
import { checkJson, meant } from '../protocol/guards.ts';
import { isRecord } from '../protocol/json.ts';
import { TASK_INPUT_EXAMPLE as EXAMPLE, type AgentTaskInput } from '../protocol/task.ts';
import { oneLine } from '../protocol/text.ts';
import { InvalidInputError } from './invalid-input.ts';
import type { InputIssue } from './invalid-input.ts';
import { encodedTwice, kindOf } from '../protocol/problems.ts';
import * as fields from './task-fields.ts';

const shape = {
  agent: fields.agent.optional(),
  agent_id: fields.agentId.optional(),
  session_id: fields.sessionId.optional(),
  input: fields.input.optional(),
  environment: fields.environment.optional(),
  metadata: fields.metadata.optional(),
  spend_control: fields.spendControl.optional(),
  prompt_cache_options: fields.promptCacheOptions.optional(),
  review: fields.review.optional(),
  vault_ids: fields.vaultIds.optional(),
} satisfies Record<keyof AgentTaskInput, z.ZodType>;
const FIELDS = Object.keys(shape) as (keyof AgentTaskInput)[];
const schema = z.object(shape);

/** The API takes null for these as "nothing given" (agents-api.md 1.3). */
const NULL_IS_ABSENT: readonly string[] = ['input', 'metadata', 'vault_ids'];

/** Fields of a new session, without effect on one that exists. */
const NEW_SESSION_ONLY = [
  'environment',
  'metadata',
  'spend_control',
  'prompt_cache_options',
  'review',
  'vault_ids',
] as const;

/** What people write for something that has its own place. */
const ELSEWHERE: Record<string, string> = {
  model: 'belongs into an agent configuration: {"agent": {"model": …}}',
  instructions: 'belongs into an agent configuration: {"agent": {"instructions": …}}',
  tools: 'belongs into an agent configuration: {"agent": {"tools": …}}',
  task_id: 'the task id is the workflow id, give it when you start the task',
  stream: 'leave it out, Holdfast follows the session by itself',
  stream_options: 'leave it out, Holdfast follows the session by itself',
  message: 'did you mean "input"?',
  messages: 'did you mean "input"?',
  prompt: 'did you mean "input"?',
};

/**
 * The task input in `value`, normalised: absent fields are left out, a new session gets its default environment,
 * and everything inside the API's own objects stays as it was given. Parsing the result again changes nothing.
 *
 * @param value what the workflow was started with
 * @param argumentCount how many arguments the workflow was started with, where that is known
 * @throws InvalidInputError naming each wrong field and the remedy
 */
export function parseTaskInput(value: unknown, argumentCount = 1): AgentTaskInput {
  if (argumentCount < 1 || value === undefined)
    throw whole(`missing, give one JSON object such as ${EXAMPLE}`);
  if (argumentCount > 1) {
    throw whole(
      `expected one argument, got ${argumentCount}: put everything into one JSON object such as ${EXAMPLE}`,
    );
  }
  const problem = checkJson(value, EXAMPLE);
  if (problem !== null) throw whole(problem);
  if (!isRecord(value)) {
    const twice = encodedTwice(value);
    throw whole(
      twice === null
        ? `expected a JSON object such as ${EXAMPLE}, got ${kindOf(value)}`
        : `expected a JSON object such as ${EXAMPLE}, got a string that holds a JSON ${twice} (encoded twice): remove one level of quoting`,
    );
  }
  // A copy without prototype: a field named __proto__ is data like any other.
  const given: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const issues: InputIssue[] = [];
  for (const [key, content] of Object.entries(value)) {
    if (!(FIELDS as string[]).includes(key)) issues.push(unknownField(key));
    else if (content !== undefined && !(content === null && NULL_IS_ABSENT.includes(key)))
      given[key] = content;
  }
  for (const issue of schema.safeParse(given).error?.issues ?? []) {
    issues.push({ path: pathOf(issue.path), problem: issue.message });
  }
  // Fields that are wrong by themselves say nothing yet about how they go together.
  if (issues.length === 0) issues.push(...together(given));
  if (issues.length > 0) throw new InvalidInputError(issues);
  if (given['session_id'] === undefined) given['environment'] ??= { type: 'none' };
  return { ...given };
}

function whole(problem: string): InvalidInputError {
  return new InvalidInputError([{ path: 'input', problem }]);
}

function unknownField(key: string): InputIssue {
  const elsewhere = Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : undefined;
  return { path: pathOf([key]), problem: `unknown field, ${elsewhere ?? meant(key, FIELDS)}` };
}

/** Which agent, which session, and what has no effect beside it. Every field is valid by itself here. */
function together(given: AgentTaskInput): InputIssue[] {
  const issues: InputIssue[] = [];
  const add = (path: string, problem: string) => issues.push({ path, problem });
  if (given.session_id !== undefined) {
    const instead = 'leave it out, or leave session_id out to create a session';
    if (isRecord(given.agent)) {
      add(
        'input.agent',
        'an existing session keeps its configuration: give the name of a registered agent, whose tools answer, or leave it out',
      );
    }
    if (given.agent_id !== undefined) add('input.agent_id', `no effect on an existing session: ${instead}`);
    for (const field of NEW_SESSION_ONLY) {
      if (given[field] !== undefined) add(`input.${field}`, `no effect on an existing session: ${instead}`);
    }
    return issues;
  }
  if (given.agent === undefined && given.agent_id === undefined) {
    add(
      'input',
      `needs one of agent (the name of a registered agent, or a configuration), agent_id (a saved agent) or session_id (an existing session), for example ${EXAMPLE}`,
    );
  }
  if (typeof given.agent === 'string' && given.agent_id !== undefined) {
    add(
      'input.agent_id',
      'cannot stand beside the name of a registered agent: give only one of agent and agent_id',
    );
  }
  if (isRecord(given.agent) && given.agent_id === undefined && given.agent['model'] === undefined) {
    add('input.agent.model', 'missing, an agent configuration without agent_id needs a model');
  }
  if ((given.environment?.['type'] ?? 'none') === 'none' && given.input === undefined) {
    add(
      'input.input',
      'missing, a new session without an environment needs a first message: text or an array of user messages',
    );
  }
  return issues;
}

function pathOf(path: readonly PropertyKey[]): string {
  let result = 'input';
  for (const step of path) result += typeof step === 'number' ? `[${step}]` : `.${oneLine(String(step), 40)}`;
  return result;
}
