/**
 * Heartbeats of a running activity, at a fixed rate and by themselves. Once `started` is known to the server,
 * every later heartbeat keeps it: details replace each other (I2).
 */
import type { Context } from '@temporalio/activity';

const DEFAULT_TIMEOUT_MS = 10_000;
const MIN_INTERVAL_MS = 250;
const MAX_PROGRESS_BYTES = 1024;

export class Heartbeats {
  readonly #context: Context;
  readonly #timeoutMs: number;
  #started = false;
  #progress: unknown;
  #view: Record<string, unknown> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #last = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#timeoutMs = context.info.heartbeatTimeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  /** The server has acknowledged that the tool started. */
  markStarted(): void {
    this.#started = true;
  }

  start(): void {
    const interval = Math.max(MIN_INTERVAL_MS, this.#timeoutMs / 4);
    this.#last = Date.now();
    this.#timer = setInterval(() => this.#beat(), interval);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
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
      ...(this.#progress === undefined ? {} : { progress: this.#progress }),
      ...this.#view,
    };
  }

  #beat(): void {
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
    this.#context.heartbeat(this.details());
  }
}
