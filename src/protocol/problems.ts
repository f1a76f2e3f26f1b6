/** How a refused value is described: what was expected, what came, what to do. */

import { isRecord } from './json.ts';
import { Unreadable } from './unreadable.ts';

/** What was sent, in a word or two. Values are never shown: they may hold what nobody wants to see in a log (I11). */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (ArrayBuffer.isView(value)) return 'binary data: send JSON';
  if (value instanceof Unreadable)
    return `a payload of encoding ${JSON.stringify(value.encoding)} that cannot be read: send JSON`;
  return typeof value;
}

/** The kind of JSON that a string holds when it was encoded twice, else null. */
export function encodedTwice(value: unknown): 'object' | 'array' | null {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return null;
  try {
    return isRecord(JSON.parse(value)) ? 'object' : 'array';
  } catch {
    return null;
  }
}

/** `expected …, got …`, with the remedy where the mistake is a usual one. */
export function expected(what: string, value: unknown): string {
  if (value === undefined) return `missing, expected ${what}`;
  const twice = encodedTwice(value);
  if (twice !== null) {
    return `expected ${what}, got a string that holds a JSON ${twice} (encoded twice): give the ${twice} itself, without the quotes around it`;
  }
  return `expected ${what}, got ${kindOf(value)}`;
}

/** `expected` for a text field: a number or boolean only lacks its quotes. */
export function expectedText(what: string, value: unknown): string {
  const kind = kindOf(value);
  const unquoted = kind === 'number' || kind === 'boolean';
  return unquoted ? `expected ${what}, got ${kind}: write it in quotes` : expected(what, value);
}

/** `expected` for a number field: a number in quotes is named as such. */
export function expectedNumber(what: string, value: unknown): string {
  const quoted = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value));
  return quoted ? `expected ${what}, got a string: write the number without quotes` : expected(what, value);
}

/** Characters as people count them (code points), the API's measure for metadata. */
export function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
