/** What a client may post into a session, and what it changes (agents-api.md 5). */
import { ApiError, badRequest, conflict, unknownCall } from './api-error.ts';
import { digest, newId } from './canonical.ts';
import { addedEvent, callOutputItem, closed, doneEvent } from './items.ts';
import type { LiveSession } from './live-session.ts';
import { activeTurn, findCall, type CallRecord, type TurnRecord } from './records.ts';
import { finish, startRunner, stopRunner } from './runner.ts';
import { beginTurn, dropOpenWork, sessionEvent } from './turns.ts';
import { asItem, type AgentSessionInputParam, type EventBody } from './wire.ts';

type Input<T> = Extract<AgentSessionInputParam, { type: T }>;
type ToolResult = Input<'agent.session.input.tool_result'>;
type Approval =
  | Input<'agent.session.input.mcp_approval_request_result'>
  | Input<'agent.session.input.computer_use_approval_request_result'>;
/** A result as it is kept: an output or an error, never both. */
type GivenResult = Parameters<typeof callOutputItem>[2];
/** `applied`: something changed (or, for a cancel on an idle session, nothing had to). */
export type Effect = 'applied' | 'repeat';

/** Carries out an input event that was admitted, at once or after others of its batch were admitted. */
type Apply = () => Effect;

/** Checks one input event; what it answers carries it out. Throws the `ApiError` that refuses it: nothing has changed. */
export function admit(session: LiveSession, input: AgentSessionInputParam): Apply {
  switch (input.type) {
    case 'agent.session.input.message':
      checkMessage(session);
      return () => applyMessage(session, input);
    case 'agent.session.input.cancel':
      return () => applyCancel(session);
    case 'agent.session.input.tool_result':
      return admitResult(session, input);
    default:
      return admitApproval(session, input);
  }
}

function checkMessage(session: LiveSession): void {
  const { record, world } = session;
  const turn = activeTurn(record);
  if (record.status === 'failed') throw conflict('the session has failed', undefined, 'session_failed');
  if (record.status === 'budget_reached') throw conflict('the session has reached its spending limit');
  if (turn !== undefined) {
    if (turn.index === 0 && !world.settings.firstTurnSteering) {
      throw conflict('session initial input is still pending', 'message_in_first_turn');
    }
    if (session.take('steering_refused')) {
      throw new ApiError(409, 'The active turn cannot accept additional input.', {
        type: 'conflict_error',
        code: 'active_turn_not_steerable',
        headers: { 'x-should-retry': 'false' },
      });
    }
  }
}

function applyMessage(session: LiveSession, message: Input<'agent.session.input.message'>): Effect {
  const { record } = session;
  const turn = activeTurn(record);
  record.counters.messages_accepted += 1;
  if (session.take('lost_message')) {
    session.commit();
  } else if (turn !== undefined) {
    record.queue.push({ input: message.input, waits: session.take('steering_queued') !== undefined });
    session.commit();
  } else {
    session.commit(beginTurn(session, { input: message.input }));
    startRunner(session);
  }
  return 'applied';
}

function applyCancel(session: LiveSession): Effect {
  const { record } = session;
  record.counters.cancels += 1;
  const turn = activeTurn(record);
  if (turn === undefined || turn.cancel_at_ms !== null) {
    session.save();
    return 'applied';
  }
  const lag = session.take('cancel_lag');
  if (lag === undefined) {
    finish(session, turn, { status: 'cancelled' });
    return 'applied';
  }
  stopRunner(session);
  turn.cancel_at_ms = Date.now() + lag.ms;
  turn.turn.status = 'in_progress';
  turn.current = null;
  record.status = 'in_progress';
  session.commit(dropOpenWork(session, turn));
  startRunner(session);
  return 'applied';
}

/** The matrix of agents-api.md 5.4. */
function admitResult(session: LiveSession, result: ToolResult): Apply {
  const { record, world } = session;
  const { call_id: callId, turn_id: turnId } = result;
  const call = findCall(record, turnId, callId);
  const known = record.calls.filter((one) => one.kind === 'function' && one.call_id === callId);
  const occasion = { tools: call === undefined ? [] : [call.name], call_id: callId };
  const refuse = (error: ApiError): never => {
    record.counters.results_refused += 1;
    session.save();
    throw error;
  };
  if (known.length === 0 || call?.kind === 'approval') {
    return refuse(unknownCall(callId, isShown(session, callId) ? undefined : 'unknown_call'));
  }
  if (call === undefined) {
    return refuse(
      badRequest(`Tool call ${callId} belongs to a different managed agent turn`, null, 'wrong_turn'),
    );
  }
  const value: GivenResult = {
    success: result.success,
    output: result.success ? (result.output ?? null) : null,
    error: result.success ? null : (result.error ?? null),
  };
  const answer = digest(value);
  if (call.state !== 'pending') return settled(session, call, answer, refuse);
  if (session.refusesEarly(call)) return refuse(unknownCall(callId));
  const limit = session.take('result_limit', occasion)?.bytes ?? world.settings.maxResultBytes;
  const size = Buffer.byteLength(JSON.stringify(value));
  if (size > limit) {
    return refuse(
      badRequest(
        `Tool result is too large: ${size} bytes, the limit is ${limit}.`,
        'events[0].output',
        'result_too_large',
      ),
    );
  }
  return () => {
    acceptResult(session, call, value, answer);
    return 'applied';
  };
}

/** A call whose item went out before its registration is unknown to the service, not to the client. */
function isShown(session: LiveSession, callId: string): boolean {
  return session.record.items.some(({ item }) => item.type === 'function_call' && item.call_id === callId);
}

