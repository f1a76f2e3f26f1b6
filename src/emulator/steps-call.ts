/** `call` and `ask`: what the agent needs from outside, shown, registered, and waited for. */
import { newId } from './canonical.ts';
import { addedEvent, approvalItem, callItem } from './items.ts';
import type { LiveSession } from './live-session.ts';
import { findCall, type CurrentStep, type TurnRecord } from './records.ts';
import type { CallSpec, Step } from './script.ts';
import { sessionEvent, takeOutputIndex, type Ending } from './turns.ts';
import type { EventBody, RequiredAction } from './wire.ts';

const DEFAULT_GAP_MS = 40;

type CallStep = Extract<Step, { call: unknown }>;
type AskStep = Extract<Step, { ask: unknown }>;
interface Planned {
  call_id: string;
  name: string;
  arguments: unknown;
}

/** Shows and registers the calls, then waits until every one is answered. */
export async function playCall(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  step: CallStep,
  signal: AbortSignal,
): Promise<Ending | null> {
  const specs = Array.isArray(step.call) ? step.call : [step.call];
  const tools = specs.map((spec) => spec.name);
  if (current.call_ids === undefined) {
    current.call_ids = specs.map((spec) => spec.call_id ?? newId('call'));
    refuseReuse(session, turn, current.call_ids);
  }
  const oddForm = session.take('arguments_as', { tools });
  const asText = (oddForm?.as ?? step.arguments_as) === 'string';
  const planned = specs.map((spec, index) => plan(spec, current.call_ids?.[index], asText));
  const awaited = runOn(session, turn, planned);
  const spread = session.take('calls_one_by_one', { tools });
  if (spread !== undefined || step.appear === 'one_by_one') {
    const gap = spread?.gap_ms ?? step.gap_ms ?? DEFAULT_GAP_MS;
    for (const [index, call] of awaited.entries()) {
      if (index > 0) await session.pause(gap, signal);
      await appear(session, turn, [call], signal);
    }
  } else {
    await appear(session, turn, awaited, signal);
  }
  const ids = awaited.map((call) => call.call_id);
  return waitForAnswers(session, turn, ids, deadlineOf(current, step.timeout_ms), signal);
}

/**
 * Shows the calls to tools declared `async`, for whose results nobody waits, under the fault `async_calls_run_on`;
 * answers the calls that are left.
 */
function runOn(session: LiveSession, turn: TurnRecord, calls: readonly Planned[]): Planned[] {
  const { record } = session;
  const free = calls.filter(({ name }) =>
    record.agent.tools.some((tool) => tool.type === 'function' && tool.name === name && tool.async === true),
  );
  const tools = free.map((call) => call.name);
  if (free.length === 0 || session.take('async_calls_run_on', { tools }) === undefined) return [...calls];
  const fresh = free.filter((call) => findCall(record, turn.turn.id, call.call_id) === undefined);
  const events = fresh.flatMap((call) => show(session, turn, call));
  for (const call of fresh) keepCall(session, turn, call);
  session.commit(events);
  return calls.filter((call) => !free.includes(call));
}

function plan(spec: CallSpec, id: string | undefined, asText: boolean): Planned {
  const value = spec.arguments === undefined ? {} : spec.arguments;
  const already = typeof value === 'string';
  return {
    call_id: id ?? newId('call'),
    name: spec.name,
    arguments: asText && !already ? JSON.stringify(value) : value,
  };
}

function refuseReuse(session: LiveSession, turn: TurnRecord, ids: readonly string[]): void {
  const twice = ids.find(
    (id, index) => ids.indexOf(id) !== index || findCall(session.record, turn.turn.id, id) !== undefined,
  );
  if (twice !== undefined) throw new Error(`call_id '${twice}' is used twice in one turn`);
}

