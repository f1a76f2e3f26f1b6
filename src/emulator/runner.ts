/** Plays a turn: one step after the other until the script ends it, someone stops it, or it fails. */
import { Stopped, type LiveSession } from './live-session.ts';
import { activeTurn, type TurnRecord } from './records.ts';
import { nextStep } from './script-choice.ts';
import { playStep } from './steps.ts';
import { addUserItems, endTurn, textOf, type Ending } from './turns.ts';

/** A script that never ends would fill the disk; no sensible turn has this many steps. */
const MAX_STEPS = 10_000;

/** Starts or resumes the active turn of a session, if it has one. */
export function startRunner(session: LiveSession): void {
  const turn = activeTurn(session.record);
  if (turn === undefined) return;
  stopRunner(session);
  const control = new AbortController();
  session.runner = control;
  const playing = turn.cancel_at_ms === null ? play(session, turn, control.signal) : undefined;
  void (playing ?? finishCancel(session, turn, control.signal)).catch((error: unknown) => {
    if (error instanceof Stopped) return;
    session.world.log(`turn ${turn.turn.id} broke: ${String(error)}`);
    finish(session, turn, {
      status: 'failed',
      error: { code: 'internal_error', message: `the script broke: ${(error as Error).message}` },
    });
  });
}

/** Stops playing; the record stays as it is. */
export function stopRunner(session: LiveSession): void {
  session.runner?.abort();
  session.runner = null;
}

/** Ends the active turn from outside the script and goes on with the next one, if a message is queued. */
export function finish(session: LiveSession, turn: TurnRecord, ending: Ending): void {
  stopRunner(session);
  if (endTurn(session, turn, ending)) startRunner(session);
}

async function play(session: LiveSession, turn: TurnRecord, signal: AbortSignal): Promise<void> {
  const { settings, scripts } = session.world;
  while (turn.steps_done < MAX_STEPS) {
    await session.pause(settings.stepMs, signal);
    if (turn.current === null) {
      let step = nextStep(scripts, session.record, turn);
      // A turn with nothing left to do takes no more messages: they begin the next turn instead.
      if (step !== null && steer(session, turn)) step = nextStep(scripts, session.record, turn);
      if (step === null) return finish(session, turn, { status: 'completed' });
      turn.current = { step, started_ms: Date.now(), phase: 0 };
    }
    const ending = await playStep(session, turn, turn.current, signal);
    if (ending === 'session_failed') return;
    if (ending !== null) return finish(session, turn, ending);
  }
  throw new Error(`more than ${MAX_STEPS} steps in a turn`);
}

/** Messages that came meanwhile join the turn at the boundary between two steps (agents-api.md 7). */
function steer(session: LiveSession, turn: TurnRecord): boolean {
  const { queue } = session.record;
  const joining = queue.filter(({ waits }) => waits !== true);
  if (joining.length === 0) return false;
  session.record.queue = queue.filter(({ waits }) => waits === true);
  const events = joining.flatMap((message) => {
    turn.messages.push(textOf(message));
    return addUserItems(session, turn, message);
  });
  session.commit(events);
  return true;
}

async function finishCancel(session: LiveSession, turn: TurnRecord, signal: AbortSignal): Promise<void> {
  await session.pause(Math.max(0, (turn.cancel_at_ms ?? 0) - Date.now()), signal);
  finish(session, turn, { status: 'cancelled' });
}
