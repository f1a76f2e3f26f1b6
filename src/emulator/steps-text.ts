/** `say` and `reason`: an item with its part, its deltas and its final form (agents-api.md 3.3). */
import { addedEvent, assistantItem, doneEvent, reasoningItem, statusOf } from './items.ts';
import type { LiveSession } from './live-session.ts';
import type { CurrentStep, ItemRecord, TurnRecord } from './records.ts';
import type { Step } from './script.ts';
import { fillIn } from './script-choice.ts';
import { takeOutputIndex } from './turns.ts';
import type { AgentSessionItem, EventBody } from './wire.ts';

/** With no pause between deltas, other work still gets a turn after this many. */
const DELTAS_IN_A_ROW = 64;

/** Word by word, so that no delta ends inside a surrogate pair. Joined they are the text. */
function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];
}

/** What the two kinds of text differ in. */
interface TextKind {
  added: EventBody;
  delta: (piece: string) => EventBody;
  done: EventBody[];
  item: AgentSessionItem;
}

export async function playSay(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  step: Extract<Step, { say: string }>,
  signal: AbortSignal,
): Promise<void> {
  const text = fillIn(step.say, session.record, turn);
  const phase = step.phase ?? 'final_answer';
  const found = session.record.items.find((item) => item.key === current.item_key);
  const item =
    found ?? addItem(session, turn, current, assistantItem(turn.turn.id, phase, takeOutputIndex(turn)));
  const shown =
    session.take('empty_part') && item.item.type === 'message'
      ? { ...item, item: { ...item.item, content: [{ type: 'output_text' as const, text: '' }] } }
      : item;
  const head = { ...place(session, item), content_index: 0 };
  const kind: TextKind = {
    added: {
      type: 'agent.session.turn.content_part.added',
      ...head,
      part: { type: 'output_text', text: '' },
    },
    delta: (delta) => ({ type: 'agent.session.turn.output_text.delta', ...head, delta }),
    done: [
      { type: 'agent.session.turn.output_text.done', ...head, text },
      { type: 'agent.session.turn.content_part.done', ...head, part: { type: 'output_text', text } },
    ],
    item: {
      type: 'message',
      id: item.key,
      role: 'assistant',
      phase,
      status: 'completed',
      content: [{ type: 'output_text', text }],
      turn_id: turn.turn.id,
    },
  };
  const pause = step.delta_ms ?? session.world.settings.deltaMs;
  await playText(session, turn, { item, shown, resumed: found !== undefined }, kind, { text, pause }, signal);
}

export async function playReason(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  step: Extract<Step, { reason: string }>,
  signal: AbortSignal,
): Promise<void> {
  const text = fillIn(step.reason, session.record, turn);
  const found = session.record.items.find((item) => item.key === current.item_key);
  const item = found ?? addItem(session, turn, current, reasoningItem(turn.turn.id, takeOutputIndex(turn)));
  const head = { ...place(session, item), summary_index: 0 };
  const kind: TextKind = {
    added: {
      type: 'agent.session.turn.reasoning_summary_part.added',
      ...head,
      part: { type: 'summary_text', text: '' },
    },
    delta: (delta) => ({ type: 'agent.session.turn.reasoning_summary_text.delta', ...head, delta }),
    done: [
      { type: 'agent.session.turn.reasoning_summary_text.done', ...head, text },
      {
        type: 'agent.session.turn.reasoning_summary_part.done',
        ...head,
        part: { type: 'summary_text', text },
        status: null,
      },
    ],
    item: {
      type: 'reasoning',
      id: item.key,
      status: 'completed',
      summary: [{ type: 'summary_text', text }],
      turn_id: turn.turn.id,
    },
  };
  const pause = step.delta_ms ?? session.world.settings.deltaMs;
  await playText(
    session,
    turn,
    { item, shown: item, resumed: found !== undefined },
    kind,
    { text, pause },
    signal,
  );
}

function addItem(session: LiveSession, turn: TurnRecord, current: CurrentStep, item: ItemRecord): ItemRecord {
  current.item_key = item.key;
  session.record.items.push(item);
  return item;
}

function place(session: LiveSession, item: ItemRecord) {
  return {
    session_id: session.id,
    turn_id: item.turn_id,
    item_id: item.key,
    output_index: item.output_index ?? 0,
  };
}

/** A text that was cut by a restart is finished without deltas: they may be absent, `done` holds all. */
async function playText(
  session: LiveSession,
  turn: TurnRecord,
  at: { item: ItemRecord; shown: ItemRecord; resumed: boolean },
  kind: TextKind,
  what: { text: string; pause: number },
  signal: AbortSignal,
): Promise<void> {
  const { item } = at;
  if (!at.resumed) {
    session.commit([addedEvent(session.id, at.shown), kind.added]);
    await playDeltas(session, kind, what, signal);
  }
  if (statusOf(item.item) === 'in_progress') item.item = kind.item;
  session.finishStep(turn, [...kind.done, doneEvent(session.id, item)]);
}

async function playDeltas(
  session: LiveSession,
  kind: TextKind,
  what: { text: string; pause: number },
  signal: AbortSignal,
): Promise<void> {
  let sent = 0;
  for (const piece of pieces(what.text)) {
    session.publish(kind.delta(piece));
    sent += 1;
    if (what.pause > 0 || sent % DELTAS_IN_A_ROW === 0) await session.pause(what.pause || 1, signal);
  }
}
