/** A tool activity without a server: what it was given, what it told whom, and how it ended. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { CompleteAsyncError, type Info } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import {
  ActivityCancellationDetails,
  ApplicationFailure,
  CancelledFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  type Logger,
  type LogLevel,
} from '@temporalio/common';
import { z } from 'zod';
import { TOOL_FAILURE } from '../../src/protocol/activities.ts';
import type { CheckResult, ToolCallInput, ToolExecution } from '../../src/protocol/calls.ts';
import { acknowledgedEnd } from '../../src/tools/acknowledged-end.ts';
import { defineTool, type Tool, type ToolCall, type ToolDefinition } from '../../src/tools/define-tool.ts';
import { argumentsDigest } from '../../src/tools/plan.ts';
import { toolActivity, type ToolActivityDeps } from '../../src/tools/tool-activity.ts';

type Args = Record<string, unknown>;
type Definition = Partial<ToolDefinition<z.ZodObject, unknown>>;

/** How an attempt ended, as Temporal would see it. */
export type End =
  | { kind: 'returned'; value: ToolExecution | CheckResult }
  | { kind: 'failed'; type: string; message: string; retryable: boolean }
  | { kind: 'cancelled' }
  /** The attempt is over for the server; the workflow was told by signal, if it could be. */
  | { kind: 'given up' }
  | { kind: 'broken'; error: unknown };

export interface BenchOptions {
  tool?: Definition;
  call?: Partial<ToolCallInput>;
  info?: Partial<Info>;
  args?: Args | null;
  deps?: Partial<ToolActivityDeps>;
  /** Answers heartbeats and reports that are waited for, in order; the last one answers for all that follow. */
  server?: (() => Promise<void> | void)[];
  /** What the workflow does with a signal. */
  signal?: () => Promise<void> | void;
}

export class Bench {
  readonly tool: Tool;
  readonly logs: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  /** Details of ordinary heartbeats, and of the ones that the server acknowledged. */
  readonly heartbeats: unknown[] = [];
  readonly acknowledged: unknown[] = [];
  readonly signals: { workflowId: string; name: string; payload: unknown }[] = [];
  /** One entry for each execution. */
  readonly executed: { input: unknown; call: ToolCall }[] = [];
  /** What a failure carries for the workflow beside its type. */
  failureDetails: unknown[] = [];
  readonly environment: MockActivityEnvironment;
  readonly #options: BenchOptions;
  /** The end that a request of its own has reported. */
  #reported: End | null = null;

