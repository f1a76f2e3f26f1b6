/** What a turn's saved state says about how it ended (I7). */
import { isKnown } from './known.ts';
import type { ContentPart, Item, Session, TokenUsage, Turn } from './wire.ts';

const TERMINAL = new Set(['completed', 'failed', 'cancelled']);

/** True when a turn has ended. One of an unknown status has when it says since when (I12). */
export function isTerminal({ status, completed_at }: Pick<Turn, 'status' | 'completed_at'>): boolean {
  if (isKnown('turn_status', status)) return TERMINAL.has(status);
  return typeof completed_at === 'number';
}

/** True for a root turn: only its outcome is the outcome of the work (agents-api.md 1.1). */
export function isRoot(turn: Pick<Turn, 'subagent_id'>): boolean {
  return turn.subagent_id === null || turn.subagent_id === undefined;
}

/**
 * The final answer of a turn: its completed assistant messages that are not commentary, in the order of the list,
 * `output_text` parts joined without a separator (agents-api.md 4). `items` are the turn's saved items, ascending.
 */
export function finalText(items: readonly Item[]): string {
  let text = '';
  for (const item of items) {
    if (item.type !== 'message' || item.role !== 'assistant') continue;
    if (item.status !== 'completed' || item.phase === 'commentary') continue;
    for (const part of contentOf(item)) if (part.type === 'output_text') text += part.text ?? '';
  }
  return text;
}

/** How many tool calls of the turn failed. A call and its output count once. */
export function failedTools(items: readonly Item[]): number {
  const failed = new Set<string>();
  items.forEach((item, index) => {
    const isFailure =
      item.status === 'failed' ||
      (item.type === 'function_call_output' && item.error !== null && item.error !== undefined);
    if (isFailure) failed.add(item.call_id ?? item.id ?? `#${index}`);
  });
  return failed.size;
}

/** The texts of the user messages among a turn's items: how a message is seen to have landed. */
export function userTexts(items: readonly Item[]): string[] {
  return items
    .filter((item) => item.type === 'message' && item.role === 'user')
    .map((item) => messageText(contentOf(item)));
}

/** The parts of an item's content; none when it is missing or of some other shape (I12). */
export function contentOf(item: Item): ContentPart[] {
  return Array.isArray(item.content) ? item.content : [];
}

/** The text of a message's content, images left out. */
export function messageText(content: readonly { type: string; text?: string }[]): string {
  return content.map((part) => part.text ?? '').join('');
}

/**
 * The root turn to follow when none is known yet: the oldest root turn newer than `afterTurnId`.
 * `turns` is a page in descending order.
 */
export function firstTurnAfter(turns: readonly Turn[], afterTurnId: string | null): Turn | null {
  let found: Turn | null = null;
  for (const turn of turns) {
    if (turn.id === afterTurnId) break;
    if (isRoot(turn)) found = turn;
  }
  return found;
}

/** Why nothing more can come from a session, or null. An unknown status is followed on (I12). */
export function sessionEnd(session: Pick<Session, 'status'>): 'session_failed' | 'budget_reached' | null {
  if (session.status === 'failed') return 'session_failed';
  if (session.status === 'budget_reached') return 'budget_reached';
  return null;
}

/** The sum of known usages; null while nothing is known, which is not the same as zero. */
export function addUsage(a: TokenUsage | null, b: TokenUsage | null | undefined): TokenUsage | null {
  if (!b) return a;
  if (!a) return b;
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    input_tokens_details: {
      cached_tokens:
        (a.input_tokens_details?.cached_tokens ?? 0) + (b.input_tokens_details?.cached_tokens ?? 0),
    },
    output_tokens_details: {
      reasoning_tokens:
        (a.output_tokens_details?.reasoning_tokens ?? 0) + (b.output_tokens_details?.reasoning_tokens ?? 0),
    },
  };
}
