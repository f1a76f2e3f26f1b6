/**
 * Results that were posted and are not yet known to be delivered (I4). A read made after the post settles a result
 * that it no longer asks for; one that two spaced reads still ask for was not taken. One read decides nothing,
 * since it may be older than the post.
 */
export class Unconfirmed {
  /** Call key → time of the first read that still asked for it, in ms. */
  readonly #since = new Map<string, number | null>();
  readonly #spacingMs: number;

  constructor(keys: readonly string[], spacingMs: number) {
    this.#spacingMs = spacingMs;
    for (const key of keys) this.add(key);
  }

  get size(): number {
    return this.#since.size;
  }

  add(key: string): void {
    this.#since.set(key, null);
  }

  /** Takes the call keys that a read shows to be required; returns what that settles. `now` in ms. */
  settle(required: ReadonlySet<string>, now: number): { confirmed: string[]; requiredAgain: string[] } {
    const confirmed: string[] = [];
    const requiredAgain: string[] = [];
    for (const [key, since] of this.#since) {
      if (!required.has(key)) confirmed.push(key);
      else if (since === null) this.#since.set(key, now);
      else if (now - since >= this.#spacingMs) requiredAgain.push(key);
    }
    for (const key of [...confirmed, ...requiredAgain]) this.#since.delete(key);
    return { confirmed, requiredAgain };
  }

  /** Everything left is settled: an ended turn asks for nothing. Returns the keys. */
  settleAll(): string[] {
    return this.settle(new Set(), 0).confirmed;
  }
}

/**
 * Calls that were settled, maybe by reads that were all older than the post. One that spaced reads ask for again was
 * not taken after all (I4).
 */
export class Settled {
  /** Call key → time of the first read in a row that asked for it, in ms. */
  readonly #since = new Map<string, number | null>();
  readonly #spacingMs: number;

  constructor(keys: readonly string[], spacingMs: number) {
    this.#spacingMs = spacingMs;
    this.add(keys);
  }

  add(keys: readonly string[]): void {
    for (const key of keys) this.#since.set(key, null);
  }

  /** Takes the call keys that a read shows to be required. `doubtful`: it asks for a settled one. `now` in ms. */
  look(required: ReadonlySet<string>, now: number): { requiredAgain: string[]; doubtful: boolean } {
    const requiredAgain: string[] = [];
    let doubtful = false;
    for (const [key, since] of this.#since) {
      const asked = required.has(key);
      doubtful ||= asked;
      if (!asked || since === null) this.#since.set(key, asked ? now : null);
      else if (now - since >= this.#spacingMs) requiredAgain.push(key);
    }
    return { requiredAgain, doubtful };
  }
}
