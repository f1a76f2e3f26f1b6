/**
 * Looks at the session now and then while nobody follows it: for calls that came late, a turn that ended or timed
 * out elsewhere, a failed session. Waiting itself costs nothing (I9); a look is one follower that returns at once.
 */
import { sleep } from '@temporalio/workflow';

import type { TaskContext } from './context.ts';

const FIRST_MS = 30_000;
const MAX_MS = 30 * 60_000;

export class Peek {
  readonly #context: TaskContext;
  #armed = false;
  #due = false;
  #waitMs = FIRST_MS;
  /** The length of the armed timer. */
  #armedMs = 0;
  /** The timer that counts; an abandoned one fires without effect. */
  #timer = 0;
  /** Counts the phases of waiting, so that a timer of an earlier phase means nothing in a later one. */
  #phase = 0;

  constructor(context: TaskContext) {
    this.#context = context;
  }

  /** True once for each look that is due. */
  take(): boolean {
    const due = this.#due;
    this.#due = false;
    return due;
  }

  /** The service waits for us: the first look comes after half a minute, the next ones later and later. */
  arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    const phase = this.#phase;
    const wait = this.#waitMs;
    const timer = ++this.#timer;
    this.#armedMs = wait;
    const look = sleep(wait, { summary: 'next look at the waiting session' }).then(() => {
      if (timer !== this.#timer) return;
      this.#armed = false;
      if (phase !== this.#phase) return;
      this.#due = true;
      this.#waitMs = Math.min(wait * 2, MAX_MS);
    });
    this.#context.background(look);
  }

  /** The waiting is over. */
  reset(): void {
    this.#phase++;
    this.#due = false;
    this.#waitMs = FIRST_MS;
    // A short timer may serve the next phase, at half the cost in history; a long one would let it wait.
    if (this.#armedMs > FIRST_MS) this.#armed = false;
  }
}