/** Registers first and shows then, unless the fault `late_registration` turns that round (Appendix A.6). */
async function appear(
  session: LiveSession,
  turn: TurnRecord,
  calls: readonly Planned[],
  signal: AbortSignal,
): Promise<void> {
  const fresh = calls.filter((call) => findCall(session.record, turn.turn.id, call.call_id) === undefined);
  if (fresh.length === 0) return;
  const late = session.take('late_registration', { tools: fresh.map((call) => call.name) });
  const items = fresh.flatMap((call) => show(session, turn, call));
  if (late !== undefined) {
    session.commit(items);
    await session.pause(late.ms, signal);
  }
  for (const call of fresh) register(session, turn, call);
  session.record.status = 'requires_action';
  turn.turn.status = 'waiting';
  session.commit([...(late === undefined ? items : []), sessionEvent(session, 'requires_action')]);
}

function show(session: LiveSession, turn: TurnRecord, call: Planned): EventBody[] {
  const { items } = session.record;
  const shown = items.some(
    ({ item, turn_id: owner }) =>
      owner === turn.turn.id && item.type === 'function_call' && item.call_id === call.call_id,
  );
  if (shown) return [];
  const item = callItem(turn.turn.id, call, takeOutputIndex(turn));
  items.push(item);
  return [addedEvent(session.id, item)];
}

function register(session: LiveSession, turn: TurnRecord, call: Planned): void {
  keepCall(session, turn, call);
  session.record.required_actions.push({ type: 'function_call', turn_id: turn.turn.id, ...call });
}

function keepCall(session: LiveSession, turn: TurnRecord, call: Planned): void {
  const { record } = session;
  const item = record.items.findLast(
    ({ item: one }) => one.type === 'function_call' && one.call_id === call.call_id,
  );
  record.calls.push({
    kind: 'function',
    turn_id: turn.turn.id,
    call_id: call.call_id,
    name: call.name,
    item_key: item?.key ?? null,
    state: 'pending',
    answer: null,
  });
}

/** Asks a person; the answer becomes a result named `approval`. */
export async function playAsk(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  step: AskStep,
  signal: AbortSignal,
): Promise<Ending | null> {
  const { record } = session;
  if (current.call_ids === undefined) {
    const requestId = step.request_id ?? newId('req');
    refuseReuse(session, turn, [requestId]);
    current.call_ids = [requestId];
    record.calls.push({
      kind: 'approval',
      turn_id: turn.turn.id,
      call_id: requestId,
      name: 'approval',
      item_key: null,
      state: 'pending',
      answer: null,
    });
    const item = approvalItem(turn.turn.id, requestId, step.ask, turn.next_output_index);
    if (item !== null) {
      takeOutputIndex(turn);
      record.items.push(item);
    }
    record.required_actions.push(actionFor(turn.turn.id, requestId, step.ask));
    record.status = 'requires_action';
    turn.turn.status = 'waiting';
    const shown = item === null ? [] : [addedEvent(session.id, item)];
    session.commit([...shown, sessionEvent(session, 'requires_action')]);
  }
  return waitForAnswers(session, turn, current.call_ids, deadlineOf(current, step.timeout_ms), signal);
}

function deadlineOf(current: CurrentStep, timeoutMs: number | undefined): number | undefined {
  return timeoutMs === undefined ? undefined : current.started_ms + timeoutMs;
}

function actionFor(turnId: string, requestId: string, request: AskStep['ask']): RequiredAction {
  const head = { turn_id: turnId, request_id: requestId };
  return request.type === 'mcp_tool_call'
    ? { type: 'mcp_approval_request', ...head, request }
    : { type: 'computer_use_approval_request', ...head, request };
}

async function waitForAnswers(
  session: LiveSession,
  turn: TurnRecord,
  ids: readonly string[],
  deadline: number | undefined,
  signal: AbortSignal,
): Promise<Ending | null> {
  const answered = (): boolean =>
    ids.every((id) => findCall(session.record, turn.turn.id, id)?.state === 'answered');
  if (!(await session.until(answered, signal, deadline))) {
    const message = 'The request timed out while waiting for tool results.';
    return { status: 'failed', error: { code: 'request_timeout', message } };
  }
  session.finishStep(turn);
  return null;
}
