/** Records as the wire shows them. Pure: the time is an argument. */
import { activeTurn, hasEnded, type SessionRecord, type TurnRecord } from './records.ts';
import type { AgentSession, TokenUsage, Turn } from './wire.ts';

/** The session as `GET /agents/sessions/{id}` shows it at `nowMs`. A fresh object, safe to keep. */
export function sessionView(record: SessionRecord, nowMs: number, usageDelayMs: number): AgentSession {
  return {
    id: record.id,
    object: 'agent.session',
    agent: record.agent,
    created_at: seconds(record.created_ms),
    last_active_at: seconds(record.last_active_ms),
    environment: { type: 'none' },
    status: record.status,
    error: record.failure?.message ?? record.turn_error,
    required_actions: structuredClone(record.required_actions),
    metadata: { ...record.metadata },
    usage: sessionUsage(record, nowMs, usageDelayMs),
    vault_ids: [...record.vault_ids],
    spend_control: { limit: record.spend_limit, consumed: consumed(record) },
    ...(record.review === null ? {} : { review: record.review }),
    ...(record.prompt_cache_options === null || record.prompt_cache_options === undefined
      ? {}
      : { prompt_cache_options: record.prompt_cache_options }),
  };
}

/** A turn as a read shows it: usage appears some time after its end (agents-api.md 7). */
export function turnView(record: TurnRecord, nowMs: number, usageDelayMs: number): Turn {
  return { ...structuredClone(record.turn), usage: settledUsage(record, nowMs, usageDelayMs) };
}

/** The turn as events carry it: usage was null at emission in every turn that was observed. */
export function turnInEvent(record: TurnRecord): Turn {
  return { ...structuredClone(record.turn), usage: null };
}

function settledUsage(record: TurnRecord, nowMs: number, usageDelayMs: number): TokenUsage | null {
  if (record.ended_ms === null || nowMs < record.ended_ms + usageDelayMs) return null;
  return record.usage;
}

/** Null while any root turn is unsettled. */
function sessionUsage(record: SessionRecord, nowMs: number, usageDelayMs: number): TokenUsage | null {
  const parts: TokenUsage[] = [];
  for (const turn of record.turns) {
    const usage = settledUsage(turn, nowMs, usageDelayMs);
    if (!hasEnded(turn.turn) || usage === null) return null;
    parts.push(usage);
  }
  return parts.length === 0 ? null : parts.reduce(addUsage);
}

function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return tokenUsage(a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens);
}

function tokenUsage(input: number, output: number): TokenUsage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

/** A made-up but repeatable count: four characters of JSON are a token. */
export function measureUsage(record: SessionRecord, turnId: string): TokenUsage {
  let input = (record.agent.instructions ?? '').length;
  let output = 0;
  for (const { item, turn_id: owner, subagent_id: child, output_index: index } of record.items) {
    if (child !== null) continue;
    const size = JSON.stringify(item).length;
    if (owner === turnId && index !== null) output += size;
    else input += size;
  }
  return tokenUsage(Math.ceil(input / 4), Math.ceil(output / 4));
}

/** A paused session has spent its limit; nothing else here costs money. */
function consumed(record: SessionRecord): number {
  return record.status === 'budget_reached' ? (record.spend_limit ?? 0) : 0;
}

/** What "the state changed" means for the fault that shows an older snapshot. */
export function stateMark(record: SessionRecord): string {
  const calls = record.required_actions.map((action) => JSON.stringify(action));
  return [record.status, activeTurn(record)?.turn.id ?? '', ...calls].join('|');
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
