/** How a turn ends, how soon reads show it, and where a message landed. */
import type { Scene } from '../scene.ts';
import type { ProbeSession } from '../session.ts';
import type { ProbeStream, StreamEvent } from '../stream.ts';
import { Unasked } from '../unasked.ts';
import { poll, together, type Deadline } from '../waiting.ts';
import { CANCEL_EVENT, isEnded, userWords } from '../wire.ts';

/** The time between two reads that decide something in Holdfast. */
const SPACED_READS_MS = 2000;

/** Notes how old a read was: `looks` 1 means that the first one showed the new state. */
export function age(scene: Scene, part: string, seen: { looks: number; ms: number } | null): void {
  const ms = Math.round(seen?.ms ?? scene.limits.readMs);
  const fresh = seen?.looks === 1;
  const late = seen !== null && ms <= SPACED_READS_MS;
  const what = part.replaceAll('_', ' ');
  const words = fresh ? 'fresh' : seen === null ? `old after ${ms} ms still` : `old for ${ms} ms`;
  scene.note('Q4', { [part]: fresh ? 'fresh' : late ? 'late' : 'too_late' }, `${what}: ${words}`, {
    [`${part}_ms`]: fresh ? 0 : ms,
  });
}

/** The last event of a turn, or null when it does not come in time. */
export async function lastEvent(
  scene: Scene,
  stream: ProbeStream,
  turnId: string,
  deadline: Deadline,
): Promise<StreamEvent | null> {
  return stream.event(scene.signal, deadline, 0, (event) => isEndOf(event, turnId));
}

/** True when a stream was over before the end of the turn: what it did not show proves nothing. */
export function isCutShort(stream: ProbeStream, turnId: string): boolean {
  return stream.ended !== null && !stream.events.some((event) => isEndOf(event, turnId));
}

function isEndOf({ type, data }: StreamEvent, turnId: string): boolean {
  return isEnded(type.replace('agent.session.turn.', '')) && data['turn_id'] === turnId;
}

/**
 * Waits for the end of the turn on the stream, and sees how soon reads show it. Runs beside what ends the turn;
 * `idleFollows` is asked when it has ended.
 */
export async function measureEnd(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  turnId: string,
  deadline: Deadline,
  idleFollows: () => boolean,
): Promise<void> {
  const { signal, limits } = scene;
  await scene.ask('Q4', async () => {
    const ended = await lastEvent(scene, stream, turnId, deadline);
    if (ended === null) throw new Unasked('the end of the turn was not on the stream');
    const from = stream.events.indexOf(ended);
    const idle = async (): Promise<void> => {
      if (!idleFollows()) throw new Unasked('a message waited, so that the session did not become idle');
      const event = await stream.event(
        signal,
        limits.quietMs,
        from,
        ({ type }) => type === 'agent.session.idle',
      );
      if (event === null) throw new Unasked('the stream did not show the idle session');
      const read = await poll(signal, limits.readMs, async () =>
        (await session.view()).status === 'idle' ? true : undefined,
      );
      age(scene, 'session_after_end', read);
    };
    const turn = async (): Promise<void> => {
      const read = await poll(signal, limits.readMs, async () =>
        isEnded((await session.turn(turnId)).status) ? true : undefined,
      );
      age(scene, 'turn_after_end', read);
    };
    await together(turn(), idle());
  });
}

/** When the usage of the turn is known. Runs beside what ends the turn. */
export async function usage(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  turnId: string,
  deadline: Deadline,
): Promise<void> {
  const last = await lastEvent(scene, stream, turnId, deadline);
  if (last !== null) {
    const inEvent = (last.data['usage'] ?? null) === null ? 'null' : 'numbers';
    scene.note('H5', { in_event: inEvent }, `in the last event: ${inEvent}`);
  }
  const begun = performance.now();
  const read = await poll(scene.signal, scene.limits.readMs, async () => {
    const turn = await session.turn(turnId);
    if (last === null && !isEnded(turn.status)) throw new Unasked('the turn did not end');
    return turn.usage === null ? undefined : true;
  });
  const ms = Math.round(performance.now() - (last?.at ?? begun));
  scene.note(
    'H5',
    { read: read === null ? 'not_shown' : 'shown' },
    read === null ? `never read within ${ms} ms` : `read after ${ms} ms`,
    read === null ? {} : { usage_ms: ms },
  );
  if (last === null) throw new Unasked('the end of the turn was not on the stream');
}

/** Where a message that was taken during a turn is found, once that turn has ended. */
export async function landing(
  scene: Scene,
  session: ProbeSession,
  words: string,
  turnId: string,
): Promise<'joins' | 'next_turn' | 'lost'> {
  const found = await poll(scene.signal, scene.limits.readMs, async () =>
    (await session.allItems()).find((item) => userWords(item) === words),
  );
  if (found === null) return 'lost';
  return found.found['turn_id'] === turnId ? 'joins' : 'next_turn';
}

/** Ends whatever turn still runs, and waits until the session is idle. */
export async function settle(scene: Scene, session: ProbeSession): Promise<void> {
  const { signal, limits } = scene;
  const turn = await session.newestTurn();
  if (turn !== null && !isEnded(turn.status)) {
    await session.post([CANCEL_EVENT]);
    await poll(signal, limits.modelMs, async () =>
      isEnded((await session.newestTurn())?.status) ? true : undefined,
    );
  }
  await session.idle(limits.modelMs);
}
