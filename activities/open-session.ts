/** `holdfast.openSession`: from a task's input to the one session it owns (I1). */
import type { Context } from '@temporalio/activity';

import { faultPoint } from '../src/faults/fault-point.ts';
import { sessionKey } from '../src/openai/keys.ts';
import { createOrAdopt, withTaskMetadata } from '../src/openai/session-opener.ts';
import { ApiError } from '../src/openai/api-error.ts';
import { ACTIVITY, type OpenedSession, type OpenSessionInput } from '../src/protocol/activities.ts';
import { isRecord } from '../src/protocol/json.ts';
import { isRoot, isTerminal } from '../src/protocol/outcome.ts';
import { expected } from '../src/protocol/problems.ts';
import { nearest } from '../src/protocol/suggest.ts';
import type { AgentTaskInput } from '../src/protocol/task.ts';
import { oneLine } from '../src/protocol/text.ts';
import { InvalidInputError } from '../src/schema/invalid-input.ts';
import { parseTaskInput } from '../src/schema/task-input.ts';
import type { Adapted } from './adapt.ts';
import type { ActivityDeps } from './deps.ts';
import { FormerRuns } from './former-runs.ts';

type Opened = Omit<OpenedSession, 'settings' | 'search_attributes'>;

/** Checks the input, then creates, adopts or attaches. Throws InvalidInputError or ApiError. */
export async function openSession(
  deps: ActivityDeps,
  { context, signal }: Adapted,
  input: OpenSessionInput,
): Promise<OpenedSession> {
  const task = parseTaskInput(input.task, input.argument_count);
  const { client, info } = context;
  const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
  if (input.reset) {
    const former = await FormerRuns.read(client, workflowId, runId);
    const opened = (await former.firstResult(ACTIVITY.openSession)) as OpenedSession | undefined;
    if (opened) {
      const search_attributes = await deps.hasSearchAttributes();
      return { ...opened, search_attributes, settings: deps.settings };
    }
  }
  const [opened, search_attributes] = await Promise.all([
    task.session_id === undefined
      ? create(deps, context, input, task, signal)
      : attach(deps, task, task.session_id, signal),
    deps.hasSearchAttributes(),
  ]);
  faultPoint('session.before_record');
  return { ...opened, search_attributes, settings: deps.settings };
}

async function create(
  deps: ActivityDeps,
  { info, log }: Context,
  input: OpenSessionInput,
  task: AgentTaskInput,
  signal: AbortSignal,
): Promise<Opened> {
  const agent = agentConfig(deps, task);
  const environment = task.environment ?? { type: 'none' };
  // Without an environment the input must go with the creation; elsewhere an orphan is to be inert (I1, I6).
  const withInput = environment['type'] === 'none';
  if (task.input === undefined)
    throw InvalidInputError.at('input.input', 'missing, give the first message of the task');
  const lookFirst = input.look_first || info.attempt > 1;
  const { workflowId = '' } = info.workflowExecution ?? {};
  const key = taskSessionKey(info, input.first_run_id);
  const { agent: _, session_id: __, input: messages, metadata, ...further } = task;
  const body = {
    ...further,
    environment,
    ...(agent.config ? { agent: agent.config } : {}),
    metadata: withTaskMetadata(metadata, key, workflowId),
    ...(withInput ? { input: messages } : {}),
  };
  try {
    const { session, how } = await createOrAdopt(deps.api, { key, body, lookFirst, signal, log });
    return {
      session_id: session.id,
      how,
      sweep: lookFirst,
      agent: agent.name,
      label: shortLabel(
        agent.name ?? task.agent_id ?? session.agent?.name ?? session.agent?.model ?? 'inline agent',
      ),
      model: session.agent?.model ?? null,
      turn_id: null,
      after_turn_id: null,
      post_input: !withInput,
      json_output: isJsonSchema(agent.config),
    };
  } catch (error) {
    // The service knows more fields than we check: its refusal of the body is a refusal of the input.
    if (error instanceof ApiError && (error.kind === 'invalid' || error.kind === 'not_found')) {
      const missing = error.kind === 'not_found';
      const field = error.param ?? (missing && task.agent_id !== undefined ? 'agent_id' : null);
      const said = error.detail || error.message;
      throw InvalidInputError.at(
        field === null ? 'input' : `input.${field}`,
        missing
          ? `found nowhere; check the ids and the model, the project of the key, and OPENAI_BASE_URL (${said})`
          : `the Agents API refused it: ${said}`,
      );
    }
    throw error;
  }
}

