/**
 * The steps of a script. Each can be entered twice (before and after a restart): what it did already
 * stands in the record, and the change that finishes it is committed together with `steps_done`.
 */
import { addedEvent } from './items.ts';
import type { LiveSession } from './live-session.ts';
import { activeTurn, type CurrentStep, type TurnRecord } from './records.ts';
import type { Step } from './script.ts';
import { playAsk, playCall } from './steps-call.ts';
import { playSubagent } from './steps-subagent.ts';
import { playReason, playSay } from './steps-text.ts';
import { addRawItem, failSession, sessionEvent, type Ending } from './turns.ts';
import { asEvent } from './wire.ts';

/** Plays one step; answers how it ended the turn, or null when the turn goes on. Throws `Stopped`. */
export async function playStep(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  signal: AbortSignal,
): Promise<Ending | 'session_failed' | null> {
  const step: Step = current.step;
  if ('say' in step) await playSay(session, turn, current, step, signal);
  else if ('reason' in step) await playReason(session, turn, current, step, signal);
  else if ('call' in step) return playCall(session, turn, current, step, signal);
  else if ('ask' in step) return playAsk(session, turn, current, step, signal);
  else if ('subagent' in step) await playSubagent(session, turn, current, step.subagent, signal);
  else if ('wait_ms' in step) {
    await session.pause(Math.max(0, current.started_ms + step.wait_ms - Date.now()), signal);
    session.finishStep(turn);
  } else if ('wait_for' in step) {
    const wanted = step.wait_for;
    await session.until(() => wanted === 'message' && session.record.queue.length > 0, signal);
    session.finishStep(turn);
  } else if ('fail' in step) {
    return { status: 'failed', error: step.fail };
  } else if ('fail_session' in step) {
    failSession(session, step.fail_session);
    return 'session_failed';
  } else if ('budget' in step) {
    await playBudget(session, turn, current, signal);
  } else if ('event' in step) {
    const { event } = step;
    session.finishStep(turn, [asEvent({ session_id: session.id, turn_id: turn.turn.id, ...event })]);
  } else {
    const item = addRawItem(session, turn, step.item);
    session.finishStep(turn, [addedEvent(session.id, item)]);
  }
  return null;
}

/** Pauses the session in mid-turn until an update raises or removes its limit. */
async function playBudget(
  session: LiveSession,
  turn: TurnRecord,
  current: CurrentStep,
  signal: AbortSignal,
): Promise<void> {
  const { record } = session;
  if (current.phase === 0) {
    current.phase = 1;
    record.status = 'budget_reached';
    session.commit([sessionEvent(session, 'budget_reached')]);
  }
  await session.until(() => record.status !== 'budget_reached', signal);
  session.finishStep(turn);
}

/** Goes on after the spending limit was changed. */
export function liftBudget(session: LiveSession): void {
  const { record } = session;
  if (record.status !== 'budget_reached') return;
  record.status = activeTurn(record) === undefined ? 'idle' : 'in_progress';
  session.commit([sessionEvent(session, record.status === 'idle' ? 'idle' : 'in_progress')]);
}
