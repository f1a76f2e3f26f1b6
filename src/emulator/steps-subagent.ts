/**
 * `subagent`: a child with its own turn and items. The root's stream carries its lifecycle and the
 * coordination items; the child's own turn and items are read under `/subagents` (agents-api.md 9).
 */
import { newId } from './canonical.ts';
import {
  addedEvent,
  agentMessageItem,
  assistantItem,
  closed,
  createSubagentItem,
  doneEvent,
} from './items.ts';
import type { LiveSession } from './live-session.ts';
import type { CurrentStep, ItemRecord, SubagentRecord, TurnRecord } from './records.ts';
import type { Step } from './script.ts';
import { fillIn } from './script-choice.ts';
import { takeOutputIndex, turnEvent, untouched } from './turns.ts';
import { measureUsage, seconds } from './views.ts';
import type { EventBody, SessionTurnError } from './wire.ts';

type Plan = Extract<Step, { subagent: unknown }>['subagent'];
const DEFAULT_WORK_MS = 20;

export async function playSubagent(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  plan: Plan,
  signal: AbortSignal,
): Promise<void> {
  if (current.phase === 0) open(session, turn, current, plan);
  await session.pause(plan.work_ms ?? DEFAULT_WORK_MS, signal);
  close(session, turn, current, plan);
}

/** `subagent.created` goes out before the call that caused it: the service orders them in no fixed way. */
function open(session: LiveSession, turn: TurnRecord, current: CurrentStep, plan: Plan): void {
  const { record } = session;
  const now = seconds(Date.now());
  const task = `Task for ${plan.name}`;
  const id = newId('agent');
  const child: SubagentRecord = {
    subagent: {
      id,
      object: 'agent.session.subagent',
      session_id: record.id,
      parent_agent_id: record.agent.id,
      name: plan.name,
      instructions: [{ type: 'output_text', text: task }],
      opened_at: now,
      closed_at: null,
      status: 'active',
    },
    turns: [childTurn(session, id, task, now)],
  };
  record.subagents.push(child);
  current.subagent_id = id;
  current.phase = 1;
  const item = createSubagentItem(turn.turn.id, record.agent.id, task, takeOutputIndex(turn));
  const shown = addedEvent(session.id, item);
  item.item = closed(item.item, 'completed');
  record.items.push(item);
  const own = child.turns[0];
  session.commit([
    { type: 'agent.session.subagent.created', subagent: structuredClone(child.subagent) },
    ...(plan.on_stream === true && own !== undefined ? [turnEvent(own, 'created')] : []),
    shown,
    doneEvent(session.id, item),
  ]);
}

function childTurn(session: LiveSession, subagentId: string, task: string, now: number): TurnRecord {
  return {
    turn: {
      id: newId('turn'),
      object: 'agent.session.turn',
      agent_id: session.record.agent.id,
      session_id: session.id,
      subagent_id: subagentId,
      status: 'in_progress',
      created_at: now,
      started_at: now,
      completed_at: null,
      error: null,
      usage: null,
    },
    index: 0,
    script: { kind: 'inline', steps: [] },
    input_text: task,
    ...untouched(),
  };
}

function close(session: LiveSession, turn: TurnRecord, current: CurrentStep, plan: Plan): void {
  const { record } = session;
  const child = record.subagents.find((one) => one.subagent.id === current.subagent_id);
  const own = child?.turns.at(-1);
  if (child === undefined || own === undefined) throw new Error('a subagent step without its subagent');
  const outcome = plan.outcome ?? 'completed';
  const text = fillIn(plan.say, record, turn);
  const message = assistantItem(own.turn.id, 'final_answer', takeOutputIndex(own), child.subagent.id);
  const added = addedEvent(session.id, message);
  message.item = {
    ...message.item,
    status: outcome === 'completed' ? 'completed' : 'incomplete',
    content: [{ type: 'output_text', text }],
  };
  record.items.push(message);
  own.turn.status = outcome;
  own.turn.completed_at = seconds(Date.now());
  own.ended_ms = Date.now();
  own.usage = measureUsage(record, own.turn.id);
  if (outcome === 'failed') own.turn.error = childError(plan);
  child.subagent.status = 'closed';
  child.subagent.closed_at = seconds(Date.now());
  const note = agentMessageItem(turn.turn.id, child.subagent.id, record.agent.id, text);
  record.items.push(note);
  const seen: EventBody[] =
    plan.on_stream === true
      ? [
          added,
          ...textEvents(session, message, text),
          doneEvent(session.id, message),
          turnEvent(own, outcome),
        ]
      : [];
  session.finishStep(turn, [
    ...seen,
    addedEvent(session.id, note),
    { type: 'agent.session.subagent.closed', subagent: structuredClone(child.subagent) },
  ]);
}

/** The child's text as a reader of the stream would see it: the whole in one delta. */
function textEvents(session: LiveSession, message: ItemRecord, text: string): EventBody[] {
  const head = {
    session_id: session.id,
    turn_id: message.turn_id,
    item_id: message.key,
    output_index: message.output_index ?? 0,
    content_index: 0,
  };
  return [
    {
      type: 'agent.session.turn.content_part.added',
      ...head,
      part: { type: 'output_text', text: '' },
    },
    { type: 'agent.session.turn.output_text.delta', ...head, delta: text },
    { type: 'agent.session.turn.output_text.done', ...head, text },
    { type: 'agent.session.turn.content_part.done', ...head, part: { type: 'output_text', text } },
  ];
}

function childError(plan: Plan): SessionTurnError {
  return { code: 'internal_error', message: `${plan.name} failed.` };
}