/** The key of the session of the task that an activity belongs to (I1). */
export function taskSessionKey(
  { namespace, workflowExecution }: Context['info'],
  firstRunId: string,
): string {
  return sessionKey(namespace ?? '', workflowExecution?.workflowId ?? '', firstRunId);
}

/** The `agent` object of the request: a registered agent's, or the one given. */
function agentConfig(
  deps: ActivityDeps,
  task: AgentTaskInput,
): { name: string | null; config: Record<string, unknown> | null } {
  const { registry } = deps;
  if (typeof task.agent === 'string') {
    const agent = registry.agent(task.agent);
    if (!agent) throw unknownAgent(deps, task.agent);
    return { name: agent.name, config: agent.config };
  }
  const tools: unknown = task.agent?.['tools'];
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    if (!isRecord(tool) || tool['type'] !== 'function') continue;
    if (registry.tools.some(({ name }) => name === tool['name'])) continue;
    const known = registry.tools.map(({ name }) => name).toSorted();
    throw InvalidInputError.at(
      `input.agent.tools[${index}].name`,
      notRegistered('tool', tool['name'], known),
    );
  }
  return { name: null, config: task.agent ?? null };
}

async function attach(
  deps: ActivityDeps,
  task: AgentTaskInput,
  sessionId: string,
  signal: AbortSignal,
): Promise<Opened> {
  const name = typeof task.agent === 'string' ? task.agent : null;
  if (name !== null && !deps.registry.agent(name)) throw unknownAgent(deps, name);
  try {
    const [session, turns] = await Promise.all([
      deps.api.getSession(sessionId, signal),
      deps.api.newestTurns(sessionId, 20, signal),
    ]);
    if (session.status === 'failed') {
      throw InvalidInputError.at(
        'input.session_id',
        `session ${sessionId} has failed and takes no input; start a new one`,
      );
    }
    const [newest, before] = turns.filter(isRoot);
    const active = newest && !isTerminal(newest) ? newest : null;
    if (task.input === undefined && !active) {
      throw InvalidInputError.at(
        'input.input',
        `missing, session ${sessionId} is idle: say what it is to do`,
      );
    }
    return {
      session_id: session.id,
      how: 'attached',
      sweep: false,
      agent: name,
      label: shortLabel(name ?? session.agent?.name ?? session.agent?.model ?? 'attached agent'),
      model: session.agent?.model ?? null,
      turn_id: active?.id ?? null,
      after_turn_id: (active ? before?.id : newest?.id) ?? null,
      post_input: task.input !== undefined,
      json_output: isJsonSchema(session.agent),
    };
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'not_found') {
      throw InvalidInputError.at(
        'input.session_id',
        `no session ${shown(sessionId)} at the Agents API: check the id, the key and its project`,
      );
    }
    throw error;
  }
}

function unknownAgent(deps: ActivityDeps, name: string): InvalidInputError {
  return InvalidInputError.at('input.agent', notRegistered('agent', name, deps.registry.agentNames));
}

function notRegistered(what: string, name: unknown, known: readonly string[]): string {
  if (typeof name !== 'string') return expected(`the name of a registered ${what}`, name);
  const near = nearest(name, known);
  const remedy = near === null ? '' : `, did you mean "${near}"?`;
  return `no ${what} ${shown(name)} is registered with this worker${remedy}; registered: ${known.join(', ') || 'none'}`;
}

function shown(name: string): string {
  return JSON.stringify(oneLine(name, 60));
}

function isJsonSchema(agent: unknown): boolean {
  const text = isRecord(agent) ? agent['text'] : undefined;
  const format = isRecord(text) ? text['format'] : undefined;
  return isRecord(format) && format['type'] === 'json_schema';
}

/** A search attribute may take 2 KiB; a longer one would end the task. */
function shortLabel(name: string): string {
  return oneLine(name, 100);
}
