/** How tools ended: whether two ends are the same, and what is shown of them. */
import { canonicalJson } from '../protocol/json.ts';
import { safeExcerpt, safeJson } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';
import type { Outcome } from './journal.ts';

const EXCERPT = 100;

export function sameOutcome(a: Outcome, b: Outcome): boolean {
  if (!a.ok || !b.ok) return !a.ok && !b.ok && a.error === b.error;
  return a.output === b.output || plain(a.output) === plain(b.output);
}

/** JSON in whatever order of keys is the same result. */
function plain(output: unknown): string {
  if (typeof output !== 'string') return canonicalJson(output);
  try {
    return canonicalJson(JSON.parse(output));
  } catch {
    return output;
  }
}

/** An end in a few words: "returned …" or "failed (…)". */
export function describeEnd(outcome: Outcome): string {
  return `${verb(outcome)} ${oneLine(shown(outcome), EXCERPT)}`;
}

/** Two ends that are not the same, the texts of both from shortly before they part. */
export function differing(a: Outcome, b: Outcome): [string, string] {
  const [one, two] = [shown(a), shown(b)];
  let same = 0;
  while (same < one.length && one[same] === two[same]) same++;
  const from = Math.max(one.length, two.length) > EXCERPT ? Math.max(0, same - EXCERPT / 2) : 0;
  const cut = (text: string): string => (from > 0 ? '…' : '') + oneLine(text.slice(from), EXCERPT);
  return [`${verb(a)} ${cut(one)}`, `${verb(b)} ${cut(two)}`];
}

function verb(outcome: Outcome): string {
  return outcome.ok ? 'returned' : 'failed:';
}

function shown(outcome: Outcome): string {
  if (!outcome.ok) return safeExcerpt(outcome.error);
  return typeof outcome.output === 'string' ? safeExcerpt(outcome.output) : safeJson(outcome.output);
}

/** Any text in one line. */
export function shortly(text: string): string {
  return oneLine(safeExcerpt(text), 3 * EXCERPT);
}