function settled(
  session: LiveSession,
  call: CallRecord,
  answer: string,
  refuse: (error: ApiError) => never,
): Apply {
  const { record } = session;
  const occasion = { tools: [call.name], call_id: call.call_id };
  const which = call.state === 'dropped' ? 'dropped' : call.answer === answer ? 'repeat' : 'other';
  const fault = session.take('refuse_when_settled', occasion, ({ of }) => of === undefined || of === which);
  if (fault?.status === 409) return refuse(conflict(`Tool call ${call.call_id} is not pending any more`));
  if (fault !== undefined) return refuse(unknownCall(call.call_id));
  if (which === 'dropped') {
    return refuse(conflict(`Tool call ${call.call_id} is no longer pending: its turn has ended`));
  }
  if (which === 'other') {
    return refuse(
      conflict(`Tool call ${call.call_id} was already answered with a different result`, 'second_result'),
    );
  }
  return () => {
    record.counters.results_repeated += 1;
    const again = session.take('reemit_result_item', occasion) ? outputItemOf(session, call) : [];
    session.commit(again);
    return 'repeat';
  };
}

function outputItemOf(session: LiveSession, call: CallRecord): EventBody[] {
  const found = session.record.items.find(
    ({ item, turn_id: turnId }) =>
      turnId === call.turn_id && item.type === 'function_call_output' && item.call_id === call.call_id,
  );
  return found === undefined ? [] : [addedEvent(session.id, found)];
}

function acceptResult(session: LiveSession, call: CallRecord, value: GivenResult, answer: string): void {
  const { record } = session;
  call.state = 'answered';
  call.answer = answer;
  record.counters.results_accepted += 1;
  const output = callOutputItem(call.turn_id, call.call_id, value);
  record.items.push(output);
  const events = [addedEvent(session.id, output)];
  const callItem = record.items.find((item) => item.key === call.item_key);
  if (callItem !== undefined) {
    callItem.item = closed(callItem.item, value.success ? 'completed' : 'failed');
    events.push(doneEvent(session.id, callItem));
  }
  const turn = activeTurn(record);
  turn?.results.push({ name: call.name, call_id: call.call_id, output_key: output.key, decision: null });
  session.commit([...events, ...removeAction(session, turn, call.call_id)]);
}

/** The session works on once nothing is required any more; until then its status stays. */
function removeAction(session: LiveSession, turn: TurnRecord | undefined, id: string): EventBody[] {
  const { record } = session;
  record.required_actions = record.required_actions.filter((action) => {
    if (action.type === 'function_call') return action.call_id !== id;
    return action.type === 'environment_connection' || action.request_id !== id;
  });
  if (record.required_actions.length > 0 || record.status !== 'requires_action') return [];
  record.status = 'in_progress';
  if (turn !== undefined) turn.turn.status = 'in_progress';
  return [sessionEvent(session, 'in_progress')];
}

/** An answer to an approval that is not pending is a 400 (no source states the exact words). */
function admitApproval(session: LiveSession, input: Approval): Apply {
  const { record } = session;
  const action = record.required_actions.find(
    (one) => 'request_id' in one && one.request_id === input.request_id,
  );
  const call = record.calls.find((one) => one.kind === 'approval' && one.call_id === input.request_id);
  if (action === undefined || call === undefined || !('request' in action)) {
    const kind = call === undefined ? 'unknown_approval' : 'settled_approval';
    throw badRequest(`Unknown pending approval request: ${input.request_id}`, null, kind);
  }
  if (action.request.type !== input.response.type) {
    throw badRequest(
      `The request is of type '${action.request.type}', the response of type '${input.response.type}'.`,
      'response.type',
    );
  }
  checkSignIn(action.request, input.response);
  return () => applyApproval(session, call, input);
}

function applyApproval(session: LiveSession, call: CallRecord, input: Approval): Effect {
  const { record } = session;
  const decision = 'decision' in input.response ? input.response.decision : input.response.action;
  call.state = 'answered';
  call.answer = decision;
  record.counters.approvals_accepted += 1;
  const turn = activeTurn(record);
  turn?.results.push({ name: 'approval', call_id: input.request_id, output_key: null, decision });
  session.commit([...signInItem(session, call, input), ...removeAction(session, turn, input.request_id)]);
  return 'applied';
}

function checkSignIn(
  request: { type: string; options?: unknown; fields?: unknown },
  response: Approval['response'],
): void {
  if (!('action' in response) || response.action !== 'submit') return;
  const chosen = 'selected_option' in response ? response.selected_option : null;
  if (Array.isArray(request.options) && request.options.length > 0 && (chosen ?? null) === null) {
    throw badRequest("Missing required parameter: 'response.selected_option'.", 'response.selected_option');
  }
  const wanted = (Array.isArray(request.fields) ? request.fields : []) as { id: string; required: boolean }[];
  for (const field of wanted) {
    const given = response.fields.find((one) => one.field_id === field.id)?.value ?? '';
    if (field.required && given === '') {
      throw badRequest(`Field '${field.id}' requires a nonempty value.`, 'response.fields');
    }
  }
}

/** Sign-in answers leave an item, without the values that were submitted. */
function signInItem(session: LiveSession, call: CallRecord, input: Approval): EventBody[] {
  const { response } = input;
  if (response.type !== 'browser_authentication') return [];
  const key = newId('cur');
  const shown =
    response.action === 'submit'
      ? { type: response.type, action: response.action, selected_option: response.selected_option ?? null }
      : { type: response.type, action: response.action };
  const item = {
    key,
    turn_id: call.turn_id,
    subagent_id: null,
    output_index: null,
    item: asItem({
      type: 'computer_use_approval_request_result',
      id: key,
      request_id: input.request_id,
      response: shown,
      turn_id: call.turn_id,
    }),
  };
  session.record.items.push(item);
  return [addedEvent(session.id, item)];
}
