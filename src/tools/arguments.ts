/** The arguments of a call: from whatever the API sent to what the tool takes. */
import { isRecord } from '../protocol/json.ts';
import { oneLine } from '../protocol/text.ts';
import type { Tool } from './define-tool.ts';

const EXCERPT = 60;
const MAX_ISSUES = 3;
/** Fields whose values are never shown to people (I11). */
const SECRET = /pass(word|phrase)?|secret|token|api[_-]?key|authorization|credential|cookie/i;

export type Parsed<T> = { ok: true; value: T } | { ok: false; problem: string };

/**
 * The API may send an object or a JSON string of one (agents-api.md 2.5). Anything else is refused; an empty
 * object is never put in its place.
 */
export function argumentsObject(raw: unknown): Parsed<Record<string, unknown>> {
  let value = raw;
  if (typeof raw === 'string') {
    try {
      value = JSON.parse(raw);
    } catch {
      return { ok: false, problem: `the arguments are not valid JSON: ${oneLine(raw, EXCERPT)}` };
    }
  }
  if (isRecord(value)) return { ok: true, value };
  const shown = oneLine(JSON.stringify(value) ?? 'nothing', EXCERPT);
  return { ok: false, problem: `the arguments must be a JSON object, not ${shown}` };
}

/** Checks arguments against the tool's schema; the problem names the fields, for the model. */
export function checkArguments(tool: Tool, args: Record<string, unknown>): Parsed<unknown> {
  const parsed = tool.parameters.safeParse(args);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issues = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${issue.path.join('.') || 'arguments'}: ${oneLine(issue.message, 120)}`);
  return { ok: false, problem: `the arguments do not fit: ${issues.join('; ')}` };
}

/** Arguments in one short line for people, values of telling fields hidden. */
export function summarize(args: Record<string, unknown>, max = 150): string {
  const shown = JSON.stringify(args, (key, value: unknown) => (SECRET.test(key) ? '[hidden]' : value));
  return oneLine(shown, max);
}
