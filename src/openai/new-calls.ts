/** Calls that a follower has found and planned: as many as one activity result may carry (I10). */
import { callKey, type PlannedCall, type RequiredCall } from '../protocol/calls.ts';

/** In characters of JSON, of which each takes three bytes at most: one activity result may have 2 MiB. */
const MAX_LENGTH = 512 * 1024;

export class NewCalls {
  readonly #known: ReadonlySet<string>;
  readonly #plan: (call: RequiredCall) => PlannedCall;
  readonly #planned = new Map<string, PlannedCall>();
  #length = 0;

  /** @param known keys of calls that are nothing new. */
  constructor(known: Iterable<string>, plan: (call: RequiredCall) => PlannedCall) {
    this.#known = new Set(known);
    this.#plan = plan;
  }

  /** Plans what is new among these calls. False when there is more than fits: the next follower finds the rest. */
  take(calls: readonly RequiredCall[]): boolean {
    for (const call of calls) {
      const key = callKey(call);
      if (this.#known.has(key) || this.#planned.has(key)) continue;
      const planned = this.#plan(call);
      const { length } = JSON.stringify(planned);
      // One that is too large by itself goes alone.
      if (this.#planned.size > 0 && this.#length + length > MAX_LENGTH) return false;
      this.#length += length;
      this.#planned.set(key, planned);
    }
    return true;
  }

  get list(): PlannedCall[] {
    return [...this.#planned.values()];
  }

  clear(): void {
    this.#planned.clear();
  }
}
