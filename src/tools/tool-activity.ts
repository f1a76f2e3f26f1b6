/**
 * A tool as a Temporal activity.
 *
 * The fence (I2): SIGKILL before and after an effect look the same to Temporal, and an ordinary heartbeat proves
 * nothing. So an effect `once` tool is executed only after the server has *acknowledged* a heartbeat that says
 * `started`, and every later heartbeat keeps it. A loss without `started` means that nothing ran; with it, that
 * nobody knows.
 *
 * How an execution ends, seen from the workflow:
 *   a result              it returned, or its arguments did not fit
 *   ToolFailed            it threw; the message is the sentence for the model
 *   ToolNotStarted        nothing was executed
 *   ToolOutcomeUnknown    it was started, and how it ends is not known; if it ends later, a signal says so
 *   ToolShutdown          the worker stopped a repeatable tool, to be run elsewhere
 */
import { Context } from '@temporalio/activity';
import { type ApplicationFailure, CancelledFailure } from '@temporalio/common';

import { faultPoint } from '../faults/fault-point.ts';
import { hasStarted } from '../protocol/activities.ts';
import type { CheckResult, ToolCallInput, ToolExecution, ToolResult } from '../protocol/calls.ts';
import { argumentsObject, checkArguments } from './arguments.ts';
import type { Tool, ToolCall } from './define-tool.ts';
import { DEFAULT_HEARTBEAT_TIMEOUT_MS, Heartbeats } from './heartbeats.ts';
import { argumentsDigest } from './plan.ts';
import { renderOutput, RenderError } from './render.ts';
import { cancellation, timeLimit, type StopReason } from './stops.ts';
import { isToolError } from './tool-error.ts';
import { tellOutcome } from './tell-outcome.ts';
import {
  boundedSentence,
  errorClass,
  errorSentence,
  isFinalError,
  laterOf,
  toolFailed,
  toolNotStarted,
  toolShutdown,
  toolUnknown,
} from './tool-failures.ts';

/** How long a tool may take to stop by itself after its time limit or at shutdown, before its outcome is unknown. */
const STOP_MS = 1000;

export interface ToolActivityDeps {
  idempotencyKey(call: ToolCallInput): string;
  /** Reads the arguments of a pending call again, when they were too large for history. */
  readArguments(call: ToolCallInput, signal: AbortSignal): Promise<unknown>;
  /** Limit of a rendered result. */
  maxOutputBytes: number;
  /** Whether the errors of tools are written to this worker's log, which may show what they hold. */
  logToolErrors: boolean;
}

type Args = Record<string, unknown> | null;

/** The activity function of a tool. */
export function toolActivity(
  tool: Tool,
  deps: ToolActivityDeps,
): (args: Args, call: ToolCallInput) => Promise<ToolExecution | CheckResult> {
  return async (args, call) => {
    const run = new ToolRun(tool, deps, call);
    return call.mode === 'check' ? run.check(args) : run.execute(args);
  };
}

/** How the tool's own code ended. */
type Settled = { ok: true; value: unknown } | { ok: false; error: unknown };

class ToolRun {
  readonly #tool: Tool;
  readonly #deps: ToolActivityDeps;
  readonly #call: ToolCallInput;
  // Captured here: abort listeners run outside of the activity's context.
  readonly #context = Context.current();
  readonly #abort = new AbortController();
  readonly #heartbeats = new Heartbeats(this.#context);

  constructor(tool: Tool, deps: ToolActivityDeps, call: ToolCallInput) {
    this.#tool = tool;
    this.#deps = deps;
    this.#call = call;
  }

