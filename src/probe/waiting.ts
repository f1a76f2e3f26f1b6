/** Waiting for a condition at a server that tells nothing by itself. */
import { sleep } from '../openai/sleep.ts';

const FIRST_PAUSE_MS = 40;
const PAUSE_GROWTH = 1.25;
const MAX_PAUSE_MS = 1000;

/** The end of a wait, which can be brought forward while somebody waits. */
export class Deadline {
  #at: number;

  constructor(ms: number) {
    this.#at = performance.now() + ms;
  }

  get leftMs(): number {
    return this.#at - performance.now();
  }

  /** At most `ms` from now on. */
  shorten(ms: number): void {
    this.#at = Math.min(this.#at, performance.now() + ms);
  }
}

/**
 * Runs `work` with a signal that aborts with `signal`, or after `ms`. Not made of AbortSignal.any and
 * AbortSignal.timeout: Node 20 may collect such a timeout as garbage, and then nothing ends the wait.
 */
export async function within<T>(
  signal: AbortSignal,
  ms: number,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const abort = new AbortController();
  const stop = (): void => abort.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const late = setTimeout(() => abort.abort(new DOMException('timeout', 'TimeoutError')), ms);
  try {
    return await work(abort.signal);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
  }
}

/** Repeats `look` until it answers something; null when the time is over. The last look comes at its very end. */
export async function poll<T>(
  signal: AbortSignal,
  limitMs: number,
  look: () => Promise<T | undefined>,
): Promise<{ found: T; looks: number; ms: number } | null> {
  const begun = performance.now();
  for (let looks = 1, pause = FIRST_PAUSE_MS; ; looks++) {
    const found = await look();
    const ms = performance.now() - begun;
    if (found !== undefined) return { found, looks, ms };
    if (ms >= limitMs) return null;
    await sleep(Math.min(pause, limitMs - ms), signal);
    pause = Math.min(pause * PAUSE_GROWTH, MAX_PAUSE_MS);
  }
}

/** Waits for all of them, then throws the first of their failures: nothing goes on behind the back of what follows. */
export async function together(...parts: readonly Promise<unknown>[]): Promise<void> {
  for (const part of await Promise.allSettled(parts)) if (part.status === 'rejected') throw part.reason;
}