  constructor(options: BenchOptions = {}) {
    this.#options = options;
    const { execute = () => 'done', ...definition } = options.tool ?? {};
    const whole: ToolDefinition<z.ZodObject, unknown> = {
      name: 'send',
      description: 'sends',
      effect: 'once',
      parameters: z.object({ to: z.string() }),
      ...definition,
      execute: (input, call) => {
        this.executed.push({ input, call });
        return execute(input, call);
      },
    };
    this.tool = defineTool(whole);
    const info = { workflowExecution: { workflowId: 'task-1', runId: 'run-1' }, ...options.info };
    this.environment = new MockActivityEnvironment(info, { client: this.#client(), logger: this.#logger() });
    this.environment.on('heartbeat', (details) => this.heartbeats.push(details));
  }

  async run(mode: 'execute' | 'check' = 'execute'): Promise<End> {
    const { args = { to: 'ann' }, call } = this.#options;
    const input: ToolCallInput = {
      mode,
      session_id: 'sess_1',
      turn_id: 'turn_1',
      call_id: 'call_1',
      name: this.tool.name,
      run_no: 1,
      effect: this.tool.effect,
      timeout_ms: this.tool.timeoutMs,
      attempts: this.tool.attempts,
      arguments_digest: argumentsDigest(args),
      arguments_omitted: false,
      ...call,
    };
    const deps: ToolActivityDeps = {
      idempotencyKey: ({ call_id }) => `key of ${call_id}`,
      readArguments: async () => Promise.reject(new Error('not to be read')),
      maxOutputBytes: 256 * 1024,
      logToolErrors: false,
      ...this.#options.deps,
    };
    const activity = acknowledgedEnd(toolActivity(this.tool, deps), this.tool.effect === 'once');
    try {
      return { kind: 'returned', value: await this.environment.run(activity, args, input) };
    } catch (error) {
      if (error instanceof ApplicationFailure) this.failureDetails = error.details ?? [];
      if (error instanceof CompleteAsyncError) return this.#reported ?? { kind: 'given up' };
      return endOf(error);
    }
  }

  /** Cancels the activity as the server, or the worker, would. */
  cancel(reason: 'cancelRequested' | 'workerShutdown' | 'paused' | 'reset' | 'notFound' | 'timedOut'): void {
    this.environment.cancel('CANCELLED', new ActivityCancellationDetails({ [reason]: true }));
  }

  #client(): Client {
    const answers = [...(this.#options.server ?? [() => undefined])];
    const answer = async (): Promise<void> => (answers.length > 1 ? answers.shift() : answers[0])?.();
    return {
      withAbortSignal: async (_signal: AbortSignal, work: () => Promise<unknown>) => work(),
      activity: {
        heartbeat: async (_token: Uint8Array, details: unknown): Promise<void> => {
          await answer();
          this.acknowledged.push(details);
        },
        complete: async (_token: Uint8Array, value: ToolExecution): Promise<void> => {
          await answer();
          this.#reported = { kind: 'returned', value };
        },
        fail: async (_token: Uint8Array, error: unknown): Promise<void> => {
          await answer();
          this.#reported = endOf(error);
        },
      },
      workflow: {
        getHandle: (workflowId: string) => ({
          signal: async (name: string, payload: unknown): Promise<void> => {
            await this.#options.signal?.();
            this.signals.push({ workflowId, name, payload });
          },
        }),
      },
    } as unknown as Client;
  }

  #logger(): Logger {
    const log = (level: LogLevel, message: string, fields: Record<string, unknown> = {}): void => {
      this.logs.push({ level, message, fields });
    };
    return {
      log,
      trace: (message, fields) => log('TRACE', message, fields),
      debug: (message, fields) => log('DEBUG', message, fields),
      info: (message, fields) => log('INFO', message, fields),
      warn: (message, fields) => log('WARN', message, fields),
      error: (message, fields) => log('ERROR', message, fields),
    };
  }
}

function endOf(error: unknown): End {
  if (error instanceof CancelledFailure) return { kind: 'cancelled' };
  if (!(error instanceof ApplicationFailure)) return { kind: 'broken', error };
  const { type, message, nonRetryable } = error;
  return { kind: 'failed', type: type ?? '', message, retryable: nonRetryable !== true };
}

/** Everything that an end leaves in history. */
export async function historyOf(run: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await run());
  } catch (error) {
    return JSON.stringify(defaultFailureConverter.errorToFailure(error, defaultPayloadConverter));
  }
}

/** A promise and the means to settle it. */
export function gate<T = void>(): { opened: Promise<T>; open: (value: T) => void } {
  const made: { open?: (value: T) => void } = {};
  const opened = new Promise<T>((resolve) => {
    made.open = resolve;
  });
  return { opened, open: (value) => made.open?.(value) };
}

/** Settles when a signal aborts, with an AbortError as most code throws it. */
export async function untilAborted(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  throw signal.reason;
}

/** Throws this. */
export function thrower(error: unknown): () => never {
  return () => {
    throw error;
  };
}
/** The end of a tool that failed. */
export function failure(message: string, retryable: boolean): End {
  return { kind: 'failed', type: TOOL_FAILURE.failed, message, retryable };
}
/** The end of a tool that returned. */
export function result(output: unknown, attempt = 1): End {
  return { kind: 'returned', value: { result: { success: true, output: output as string }, attempt } };
}
