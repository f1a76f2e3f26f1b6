/**
 * How large a result may be, and a cancel. The large result answers one of two pending calls: the model is not asked
 * before it has both (agents-api.md 2.1), and the cancel comes first, so the bytes cost nothing.
 */
import { randomUUID } from 'node:crypto';
import { isTaken } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import type { ProbeSession } from '../session.ts';
import { callBoth } from '../tools.ts';
import { Unasked } from '../unasked.ts';
import type { ProbeStream } from '../stream.ts';
import { Deadline, poll } from '../waiting.ts';
import { lastEvent, settle } from './turn-end.ts';
import { CANCEL_EVENT, isEnded, messageEvent, type Call } from '../wire.ts';

export const LARGE_RESULT = ['Q13', 'H3'] as const;

const KIB = 1024;
/** Holdfast's own default limit of a result. */
const DEFAULT_LIMIT = 256 * KIB;
/** Above the one limit that is documented, 4 MiB for all that a model is given. */
const TOO_LARGE = 4 * KIB * KIB + 64 * KIB;

export async function largeResult(scene: Scene): Promise<void> {
  const { session, stream } = await scene.main();
  const { limits } = scene;
  await settle(scene, session);
  const before = (await session.newestTurn())?.id ?? null;
  const posted = await session.post([messageEvent(callBoth('three'))], randomUUID());
  if (!isTaken(posted)) throw new Unasked(`a message to the idle session was refused with ${told(posted)}`);
  const { modelMs: limitMs, quietMs: gatherMs } = limits;
  const calls = await scene.ask(['Q13', 'H3'], async () =>
    session.calls({ limitMs, gatherMs, wanted: 2, after: before }),
  );
  const [left, right] = calls ?? [];
  if (left !== undefined) {
    await scene.ask('Q13', async () => {
      if (right === undefined)
        throw new Unasked('the model made one call only: a large answer would cost money');
      await sizes(scene, session, left);
    });
    await scene.ask('H3', async () => cancel(scene, session, stream, left.turn_id));
  }
  await settle(scene, session);
  await scene.ask('H3', async () => {
    const again = await session.post([CANCEL_EVENT]);
    scene.note('H3', { idle: outcomeOf(again) }, `on the idle session: ${told(again)}`);
  });
}

async function sizes(scene: Scene, session: ProbeSession, left: Call): Promise<void> {
  const large = await session.answer(left, 'x'.repeat(TOO_LARGE));
  const usual = isTaken(large) ? large : await session.answer(left, 'x'.repeat(DEFAULT_LIMIT));
  scene.note(
    'Q13',
    { over_4_mib: outcomeOf(large), kib_256: outcomeOf(usual) },
    `4160 KiB: ${told(large)}, 256 KiB: ${isTaken(large) ? 'not needed' : told(usual)}`,
  );
}

/** Cancels the turn while calls of it are pending. */
async function cancel(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  turnId: string,
): Promise<void> {
  const { signal, limits } = scene;
  const begun = performance.now();
  const answer = await session.post([CANCEL_EVENT]);
  const ended = await poll(signal, limits.modelMs, async () => {
    const { status } = await session.turn(turnId);
    return isEnded(status) ? status : undefined;
  });
  const word = ended?.found ?? 'still_running';
  // A read may be old: the stream knows better when the turn ended.
  const last = await lastEvent(scene, stream, turnId, new Deadline(limits.quietMs));
  const ms = Math.round(last === null ? (ended?.ms ?? 0) : Math.max(0, last.at - begun));
  scene.note(
    'H3',
    { turn: isTaken(answer) ? word : outcomeOf(answer) },
    isTaken(answer) ? `the turn is ${word.replace('_', ' ')} after ${ms} ms` : `refused: ${told(answer)}`,
    { cancel_ms: ms },
  );
}
