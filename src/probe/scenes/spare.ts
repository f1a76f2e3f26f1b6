/** A session to throw away: made under the main session's key, cancelled, listened to by many, deleted. */
import { errorOf, isTaken } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import { CANCEL_EVENT, isEnded, RESULT, resultEvent, type Call, type ProbeSession } from '../session.ts';
import type { ProbeStream } from '../stream.ts';
import { twoToolBody } from '../tools.ts';
import { Unasked } from '../unasked.ts';
import { poll } from '../waiting.ts';

export const SPARE = ['S6', 'S8', 'S10', 'H2', 'Q7'] as const;

/** The most that were seen on one server, and two more. */
const MAX_STREAMS = 66;

export async function spare(scene: Scene): Promise<void> {
  const { ledger } = scene.context;
  const { limits } = scene;
  const session = await make(scene);
  const stream = await session.listen();
  const { modelMs: limitMs, quietMs: gatherMs } = limits;
  let call: Call | undefined;
  await scene.ask('S6', async () => {
    [call] = await session.calls({ limitMs, gatherMs, wanted: 1, after: null });
  });
  await ledger.count(session);
  let gone = false;
  await scene.ask('H2', async () => {
    gone = await deleteBusy(scene, session);
    if (gone) ledger.markGone(session.id);
  });
  if (!gone) {
    await session.post([CANCEL_EVENT]);
    const ended = await poll(scene.signal, limits.modelMs, async () =>
      isEnded((await session.newestTurn())?.status) ? true : undefined,
    );
    const dropped = call;
    if (ended !== null && dropped !== undefined) {
      await scene.ask('S6', async () => {
        const answer = await session.post([resultEvent(dropped, RESULT)]);
        scene.note('S6', { after_cancel: outcomeOf(answer) }, `after a cancel: ${told(answer)}`);
      });
    }
    await session.idle(limits.modelMs);
    if (scene.context.wants('S10') || scene.context.wants('Q7')) await manyStreams(scene, session);
  } else {
    for (const id of ['S10', 'Q7', 'S6']) scene.context.notes.unasked(id, 'the session was gone before');
  }
  await scene.ask('H2', async () => {
    if (!gone) {
      const answer = await session.delete();
      if (!isTaken(answer)) throw new Unasked(`deleting the idle session gave ${told(answer)}`);
      ledger.markGone(session.id);
    }
    await afterDelete(scene, session, stream);
  });
  stream.close();
}

/** The same create once more, under the same key; where that gives no new session, another one. */
async function make(scene: Scene): Promise<ProbeSession> {
  const { context, signal } = scene;
  const { session: main, createKey, createBody } = scene.main();
  if (context.wants('S8')) {
    const { answer, session } = await context.ledger.create(createBody, signal, createKey);
    const word =
      session === null ? outcomeOf(answer) : session.id === main.id ? 'same_session' : 'second_session';
    scene.note('S8', { same_key: word }, `${told(answer)}, ${word.replace('_', ' ')}`);
    if (session !== null && session.id !== main.id) return session;
  }
  const { answer, session } = await context.ledger.create(twoToolBody(context), signal);
  if (session === null) throw new Unasked(`another session was refused with ${told(answer)}`);
  return session;
}

/** Deletes in mid-turn; true when the session went. */
async function deleteBusy(scene: Scene, session: ProbeSession): Promise<boolean> {
  const turn = await session.newestTurn();
  if (turn === null || isEnded(turn.status)) return false;
  const answer = await session.delete();
  scene.note('H2', { busy: outcomeOf(answer) }, `in mid-turn: ${told(answer)}`);
  return isTaken(answer);
}

async function afterDelete(scene: Scene, session: ProbeSession, stream: ProbeStream): Promise<void> {
  const { signal, limits } = scene;
  const gone = await poll(signal, limits.readMs, async () => {
    const { status } = await session.get();
    return status >= 400 ? status : undefined;
  });
  const status = gone === null ? 'still there' : String(gone.found);
  await stream.until(signal, limits.quietMs, () => stream.ended ?? undefined);
  const ends = stream.ended !== null;
  const again = await session.delete();
  scene.note(
    'H2',
    { read_after: status, stream: ends ? 'ends' : 'stays', again: outcomeOf(again) },
    `after it a read gives ${status}, its stream ${ends ? 'ends' : 'stays open'}, a repeat gives ${told(again)}`,
  );
}

/** Opens streams beside the one that is open, until one is refused. They end with the session. */
async function manyStreams(scene: Scene, session: ProbeSession): Promise<void> {
  const open: ProbeStream[] = [];
  try {
    for (let count = 1; count < MAX_STREAMS; count += 1) {
      const answer = await session.open();
      if ('events' in answer) {
        open.push(answer);
        continue;
      }
      scene.note('S10', { streams: String(count) }, `one more than ${count} is refused with ${told(answer)}`);
      const { type, code } = errorOf(answer);
      const wait = answer.headers.get('retry-after') ?? answer.headers.get('retry-after-ms');
      scene.note(
        'Q7',
        {
          status: String(answer.status),
          error: `${type ?? 'none'}/${code ?? 'none'}`,
          retry_after: wait === null ? 'none' : 'given',
        },
        `too many streams: ${told(answer)}, retry-after: ${wait ?? 'none'}`,
      );
      return;
    }
    scene.note('S10', { streams: 'more' }, `${MAX_STREAMS} are taken`);
    scene.context.notes.unasked('Q7', 'nothing was refused for its number, and more would be rude');
  } finally {
    for (const stream of open) stream.close();
  }
}
