/**
 * Post-and-reconcile: brings one posting to the session and finds out what became of it (I3, I4).
 *
 * A refusal is never the last word: a result may be refused because the call was not registered yet, because it
 * was taken before (the 202 was lost), or because nobody wants it any more. Only reads tell, and since a read may
 * be stale, two of them some time apart (agents-api.md 5.4, 12). What is no fault of the posting (a rejected key, an
 * account without money, 404, 429, 5xx, a lost connection) leaves as ApiError: a retry posts the same bytes under the
 * same key.
 */
import { faultPoint } from '../faults/fault-point.ts';
import type { PostOutcome, Posting, ResultPosting } from '../protocol/activities.ts';
import { callKey, owed } from '../protocol/calls.ts';
import { firstTurnAfter, isTerminal } from '../protocol/outcome.ts';
import { canonicalJson } from '../protocol/json.ts';
import type { InputEvent, Item } from '../protocol/wire.ts';
import type { AgentsApi } from './agents-api.ts';
import { ApiError } from './api-error.ts';
import { resultPostKey } from './keys.ts';
import type { Log } from './log.ts';
import { sleep } from './sleep.ts';

/** The client library's own schedule for a result that came before its call was registered. */
const EARLY_RESULT_PAUSES_MS = [100, 300, 600];
const UNKNOWN_CALL = 'Unknown pending tool call';
/** Between the two reads that decide. */
const SPACED_READ_MS = 2000;

export interface DeliverContext {
  api: AgentsApi;
  sessionId: string;
  signal: AbortSignal;
  log: Log;
  /** The newest root turn that is not ours, while none of ours is known. */
  afterTurnId?: string | null;
}

/** Posts one posting and says what became of it. Throws ApiError when a retry or a person is needed. */
export async function deliver(context: DeliverContext, posting: Posting): Promise<PostOutcome> {
  if (posting.kind === 'message') return deliverMessage(context, posting);
  if (posting.kind === 'cancel') return deliverCancel(context, posting.key);
  return deliverResult(context, posting);
}

async function deliverMessage(
  context: DeliverContext,
  posting: Extract<Posting, { kind: 'message' }>,
): Promise<PostOutcome> {
  const done = (outcome: PostOutcome['outcome'], detail?: string): PostOutcome => ({
    kind: 'message',
    key: posting.key,
    outcome,
    ...(detail ? { detail } : {}),
  });
  const refusal = await post(
    context,
    { type: 'agent.session.input.message', input: posting.input },
    posting.key,
  );
  faultPoint('input.posted');
  if (!refusal) return done('accepted');
  // The running turn takes no steering: the message waits for its end (agents-api.md 5.7, 12).
  if (refusal.kind === 'conflict' && !isReusedKey(refusal)) return done('still_required', refusal.message);
  return done('refused', refusal.told);
}

async function deliverCancel(context: DeliverContext, key: string): Promise<PostOutcome> {
  const refusal = await post(context, { type: 'agent.session.input.cancel' }, key);
  if (refusal) return { kind: 'cancel', key, outcome: 'unwanted', detail: refusal.message };
  return { kind: 'cancel', key, outcome: (await isIdle(context)) ? 'idle' : 'accepted' };
}

/** True when no turn of ours has begun: of a cancellation that had nothing to cancel, no event ever comes. */
async function isIdle(context: DeliverContext): Promise<boolean> {
  const { api, sessionId, signal, afterTurnId } = context;
  if (afterTurnId === undefined) return false;
  for (const pause of [0, SPACED_READ_MS]) {
    await sleep(pause, signal);
    const [session, turns] = await Promise.all([
      api.getSession(sessionId, signal),
      api.newestTurns(sessionId, 20, signal),
    ]);
    if (session.status !== 'idle' || firstTurnAfter(turns, afterTurnId)) return false;
  }
  return true;
}

async function deliverResult(context: DeliverContext, posting: ResultPosting): Promise<PostOutcome> {
  const { turn_id, call_id, result, repeat = 0 } = posting;
  const done = (outcome: PostOutcome['outcome'], detail?: string): PostOutcome => ({
    kind: 'tool_result',
    key: callKey(posting),
    outcome,
    ...(detail ? { detail } : {}),
  });
  const { success, output, error } = result;
  // Field by field: nothing else that a result may carry gets into the event.
  const event: InputEvent = {
    type: 'agent.session.input.tool_result',
    turn_id,
    call_id,
    success,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
  };
  const key = resultPostKey(context.sessionId, turn_id, call_id, JSON.stringify(event), repeat);

  faultPoint('result.before_post');
  let refusal = await post(context, event, key);
  for (const pause of EARLY_RESULT_PAUSES_MS) {
    if (!isUnknownCall(refusal)) break;
    await sleep(pause, context.signal);
    refusal = await post(context, event, key);
  }
  faultPoint('result.posted');
  if (!refusal) return done('accepted');
  if (isReusedKey(refusal) || (refusal.kind !== 'conflict' && !isUnknownCall(refusal)))
    return done('refused', refusal.message);

  if (!(await isRequired(context, posting))) {
    await sleep(SPACED_READ_MS, context.signal);
    if (!(await isRequired(context, posting))) {
      if (await hasResult(context, posting)) return done('accepted');
      context.log.info('the service no longer waits for this result', {
        turn_id,
        call_id,
        status: refusal.status,
      });
      return done('unwanted', refusal.message);
    }
  }
  return done('still_required', refusal.message);
}

/** True when the session still asks for the call. A turn that has ended asks for nothing. */
async function isRequired(
  context: DeliverContext,
  call: { turn_id: string; call_id: string },
): Promise<boolean> {
  const [session, turn] = await Promise.all([
    context.api.getSession(context.sessionId, context.signal),
    context.api.findTurn(context.sessionId, call.turn_id, context.signal),
  ]);
  if (turn && isTerminal(turn)) return false;
  return owed(session.required_actions).calls.some((required) => callKey(required) === callKey(call));
}

/** True when the turn holds this very result: an earlier post was taken, and only its reply was lost. */
async function hasResult(
  context: DeliverContext,
  { turn_id, call_id, result }: ResultPosting,
): Promise<boolean> {
  const same = (item: Item): boolean =>
    result.success
      ? canonicalJson(item.output ?? null) === canonicalJson(result.output ?? null)
      : item.error === result.error;
  try {
    const items = await context.api.turnItems(context.sessionId, turn_id, context.signal);
    return items.some(
      (item) => item.type === 'function_call_output' && item.call_id === call_id && same(item),
    );
  } catch (error) {
    // A turn that is not to be found shows nothing.
    if (error instanceof ApiError && error.kind === 'not_found') return false;
    throw error;
  }
}

function isUnknownCall(refusal: ApiError | null): boolean {
  return refusal?.status === 400 && refusal.detail.includes(UNKNOWN_CALL);
}

/** The key came with another body before (agents-api.md 12): a mistake of ours that no retry mends. */
function isReusedKey(refusal: ApiError): boolean {
  return refusal.code === 'idempotency_conflict';
}

/** Posts; returns a refusal that reads can explain, throws everything else. */
async function post(context: DeliverContext, event: InputEvent, key: string): Promise<ApiError | null> {
  try {
    await context.api.postEvent(context.sessionId, event, key, context.signal);
    return null;
  } catch (error) {
    if (error instanceof ApiError && (error.kind === 'conflict' || error.kind === 'invalid')) return error;
    throw error;
  }
}
