/** Small pure helpers shared by the parts of the emulator. */
import { createHash, randomBytes } from 'node:crypto';
import { isObject, type RawObject } from './wire.ts';

/** JSON with sorted keys: equal values give equal text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${entries.join(',')}}`;
}

/** Equal values give equal digests. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex');
}

/** An opaque id such as `sess_…`. Random, so it carries no order (agents-api.md 1.1). */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}

/** Objects merged key by key, the patch winning; everything else is replaced. */
export function merge(base: unknown, patch: unknown): unknown {
  if (!isObject(base) || !isObject(patch)) return patch;
  const result: RawObject = { ...base };
  for (const [key, value] of Object.entries(patch)) result[key] = merge(base[key], value);
  return result;
}
