/** The arguments of a call: from whatever the API sent to what the tool takes. */
import { isRecord } from '../protocol/json.ts';
import { safeExcerpt, safeJson } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';
import type { Tool } from './define-tool.ts';

const EXCERPT = 60;
/** Only the beginning of what is shown shortly is looked at. */
const EXCERPT_SOURCE = 1000;
const MAX_ISSUES = 3;
/** Beyond this, checks and serialisers run out of stack; no real arguments come near it. */
const MAX_DEPTH = 200;

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
      const excerpt = oneLine(safeExcerpt(raw.slice(0, EXCERPT_SOURCE)), EXCERPT);
      return { ok: false, problem: `the arguments are not valid JSON: ${excerpt}` };
    }
  }
  if (isTooDeep(value)) return { ok: false, problem: 'the arguments are nested too deeply' };
  if (isRecord(value)) return { ok: true, value };
  return {
    ok: false,
    problem: `the arguments must be a JSON object, not ${oneLine(safeJson(value), EXCERPT)}`,
  };
}

function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((entry) =>
      typeof entry === 'object' && entry !== null ? Object.values(entry) : [],
    );
  }
  return false;
}

/** Checks arguments against the tool's schema; the problem names the fields, for the model. */
export function checkArguments(tool: Tool, args: Record<string, unknown>): Parsed<unknown> {
  const parsed = parse(tool, args);
  if (!parsed) return { ok: false, problem: 'the arguments could not be checked' };
  if (parsed.success) return { ok: true, value: parsed.data };
  const issues = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${oneLine(path.join('.'), 80) || 'arguments'}: ${oneLine(message, 120)}`);
  return { ok: false, problem: `the arguments do not fit: ${issues.join('; ')}` };
}

/** Null for a schema that cannot be run: an asynchronous check, or a transformation that throws. */
function parse(
  tool: Tool,
  args: Record<string, unknown>,
): ReturnType<Tool['parameters']['safeParse']> | null {
  try {
    return tool.parameters.safeParse(args);
  } catch {
    return null;
  }
}

/** Arguments in one short line for people, values of telling fields hidden (I11). */
export function summarize(args: Record<string, unknown>, max = 150): string {
  return oneLine(safeJson(args), max);
}
