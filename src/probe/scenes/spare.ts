/** A session to throw away: made under the main session's key, cancelled, listened to by many, deleted. */
import { errorOf, isTaken } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import { RESULT, type ProbeSession } from '../session.ts';
import type { ProbeStream } from '../stream.ts';
import { twoToolBody } from '../tools.ts';
import { Unasked } from '../unasked.ts';
import { poll } from '../waiting.ts';
import { settle } from './turn-end.ts';
import { isEnded, resultEvent } from '../wire.ts';

export const SPARE = ['S6', 'S8', 'S10', 'H2', 'Q7'] as const;

/** The most that were seen on one server, and two more. */
const MAX_STREAMS = 66;

export async function spare(scene: Scene): Promise<void> {
  const { ledger, notes } = scene.context;
  const { limits, signal } = scene;
  const session = await make(scene);
  const stream = await session.listen();
  const { modelMs: limitMs, quietMs: gatherMs } = limits;
  const calls = await scene.ask('S6', async () =>
    session.calls({ limitMs, gatherMs, wanted: 1, after: null }),
  );
  await ledger.count(session, signal);
  const gone = (await scene.ask('H2', async () => deleteBusy(scene, session))) ?? false;
  if (gone) {
    for (const id of ['S10', 'Q7', 'S6']) notes.unasked(id, 'the session was gone before');
  } else {
    await settle(scene, session);
    const [dropped] = calls ?? [];
    if (dropped !== undefined) {
      await scene.ask('S6', async () => {
        const answer = await session.post([resultEvent(dropped, RESULT)]);
        scene.note('S6', { after_cancel: outcomeOf(answer) }, `after a cancel: ${told(answer)}`);
      });
    }
    await scene.ask(['S10', 'Q7'], async () => manyStreams(scene, session, stream));
    await ledger.count(session, signal);
  }
  await scene.ask('H2', async () => {
    // A server may end a stream with the turn.
    const heard = gone || stream.ended === null ? stream : await session.listen();
    if (!gone) {
      const answer = await session.delete();
      if (!isTaken(answer)) throw new Unasked(`deleting the idle session gave ${told(answer)}`);
    }
    await afterDelete(scene, session, heard);
    heard.close();
  });
  stream.close();
}

/** The same create once more, under the same key; where that gives no new session, another one. */
async function make(scene: Scene): Promise<ProbeSession> {
  const { context, signal } = scene;
  const { main } = context;
  if (main === null) throw new Unasked('there is no first session');
  if (context.wants('S8')) {
    const { answer, session } = await context.ledger.create(main.createBody, signal, main.createKey);
    const word =
      session === null
        ? outcomeOf(answer)
        : session.id === main.session.id
          ? 'same_session'
          : 'second_session';
    scene.note('S8', { same_key: word }, `${told(answer)}, ${word.replace('_', ' ')}`);
    if (session !== null && session.id !== main.session.id) return session;
  }
  const { answer, session } = await context.ledger.create(twoToolBody(context), signal);
  if (session === null) throw new Unasked(`another session was refused with ${told(answer)}`);
  return session;
}

/** Deletes in mid-turn; true when the session went. */
async function deleteBusy(scene: Scene, session: ProbeSession): Promise<boolean> {
  const turn = await session.turnAfter(null, scene.limits.modelMs);
  if (isEnded(turn.status)) throw new Unasked('the turn had ended before');
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
  if (gone !== null) scene.context.ledger.markGone(session.id);
  await stream.until(signal, limits.quietMs, () => stream.ended ?? undefined);
  const ends = stream.ended !== null;
  const again = await session.delete();
  scene.note(
    'H2',
    { read_after: status, stream: ends ? 'ends' : 'stays', again: outcomeOf(again) },
    `after it a read gives ${status}, its stream ${ends ? 'ends' : 'stays open'}, a repeat gives ${told(again)}`,
  );
}

/** Opens streams beside the one that is open, until one is refused. */
async function manyStreams(scene: Scene, session: ProbeSession, stream: ProbeStream): Promise<void> {
  const open = [stream];
  try {
    while (open.length < MAX_STREAMS) {
      const answer = await session.open();
      if ('events' in answer) {
        open.push(answer);
        continue;
      }
      const count = open.filter(({ ended }) => ended === null).length;
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
    for (const beside of open.slice(1)) beside.close();
  }
}
