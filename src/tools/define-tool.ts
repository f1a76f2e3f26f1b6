/** A function tool: what the model sees of it, how it may be run, and what it does. */
import { isRecord } from '../protocol/json.ts';
import { msToNumber, type Duration } from '@temporalio/common/lib/time.js';
import { z } from 'zod';

import type { Effect } from '../protocol/calls.ts';
import { DefinitionError } from './tool-error.ts';

/** API rule for function names; a dot is Holdfast's own, so no tool can hide an internal activity. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DEFAULT_TIMEOUT = '1 minute';
const DEFAULT_ATTEMPTS = 3;
const DEFAULT_BACKOFF = '1 second';

/** Who is called, and the means of a running tool. */
export interface ToolCall {
  /** The workflow id. */
  taskId: string;
  sessionId: string;
  turnId: string;
  callId: string;
  /** Same for every execution of this call, and for no other: pass it on to what you call (I2). */
  idempotencyKey: string;
  /** 1 for the first execution. */
  attempt: number;
  /** Aborts on cancellation, on the time limit and at the end of a worker's shutdown grace. */
  signal: AbortSignal;
  /** Shows progress in the Web UI; small JSON. Holdfast keeps the heartbeat going by itself. */
  heartbeat(progress: unknown): void;
  /** Carries the ids of task, session, turn and call. Arguments and results are yours to log or not. */
  log: ToolLog;
}

export interface ToolLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** What `check` found out: it took effect (with the result), it did not, or nobody can say. */
export type ToolCheck<Output> =
  | { status: 'done'; output: Output }
  | { status: 'not_done' }
  | { status: 'unknown' };

export interface ToolDefinition<Parameters extends z.ZodObject, Output> {
  /** Letters, digits, `_` and `-`, at most 64. Also the activity type in Temporal. */
  name: string;
  /** For the model: what it does and when to use it. */
  description: string;
  parameters: Parameters;
  /**
   * `once`: a second execution of the same call would do harm; after a crash in the middle a person (or `check`)
   * decides. `repeatable`: it may run again, with the same idempotency key. No default: only you know.
   */
  effect: Effect;
  /** Approvals do not exist yet; anything but 'never' is refused. */
  approval?: 'never';
  /** Limit of one execution, for example `'30s'` or milliseconds. Default 1 minute. */
  timeout?: Duration;
  /** For repeatable tools: executions that may fail before the model is told. Default 3, one second apart. */
  retry?: { attempts?: number; backoff?: Duration };
  /** For `once`: asked after a crash in the middle, before a person is. Must have no effect of its own. */
  check?: (args: z.infer<Parameters>, call: ToolCall) => Promise<ToolCheck<Output>> | ToolCheck<Output>;
  /** Returns text, plain JSON data, message parts, or nothing. See `render.ts` for what becomes of it. */
  execute: (args: z.infer<Parameters>, call: ToolCall) => Promise<Output> | Output;
}

/** A tool as the registry holds it. Made by `defineTool` only. */
export interface Tool {
  readonly kind: 'holdfast.tool';
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodObject;
  /** JSON schema of the arguments, as the API takes it. */
  readonly jsonSchema: Record<string, unknown>;
  readonly effect: Effect;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly check:
    | ((args: unknown, call: ToolCall) => Promise<ToolCheck<unknown>> | ToolCheck<unknown>)
    | null;
  readonly execute: (args: unknown, call: ToolCall) => unknown;
}

/** Defines a function tool. Throws DefinitionError naming the field that is wrong. */
export function defineTool<Parameters extends z.ZodObject, Output>(
  definition: ToolDefinition<Parameters, Output>,
): Tool {
  const { name, description, parameters, effect, approval, timeout, retry, check, execute } = definition;
  const wrong = (field: string, problem: string): never => {
    throw new DefinitionError(`tool ${JSON.stringify(name)}: ${field}: ${problem}`);
  };
  if (typeof name !== 'string' || !NAME.test(name))
    wrong('name', 'letters, digits, "_" and "-" only, 1 to 64 of them');
  if (name === 'default')
    wrong('name', 'Temporal runs a tool of this name for every unknown activity; choose another');
  if (typeof description !== 'string' || description.trim() === '')
    wrong('description', 'the model needs one');
  if (!(parameters instanceof z.ZodObject)) wrong('parameters', 'expected z.object({…})');
  if (effect !== 'once' && effect !== 'repeatable')
    wrong('effect', 'say "once" or "repeatable"; there is no default');
  if (approval !== undefined && approval !== 'never')
    wrong('approval', 'approvals are not supported yet; leave it out');
  if (typeof execute !== 'function') wrong('execute', 'expected a function');
  if (check !== undefined && typeof check !== 'function') wrong('check', 'expected a function');
  if (check !== undefined && effect !== 'once')
    wrong('check', 'only for effect "once": a repeatable tool just runs again');
  if (retry !== undefined && effect === 'once') wrong('retry', 'an effect "once" tool is not retried');
  const attempts = effect === 'once' ? 1 : (retry?.attempts ?? DEFAULT_ATTEMPTS);
  if (!Number.isInteger(attempts) || attempts < 1) wrong('retry.attempts', 'expected a whole number from 1');
  return Object.freeze({
    kind: 'holdfast.tool',
    name,
    description,
    parameters,
    jsonSchema: schemaOf(parameters, wrong),
    effect,
    timeoutMs: milliseconds(timeout ?? DEFAULT_TIMEOUT, 'timeout', wrong),
    attempts,
    backoffMs: milliseconds(retry?.backoff ?? DEFAULT_BACKOFF, 'retry.backoff', wrong),
    check: (check as Tool['check'] | undefined) ?? null,
    execute: execute as Tool['execute'],
  });
}

/** True for what `defineTool` made, also when another copy of this module did. */
export function isTool(value: unknown): value is Tool {
  return isRecord(value) && value['kind'] === 'holdfast.tool';
}

function schemaOf(
  parameters: z.ZodObject,
  wrong: (field: string, problem: string) => never,
): Record<string, unknown> {
  try {
    const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
    return schema;
  } catch (error) {
    return wrong(
      'parameters',
      `cannot be written as JSON schema: ${error instanceof Error ? error.message : 'unknown'}`,
    );
  }
}

function milliseconds(
  duration: Duration,
  field: string,
  wrong: (field: string, problem: string) => never,
): number {
  let ms: number;
  try {
    ms = msToNumber(duration);
  } catch {
    return wrong(field, `not a duration: ${JSON.stringify(duration)}; write "30s" or milliseconds`);
  }
  return Number.isFinite(ms) && ms > 0 ? ms : wrong(field, 'expected a duration above zero');
}
