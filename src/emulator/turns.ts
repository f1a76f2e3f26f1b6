/** How a root turn begins and ends: the transitions of agents-api.md 2.1, 2.2 and the event order of 3.3. */
import { newId } from './canonical.ts';
import { addedEvent, closed, doneEvent, plainText, statusOf, userItem } from './items.ts';
import type { LiveSession } from './live-session.ts';
import { activeTurn, hasEnded, type ItemRecord, type QueuedMessage, type TurnRecord } from './records.ts';
import { chooseScript } from './script-choice.ts';
import { measureUsage, seconds, turnInEvent } from './views.ts';
import { asItem, type EventBody, type SessionTurnError, type Turn } from './wire.ts';

type SessionEventName = 'created' | 'in_progress' | 'requires_action' | 'idle' | 'budget_reached' | 'failed';
type TurnEventName = 'created' | 'in_progress' | 'completed' | 'failed' | 'cancelled';

/** A `agent.session.*` event with the snapshot of this moment. */
export function sessionEvent(session: LiveSession, name: SessionEventName): EventBody {
  return { type: `agent.session.${name}`, session: session.view() };
}

/** A `agent.session.turn.*` event; usage is always null in it (agents-api.md 3.2). */
export function turnEvent(record: TurnRecord, name: TurnEventName): EventBody {
  const turn = turnInEvent(record);
  const head = { session_id: turn.session_id, turn_id: turn.id, turn };
  if (name === 'created' || name === 'in_progress') return { type: `agent.session.turn.${name}`, ...head };
  return { type: `agent.session.turn.${name}`, ...head, usage: null };
}

/** Adds the user's messages to a turn; answers the events that show them. */
export function addUserItems(session: LiveSession, turn: TurnRecord, message: QueuedMessage): EventBody[] {
  const added = message.input.map((one) =>
    userItem(turn.turn.id, one, session.take('null_id_item') !== undefined),
  );
  session.record.items.push(...added);
  return added.map((item) => addedEvent(session.id, item));
}

export function textOf(message: QueuedMessage): string {
  return message.input.map((one) => plainText(one.content)).join('\n');
}

/** Starts a turn in the record. The caller commits the events and then starts the runner. */
export function beginTurn(session: LiveSession, message: QueuedMessage): EventBody[] {
  const { record } = session;
  const now = seconds(Date.now());
  const inputText = textOf(message);
  const turn: TurnRecord = {
    turn: {
      id: newId('turn'),
      object: 'agent.session.turn',
      agent_id: record.agent.id,
      session_id: record.id,
      subagent_id: null,
      status: 'queued',
      created_at: now,
      started_at: null,
      completed_at: null,
      error: null,
      usage: null,
      prompt_cache_options: record.prompt_cache_options ?? null,
    },
    index: record.turns.length,
    script: chooseScript(session.world.scripts, session.view(), inputText),
    input_text: inputText,
    ...untouched(),
  };
  record.turns.push(turn);
  record.counters.turns_started += 1;
  record.turn_error = null;
  const created = turnEvent(turn, 'created');
  const items = addUserItems(session, turn, message);
  record.status = 'in_progress';
  turn.turn.status = 'in_progress';
  turn.turn.started_at = now;
  const working = sessionEvent(session, 'in_progress');
  const order = session.take('out_of_order_start')
    ? [created, working, ...items]
    : [created, ...items, working];
  return [...order, turnEvent(turn, 'in_progress'), ...unknownItem(session, turn)];
}

/** What a turn's record holds before anything has happened in the turn. */
export function untouched(): Omit<TurnRecord, 'turn' | 'index' | 'script' | 'input_text'> {
  return {
    messages: [],
    steps_done: 0,
    current: null,
    results: [],
    next_output_index: 0,
    cancel_at_ms: null,
    ended_ms: null,
    usage: null,
  };
}

function unknownItem(session: LiveSession, turn: TurnRecord): EventBody[] {
  const fault = session.take('unknown_item');
  if (fault === undefined) return [];
  const raw = { type: 'local_unknown_item', status: 'completed', note: 'of no known type', ...fault.item };
  return [addedEvent(session.id, addRawItem(session, turn, raw))];
}