  /** A tool that was declared `once` when the call came, or is now, is treated as such. */
  get #once(): boolean {
    return this.#call.effect === 'once' || this.#tool.effect === 'once';
  }

  async execute(args: Args): Promise<ToolExecution> {
    const { attempt } = this.#context.info;
    if (this.#once && hasStarted(this.#context.info.heartbeatDetails)) {
      throw toolUnknown('an earlier attempt had started');
    }
    const input = await this.#arguments(args);
    if (!input.ok) {
      return { result: { success: false, error: `Tool "${this.#tool.name}": ${input.problem}` }, attempt };
    }
    this.#refuseIfStopped();
    faultPoint('tool.before_fence');
    if (this.#once) await this.#fence();
    faultPoint('tool.after_fence');
    this.#heartbeats.start();
    try {
      const result = await this.#run(input.value);
      faultPoint('tool.after_effect');
      faultPoint('tool.before_return');
      return { result, attempt };
    } finally {
      this.#heartbeats.stop();
    }
  }

  async check(args: Args): Promise<CheckResult> {
    const input = await this.#arguments(args);
    if (!input.ok || !this.#tool.check) return { status: 'unknown' };
    this.#heartbeats.start();
    const stopped = cancellation(this.#context, false);
    try {
      const stop = stopped.promise.then((): null => {
        this.#abort.abort(new DOMException('stopped', 'AbortError'));
        return null;
      });
      const found = await Promise.race([this.#tool.check(input.value, this.#toolCall()), stop]);
      if (found?.status === 'done') return { status: 'done', result: this.#render(found.output) };
      return { status: found?.status === 'not_done' ? 'not_done' : 'unknown' };
    } catch (error) {
      this.#logError('the check of a tool failed', error);
      return { status: 'unknown' };
    } finally {
      stopped.clear();
      this.#heartbeats.stop();
    }
  }

  async #arguments(args: Args): Promise<{ ok: true; value: unknown } | { ok: false; problem: string }> {
    let raw: unknown = args;
    if (this.#call.arguments_omitted) {
      try {
        raw = await this.#deps.readArguments(this.#call, this.#context.cancellationSignal);
      } catch (error) {
        throw toolNotStarted(`the arguments could not be read again (${errorClass(error)})`, laterOf(error));
      }
    }
    const object = argumentsObject(raw);
    if (!object.ok) return object;
    if (argumentsDigest(object.value) !== this.#call.arguments_digest) {
      throw toolNotStarted('the arguments are not the ones that the call was planned with');
    }
    return checkArguments(this.#tool, object.value);
  }

  /** A stop that came before the start: nothing is executed. */
  #refuseIfStopped(): void {
    const { cancellationSignal, cancellationDetails } = this.#context;
    if (!cancellationSignal.aborted) return;
    const shutdown = cancellationDetails?.workerShutdown === true;
    if (this.#once)
      throw toolNotStarted(`${shutdown ? 'the worker shut down' : 'it was cancelled'} before it started`);
    throw shutdown ? toolShutdown() : new CancelledFailure('cancelled');
  }

  /** Passes the fence, or throws ToolNotStarted: after any doubt nothing is executed. */
  async #fence(): Promise<void> {
    const { info, client } = this.#context;
    const staleMs = (info.heartbeatTimeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS) / 2;
    try {
      for (let asked = -Infinity; Date.now() - asked > staleMs;) {
        // An answer that was long on its way, or waited in a frozen process, is old: the attempt may be given up.
        asked = Date.now();
        await client.activity.heartbeat(info.taskToken, { started: true });
      }
    } catch (error) {
      // Given up by the server, cancelled, paused or reset in the meantime, or no answer: none of it ran anything.
      throw toolNotStarted(`the fence was not passed (${errorClass(error)})`);
    }
    this.#heartbeats.markStarted();
  }

  /** Runs the tool under its limit and the activity's cancellation. */
  async #run(input: unknown): Promise<ToolResult> {
    const timeoutMs = this.#call.timeout_ms;
    const work = this.#settle(input);
    const limit = timeLimit(timeoutMs);
    const stopped = cancellation(this.#context, this.#once);
    try {
      const first = await Promise.race([work, limit.promise, stopped.promise]);
      if (typeof first === 'object') return this.#result(first, work);
      this.#abort.abort(new DOMException(first === 'limit' ? 'time limit' : 'stopped', 'AbortError'));
      if (first === 'limit' && !this.#once) {
        this.#dropLate(work);
        throw toolFailed(`Tool "${this.#tool.name}" timed out after ${seconds(timeoutMs)}.`, false);
      }
      // It may still tell how it ended; a cancelled one is given its whole limit, the workflow does not wait for it.
      const bound = first === 'cancel' ? limit.promise : timeLimit(STOP_MS).promise;
      const second = await Promise.race([work, bound]);
      if (typeof second === 'object') return this.#result(second, work, first);
      return this.#abandon(work, first);
    } finally {
      limit.clear();
      stopped.clear();
    }
  }

  async #settle(input: unknown): Promise<Settled> {
    try {
      return { ok: true, value: await this.#tool.execute(input, this.#toolCall()) };
    } catch (error) {
      return { ok: false, error };
    }
  }

  /** The result of finished work. `stopped` says why it was asked to stop before it ended. */
  #result(settled: Settled, work: Promise<Settled>, stopped?: StopReason): ToolResult {
    if (settled.ok) return this.#render(settled.value);
    const { error } = settled;
    // Ended by our own abort: the tool did not say whether its effect took place.
    if (stopped && !isToolError(error)) return this.#abandon(work, stopped);
    throw this.#failure(error);
  }

  /** Leaves work whose end is not known (yet). Always throws. */
  #abandon(work: Promise<Settled>, why: StopReason): never {
    if (this.#once) {
      void work.then((settled) => this.#tellLate(settled));
      throw toolUnknown(
        why === 'limit'
          ? `it did not end within ${seconds(this.#call.timeout_ms)}`
          : why === 'cancel'
            ? 'it was cancelled after it had started'
            : 'the worker shut down after it had started',
      );
    }
    this.#dropLate(work);
    if (why === 'shutdown') throw toolShutdown();
    throw new CancelledFailure('cancelled');
  }

  #render(value: unknown): ToolResult {
    try {
      return { success: true, output: renderOutput(value, this.#deps.maxOutputBytes) };
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      return {
        success: false,
        error: boundedSentence(`Tool "${this.#tool.name}" gave no usable result: ${error.message}.`),
      };
    }
  }

  #failure(error: unknown): ApplicationFailure {
    this.#logError('a tool failed', error);
    // The effect once tool has one attempt; else failed executions count, not attempts lost with their workers.
    const again =
      !this.#once && this.#heartbeats.countFailure() < this.#call.attempts && !isFinalError(error);
    return toolFailed(errorSentence(this.#tool.name, error), again);
  }

  async #tellLate(settled: Settled): Promise<void> {
    // An error after our abort says that it stopped, not whether its effect took place.
    if (!settled.ok && !isToolError(settled.error))
      return this.#logError('a tool broke off after it was given up', settled.error);
    const result = settled.ok
      ? this.#render(settled.value)
      : { success: false, error: errorSentence(this.#tool.name, settled.error) };
    await tellOutcome(this.#context, this.#call, result);
  }

  #dropLate(work: Promise<Settled>): void {
    void work.then(() => this.#context.log.info('a tool ended after it was given up; dropped', this.#ids()));
  }

  #toolCall(): ToolCall {
    const { info, log } = this.#context;
    const { session_id, turn_id, call_id } = this.#call;
    const ids = this.#ids();
    const write =
      (level: 'debug' | 'info' | 'warn' | 'error') =>
      (message: string, fields?: Record<string, unknown>): void =>
        log[level](message, { ...fields, ...ids });
    return {
      taskId: info.workflowExecution?.workflowId ?? '',
      sessionId: session_id,
      turnId: turn_id,
      callId: call_id,
      idempotencyKey: this.#deps.idempotencyKey(this.#call),
      attempt: info.attempt + this.#call.run_no - 1,
      signal: this.#abort.signal,
      heartbeat: (progress) => this.#heartbeats.progress(progress),
      log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    };
  }

  #ids(): Record<string, string> {
    const { session_id, turn_id, call_id, name } = this.#call;
    return { session_id, turn_id, call_id, tool: name };
  }

  #logError(message: string, error: unknown): void {
    const detail = this.#deps.logToolErrors && error instanceof Error ? { stack: error.stack } : {};
    this.#context.log.warn(message, { ...this.#ids(), error: errorClass(error), ...detail });
  }
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Number((ms / 1000).toFixed(1))} s`;
}
