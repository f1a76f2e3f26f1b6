/** What a stream tells by itself: when it begins, in which order, how complete. */
import { isRecord } from '../../protocol/json.ts';
import type { Scene } from '../scene.ts';
import type { ProbeSession } from '../session.ts';
import type { ProbeStream, StreamEvent } from '../stream.ts';
import { Unasked } from '../unasked.ts';
import { isCutShort } from './turn-end.ts';

const CREATED = 'agent.session.turn.created';
const WORKING = 'agent.session.in_progress';

/** A stream that was opened right before the message of an ended turn was posted: is the turn's first event on it? */
export function freshStream(scene: Scene, fresh: ProbeStream, turnId: string): void {
  const own = fresh.events.filter(({ data }) => data['turn_id'] === turnId);
  const seen = own.some(({ type }) => type === CREATED);
  // Until then at the most: the turn may have been silent in between.
  const ms = Math.round((own[0]?.at ?? performance.now()) - fresh.openedAt);
  scene.note(
    'Q18',
    { first_event: seen ? 'seen' : 'missed' },
    seen
      ? 'the turn is seen from its start'
      : `the first event of the turn is seen after ${ms} ms, in mid-turn`,
    seen ? {} : { deaf_ms: ms },
  );
}

/** The order of the user item and the session's change of status. */
export async function startOrder(scene: Scene, stream: ProbeStream, from: number): Promise<void> {
  const { signal, limits } = scene;
  const [item, working] = await Promise.all([
    stream.event(signal, limits.quietMs, from, isUserItem),
    stream.event(signal, limits.quietMs, from, ({ type }) => type === WORKING),
  ]);
  if (item === null || working === null)
    throw new Unasked('the stream did not show the user item and the status');
  const itemFirst = stream.events.indexOf(item) < stream.events.indexOf(working);
  scene.note(
    'S11',
    { first: itemFirst ? 'user_item' : 'in_progress' },
    itemFirst ? 'the user item' : 'session.in_progress',
  );
}

/** The form in which an answer is announced. */
export async function messageShown(scene: Scene, stream: ProbeStream, from: number): Promise<void> {
  const added = await stream.event(scene.signal, scene.limits.quietMs, from, ({ type, data }) => {
    const item = data['item'];
    const answer = isRecord(item) && item['type'] === 'message' && item['role'] === 'assistant';
    return type.endsWith('.item.added') && answer;
  });
  if (added === null) throw new Unasked('the model wrote no message');
  const content = isRecord(added.data['item']) ? added.data['item']['content'] : undefined;
  const parts = Array.isArray(content) ? (content as unknown[]) : [];
  const empty = parts.every((part) => isRecord(part) && (part['text'] ?? '') === '');
  const word = parts.length === 0 ? 'no_part' : empty && parts.length === 1 ? 'one_empty_part' : 'text';
  scene.note('S12', { new_message: word }, word.replaceAll('_', ' '));
}

/** After a turn: was everything that is saved on the stream, and each event under an id of its own? */
export async function streamFacts(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  turnId: string,
): Promise<void> {
  await scene.ask('Q2', async () => {
    if (isCutShort(stream, turnId)) throw new Unasked('the stream was over before the turn');
    const saved = (await session.items(turnId)).map((item) => item['id']).filter((id) => id !== null);
    const shown = new Set(
      stream.events.map(({ data }) => (isRecord(data['item']) ? data['item']['id'] : null)),
    );
    const missing = saved.filter((id) => !shown.has(id)).length;
    scene.note(
      'Q2',
      { missing: missing === 0 ? 'nothing' : 'something' },
      `${missing} of ${saved.length} saved items of one turn were not on the stream (no guarantee)`,
    );
  });
  await scene.ask('Q15', async () => {
    const ids = stream.events.map(({ id }) => id);
    const repeated = ids.length - new Set(ids).size;
    const none = ids.filter((id) => id === null).length;
    scene.note(
      'Q15',
      { event_ids: none > 0 ? 'missing' : repeated > 0 ? 'repeated' : 'unique' },
      `${repeated} of ${ids.length} ids seen before`,
      { share: ids.length === 0 ? 0 : Math.round((repeated / ids.length) * 100) / 100 },
    );
  });
}

function isUserItem({ type, data }: StreamEvent): boolean {
  const item = data['item'];
  return type.endsWith('.item.added') && isRecord(item) && item['role'] === 'user';
}