/** Adds an item of any shape; missing ids are filled in. */
export function addRawItem(
  session: LiveSession,
  turn: TurnRecord,
  raw: { [key: string]: unknown },
): ItemRecord {
  const key = typeof raw['id'] === 'string' ? raw['id'] : newId('item');
  const record: ItemRecord = {
    key,
    turn_id: turn.turn.id,
    subagent_id: null,
    output_index: takeOutputIndex(turn),
    item: asItem({ id: key, turn_id: turn.turn.id, ...raw }),
  };
  session.record.items.push(record);
  return record;
}

export function takeOutputIndex(turn: TurnRecord): number {
  turn.next_output_index += 1;
  return turn.next_output_index - 1;
}

/** How a root turn ends. */
export type Ending =
  | { status: 'completed' }
  | { status: 'cancelled' }
  | { status: 'failed'; error: { code: string; message: string } };

/**
 * Ends the turn: open items are closed, unanswered calls dropped, then the terminal event, then `idle`.
 * A queued message begins the next turn in the same commit; answers whether one did.
 */
export function endTurn(session: LiveSession, turn: TurnRecord, ending: Ending): boolean {
  const { record } = session;
  const events: EventBody[] = [];
  if (ending.status === 'failed') events.push(errorEvent(session, ending.error));
  events.push(...dropOpenWork(session, turn));
  settle(session, turn, ending);
  record.status = 'idle';
  if (ending.status === 'failed' && session.take('keep_turn_error')) record.turn_error = ending.error.message;
  events.push(turnEvent(turn, ending.status), sessionEvent(session, 'idle'));
  const next = record.queue.shift();
  if (next !== undefined) events.push(...beginTurn(session, next));
  session.commit(events);
  return next !== undefined;
}

/** The session fails for good: the error, then `session.failed`, then every stream closes. */
export function failSession(session: LiveSession, error: { code: string; message: string }): void {
  const { record } = session;
  const turn = activeTurn(record);
  const closing = turn === undefined ? [] : dropOpenWork(session, turn);
  if (turn !== undefined) settle(session, turn, { status: 'failed', error });
  record.status = 'failed';
  record.queue = [];
  record.failure = { type: 'session_error', code: error.code, message: error.message, param: null };
  session.commit([...closing, errorEvent(session, error), sessionEvent(session, 'failed')]);
  session.endStreams();
}

export function errorEvent(session: LiveSession, error: { code: string; message: string }): EventBody {
  return {
    type: 'error',
    session_id: session.id,
    error: { type: 'session_error', code: error.code, message: error.message, param: null },
  };
}

function settle(session: LiveSession, turn: TurnRecord, ending: Ending): void {
  const now = Date.now();
  turn.turn.status = ending.status;
  turn.turn.completed_at = seconds(now);
  if (ending.status === 'failed') turn.turn.error = ending.error as SessionTurnError;
  turn.current = null;
  turn.cancel_at_ms = null;
  turn.ended_ms = now;
  turn.usage = measureUsage(session.record, turn.turn.id);
}

/** Drops what the turn still waits for and closes its open items as incomplete. */
export function dropOpenWork(session: LiveSession, turn: TurnRecord): EventBody[] {
  const { record } = session;
  const turnId = turn.turn.id;
  for (const call of record.calls) {
    if (call.turn_id === turnId && call.state === 'pending') call.state = 'dropped';
  }
  record.required_actions = [];
  const events: EventBody[] = [];
  for (const item of record.items) {
    const own = item.turn_id === turnId || isChildOf(session, item.subagent_id);
    if (!own || statusOf(item.item) !== 'in_progress') continue;
    item.item = closed(item.item, 'incomplete');
    if (item.subagent_id === null) events.push(doneEvent(session.id, item));
  }
  for (const child of record.subagents) {
    for (const one of child.turns) if (!hasEnded(one.turn)) stopChild(one);
  }
  return events;
}

function isChildOf(session: LiveSession, subagentId: string | null): boolean {
  return subagentId !== null && session.record.subagents.some((one) => one.subagent.id === subagentId);
}

function stopChild(child: TurnRecord): void {
  const status: Turn['status'] = 'cancelled';
  child.turn.status = status;
  child.turn.completed_at = seconds(Date.now());
  child.ended_ms = Date.now();
}
