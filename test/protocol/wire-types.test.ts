/**
 * Holds our wire types against the `openai` package's. The compiler is the test: each function says that one shape
 * is assignable to another, and each `Missing` that a list lacks nothing. Running it proves only that the lists hold
 * no value twice.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type {
  AgentSession,
  AgentSessionEvent,
  AgentSessionInputParam,
  AgentSessionItem,
  TokenUsage as TheirUsage,
} from 'openai/resources/beta/agents/agents';
import type { Turn as TheirTurn } from 'openai/resources/beta/agents/sessions/turns';
import {
  ACTION_TYPES,
  EVENT_TYPES,
  isKnown,
  ITEM_TYPES,
  SESSION_STATUSES,
  TURN_STATUSES,
} from '../../src/protocol/known.ts';
import type {
  InputEvent,
  Item,
  Page,
  RequiredAction,
  Session,
  SessionEvent,
  TokenUsage,
  Turn,
} from '../../src/protocol/wire.ts';

/** What they send, we read. */
export const read = {
  session: (theirs: AgentSession): Session => theirs,
  turn: (theirs: TheirTurn): Turn => theirs,
  item: (theirs: AgentSessionItem): Item => theirs,
  event: (theirs: AgentSessionEvent): SessionEvent => theirs,
  action: (theirs: AgentSession['required_actions'][number]): RequiredAction => theirs,
  usage: (theirs: TheirUsage): TokenUsage => theirs,
  page: (theirs: { data: TheirTurn[]; has_more: boolean; last_id: string | null }): Page<Turn> => theirs,
};

/** What we send, they take. */
export const sent = (ours: InputEvent): AgentSessionInputParam => ours;

type Missing<All extends string, List extends readonly string[]> = Exclude<All, List[number]>;
type Strange<All extends string, List extends readonly string[]> = Exclude<List[number], All>;
/** Our list is theirs: neither lacks a value of the other. */
type Same<All extends string, List extends readonly string[]> = [
  Missing<All, List> | Strange<All, List>,
] extends [never]
  ? true
  : { missing: Missing<All, List>; strange: Strange<All, List> };

export const complete: {
  events: Same<AgentSessionEvent['type'], typeof EVENT_TYPES>;
  items: Same<AgentSessionItem['type'], typeof ITEM_TYPES>;
  sessions: Same<AgentSession['status'], typeof SESSION_STATUSES>;
  turns: Same<TheirTurn['status'], typeof TURN_STATUSES>;
  actions: Same<AgentSession['required_actions'][number]['type'], typeof ACTION_TYPES>;
} = { events: true, items: true, sessions: true, turns: true, actions: true };

it('knows each value once, by the list of its kind', () => {
  const lists = [EVENT_TYPES, ITEM_TYPES, SESSION_STATUSES, TURN_STATUSES, ACTION_TYPES];
  const kinds = ['event', 'item', 'session_status', 'turn_status', 'action'] as const;
  for (const [index, list] of lists.entries()) {
    const kind = kinds[index] ?? 'event';
    assert.equal(new Set<string>(list).size, list.length);
    for (const value of list) assert.ok(isKnown(kind, value));
    assert.ok(!isKnown(kind, 'hologram'));
  }
  assert.ok(!isKnown('turn_status', 'idle'), 'a session status is no turn status');
});
