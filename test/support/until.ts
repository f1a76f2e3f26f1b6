import { setTimeout as wait } from 'node:timers/promises';

/** Waits until `look` gives something true, and returns it. Throws with `what` after `timeoutMs`. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 30_000,
): Promise<Exclude<T, false | null | undefined | '' | 0>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<T, false | null | undefined | '' | 0>;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await wait(30);
  }
}
