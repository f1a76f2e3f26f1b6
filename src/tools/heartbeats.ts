/**
 * Heartbeats of a running activity, at a fixed rate and by themselves. Once `started` is known to the server,
 * every later heartbeat keeps it: details replace each other (I2).
 */
import type { Context } from '@temporalio/activity';

import { isRecord } from '../protocol/json.ts';

export const DEFAULT_HEARTBEAT_TIMEOUT_MS = 10_000;
const MIN_INTERVAL_MS = 250;
const MAX_PROGRESS_BYTES = 1024;

export class Heartbeats {
  readonly #context: Context;
  readonly #timeoutMs: number;
  #started = false;
  /** Executions of earlier attempts that failed, which each attempt tells the next. */
  #failures: number;
  #progress: unknown;
  #view: Record<string, unknown> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #last = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#timeoutMs = context.info.heartbeatTimeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS;
    this.#failures = failuresOf(context.info.heartbeatDetails);
  }

  /** The server has acknowledged that the tool started. */
  markStarted(): void {
    this.#started = true;
  }

  /**
   * One more execution has failed: returns how many have. The report of this attempt's failure carries the count to
   * the next attempt; if it is lost, as with a killed worker, the tool is allowed a failure more.
   */
  countFailure(): number {
    this.#failures++;
    this.#context.heartbeat(this.details());
    return this.#failures;
  }

  start(): void {
    const interval = Math.max(MIN_INTERVAL_MS, this.#timeoutMs / 4);
    this.#last = Date.now();
    this.#timer = setInterval(() => this.#beat(), interval);
  }

  stop(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    // After a stall, the end may come before the timer does.
    this.#noteStall();
  }

  /** Shows progress with the next heartbeats; what is too large or is no JSON is left out. */
  progress(value: unknown): void {
    try {
      const json = JSON.stringify(value) ?? 'null';
      this.#progress = json.length <= MAX_PROGRESS_BYTES ? JSON.parse(json) : '[too large]';
    } catch {
      this.#progress = '[not JSON]';
    }
    this.#context.heartbeat(this.details());
  }

  /** Shows a view with the next heartbeats; the first one goes at once. `view` must be small JSON. */
  show(view: Record<string, unknown>): void {
    const first = this.#view === null;
    this.#view = view;
    if (first) this.#context.heartbeat(this.details());
  }

  details(): Record<string, unknown> {
    return {
      ...(this.#started ? { started: true } : {}),
      ...(this.#failures > 0 ? { failures: this.#failures } : {}),
      ...(this.#progress === undefined ? {} : { progress: this.#progress }),
      ...this.#view,
    };
  }

  #beat(): void {
    this.#noteStall();
    this.#context.heartbeat(this.details());
  }

  #noteStall(): void {
    const now = Date.now();
    const gap = now - this.#last;
    this.#last = now;
    if (gap > this.#timeoutMs / 2) {
      this.#context.log.warn(
        'the event loop stalled; a stall as long as the heartbeat timeout loses the attempt',
        {
          stalled_ms: gap,
          heartbeat_timeout_ms: this.#timeoutMs,
        },
      );
    }
  }
}

function failuresOf(details: unknown): number {
  const failures = isRecord(details) ? details['failures'] : 0;
  return typeof failures === 'number' ? failures : 0;
}
