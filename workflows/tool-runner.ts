/** Runs the planned calls of a task side by side, and decides what a lost run means (I2). */
import { CancellationScope, sleep } from '@temporalio/workflow';

import type { OpenCall } from './call-book.ts';
import type { TaskContext } from './context.ts';
import { limitWait, loseOutcome } from './unknown-outcome.ts';
import { checkTool, runTool, type RunRequest } from './tool-run.ts';

/** Runs that never started are tried again this often, later and later. */
const MAX_STARTS = 5;
const MAX_PAUSE_MS = 60_000;

export class ToolRunner {
  readonly #context: TaskContext;
  /** Cancels the tools, and nothing else. */
  readonly #scope = new CancellationScope();
  #running = 0;

  constructor(context: TaskContext) {
    this.#context = context;
    for (const call of context.state.calls.inState('unknown')) limitWait(context, call);
  }

  get running(): number {
    return this.#running;
  }

  /** Starts every planned call. */
  start(): void {
    for (const call of this.#context.state.calls.inState('planned')) {
      const { plan } = call.planned;
      if (plan.kind !== 'run') continue;
      call.state = 'running';
      call.run_no++;
      call.started_at ??= Date.now();
      this.#running++;
      const { session_id, settings } = this.#context.opened;
      const request: RunRequest = {
        sessionId: session_id,
        planned: call.planned,
        plan,
        runNo: call.run_no,
        againRun: call.again_run,
        heartbeatTimeoutMs: settings.heartbeat_timeout_ms,
      };
      this.#context.background(this.#run(call, request).finally(() => this.#running--));
    }
  }

  /** Asks running tools to stop. */
  stop(): void {
    this.#scope.cancel();
  }

  /** Stops waiting for tools that do not stop. */
  giveUp(): void {
    this.#running = 0;
  }

  /** Nothing new is to be begun any more. */
  get #closing(): boolean {
    return this.#context.state.cancelRequested || this.#context.state.outcome !== null;
  }

  async #run(call: OpenCall, first: RunRequest): Promise<void> {
    const { calls } = this.#context.state;
    const { name } = call.planned;
    for (let starts = 1, pauses = 0; ; pauses++) {
      const request = { ...first, runNo: call.run_no };
      const end = await this.#scope.run(() => runTool(request));
      // An outcome that came by signal meanwhile has won already.
      if (call.result !== null) return;
      if (end.kind === 'result') {
        call.attempts += end.attempts;
        calls.save(call, end.result, Date.now());
        return;
      }
      if (end.kind === 'unknown') return this.#unknown(call, end.why, request);
      if (end.kind === 'cancelled' || this.#closing) {
        call.state = 'planned';
        return;
      }
      if (!end.later && starts++ === MAX_STARTS) {
        const error = end.missing
          ? `Unknown tool "${name}".`
          : `Tool "${name}" could not be started: ${end.why}.`;
        calls.save(call, { success: false, error }, Date.now());
        return;
      }
      const pause = Math.max(end.pauseMs ?? 0, Math.min(1000 * 2 ** pauses, MAX_PAUSE_MS));
      await sleep(pause, { summary: `before ${name} is started again` });
      call.run_no++;
    }
  }

  /** Nobody knows whether the effect took place: the tool's own check may, else a person must say. */
  async #unknown(call: OpenCall, why: string, request: RunRequest): Promise<void> {
    if (request.plan.has_check && !this.#closing) {
      const found = await checkTool(request);
      if (call.result !== null) return;
      if (found.status === 'done') {
        this.#context.state.calls.save(call, found.result, Date.now());
        return;
      }
      if (found.status === 'not_done' && call.run_no < MAX_STARTS && !this.#closing)
        return this.#context.state.calls.runAgain(call);
    }
    loseOutcome(this.#context, call, why);
  }
}
