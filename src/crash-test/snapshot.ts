/** Snapshots of the outside world, as the user's `observe()` gives them: any JSON value. */
import { canonicalJson, isRecord } from '../protocol/json.ts';
import { isSecretField, safeJson } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';

const EXCERPT = 80;

export function sameSnapshot(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/**
 * By how much a snapshot grew: entries of lists, lines of texts, numbers by their value, all added up. Good for
 * telling one effect from two of the same kind, and for nothing else.
 */
export function growth(before: unknown, after: unknown): number {
  return sizeOf(after) - sizeOf(before);
}

function sizeOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return value.split('\n').filter(Boolean).length;
  if (Array.isArray(value)) return value.length;
  if (isRecord(value)) return Object.values(value).reduce<number>((sum, entry) => sum + 1 + sizeOf(entry), 0);
  return value === true ? 1 : 0;
}

/** What differs between two snapshots, in a few words: the first place where they do. */
export function describeChange(before: unknown, after: unknown, path = ''): string {
  const at = path === '' ? '' : `${path}: `;
  if (isRecord(before) && isRecord(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const key = keys.find((one) => !sameSnapshot(before[one] ?? null, after[one] ?? null));
    if (key !== undefined) {
      const inside = path === '' ? key : `${path}.${key}`;
      return isSecretField(key)
        ? `${inside}: another value`
        : describeChange(before[key], after[key], inside);
    }
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length) {
    return `${at}${entries(before.length)}, then ${entries(after.length)}`;
  }
  if (typeof before === 'string' && typeof after === 'string' && sizeOf(before) !== sizeOf(after)) {
    return `${at}${sizeOf(before)} lines, then ${sizeOf(after)}`;
  }
  return `${at}${excerpt(before)}, then ${excerpt(after)}`;
}

function entries(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`;
}

function excerpt(value: unknown): string {
  return oneLine(safeJson(value), EXCERPT);
}
