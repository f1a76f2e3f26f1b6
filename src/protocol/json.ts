/** JSON helpers without I/O. */
import { wellFormed } from './text.ts';

/** Compact JSON with sorted keys: equal for equal values, whatever order a server sends them in. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((entry) => canonicalJson(entry ?? null)).join(',')}]`;
  if (isRecord(value)) {
    const fields = Object.keys(value)
      .toSorted()
      .filter((key) => value[key] !== undefined)
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** True for an object that is neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * True when objects and lists are nested deeper than `levels` in a value, or it contains itself. Without recursion:
 * that is what JSON.stringify dies of.
 */
export function isDeeper(value: unknown, levels: number): boolean {
  const open: [value: unknown, level: number][] = [[value, 1]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [at, level] = next;
    if (typeof at !== 'object' || at === null) continue;
    if (level > levels) return true;
    for (const child of Object.values(at)) if (typeof child === 'object') open.push([child, level + 1]);
  }
  return false;
}

/** How JSON.stringify writes a lone surrogate, and nothing else that matters: a false find costs a copy. */
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * The value with every lone surrogate in its texts replaced. Servers refuse such JSON, or change it, so that what
 * they have is no longer what was sent.
 */
export function wellFormedJson<T>(value: T): T {
  const json = JSON.stringify(value);
  if (!LONE_SURROGATE.test(json)) return value;
  return JSON.parse(json, (_key, entry: unknown) =>
    typeof entry === 'string' ? wellFormed(entry) : entry,
  ) as T;
}
