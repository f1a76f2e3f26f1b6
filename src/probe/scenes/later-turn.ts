/** The second turn of a session: everything about its stream, steering, and repeated messages. */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../protocol/json.ts';
import { errorOf, isTaken, type Answer } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import type { ProbeSession } from '../session.ts';
import type { ProbeStream, StreamEvent } from '../stream.ts';
import { callBoth } from '../tools.ts';
import { Unasked } from '../unasked.ts';
import { Deadline, poll, together } from '../waiting.ts';
import { listRules } from './doors.ts';
import { twoResults } from './results.ts';
import { freshStream, messageShown, startOrder, streamFacts } from './stream-facts.ts';
import { age, landing, lastEvent, settle } from './turn-end.ts';
import { callsIn, messageEvent, type Call } from '../wire.ts';

/** What is asked of the calls of the turn. */
const OF_CALLS = ['S2', 'S3', 'Q3', 'Q4', 'Q5', 'Q6'] as const;
export const LATER_TURN = [...OF_CALLS, 'S1', 'S7', 'S11', 'S12', 'S13', 'Q1', 'Q2', 'Q15', 'Q18'] as const;

const LATER_WORDS = 'Thank you. (later)';

export async function laterTurn(scene: Scene): Promise<void> {
  const { session, stream } = await scene.main();
  await settle(scene, session);
  const before = (await session.newestTurn())?.id ?? null;
  const from = stream.events.length;
  const key = randomUUID();
  const message = messageEvent(callBoth('two'));
  const fresh = await scene.ask('Q18', async () => session.listen());
  try {
    const posted = await session.post([message], key);
    if (!isTaken(posted)) throw new Unasked(`a message to the idle session was refused with ${told(posted)}`);
    scene.note('S1', { events: String(posted.status) }, `message: ${posted.status}`);
    const turnId = await wholeTurn(scene, session, stream, { from, before });
    if (fresh !== null) await scene.ask('Q18', async () => freshStream(scene, fresh, turnId));
  } finally {
    fresh?.close();
  }
  await settle(scene, session);
  await repeatedMessage(scene, session, message, key);
  const get = async (path: string): Promise<Answer> => session.get(path.slice(session.path.length));
  await scene.ask('S13', async () => listRules(scene, 'items', `${session.path}/items`, get));
  await scene.ask('S13', async () => listRules(scene, 'turns', `${session.path}/turns`, get));
}

/** From the first event of the turn to its last; answers its id. */
async function wholeTurn(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  { from, before }: { from: number; before: string | null },
): Promise<string> {
  const { modelMs, quietMs } = scene.limits;
  const { id: turnId } = await session.turnAfter(before, modelMs);
  const steered = await scene.ask(OF_CALLS, async () =>
    duringLaterTurn(scene, session, stream, { from, before }),
  );
  await session.finish(modelMs, before);
  await lastEvent(scene, stream, turnId, new Deadline(quietMs));
  await scene.ask('S11', async () => startOrder(scene, stream, from));
  await scene.ask('S12', async () => messageShown(scene, stream, from));
  await streamFacts(scene, session, stream, turnId);
  if (steered === true) {
    await scene.ask('Q6', async () => {
      const where = await landing(scene, session, LATER_WORDS, turnId);
      scene.note('Q6', { later_turn: where }, `later turn: taken, ${where.replace('_', ' ')}`);
    });
  }
  return turnId;
}

/** While its calls wait for their results; true when a message was taken meanwhile. */
async function duringLaterTurn(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  { from, before }: { from: number; before: string | null },
): Promise<boolean> {
  const { modelMs: limitMs, quietMs } = scene.limits;
  const deadline = new Deadline(limitMs);
  const reading = scene.ask('Q4', async () => readAfterEvent(scene, session, stream, from, deadline));
  const calling = session
    .calls({ limitMs, gatherMs: quietMs, wanted: 2, after: before })
    .finally(() => deadline.shorten(quietMs));
  await together(calling, reading);
  const calls = await calling;
  await scene.ask('S2', async () => appearance(scene, stream, from, calls));
  await scene.ask('Q3', async () => shownAgain(scene, session, stream, from));
  const steered = await steer(scene, session);
  await scene.ask('Q5', async () => twoResults(scene, session, calls));
  return steered;
}

/** The stream says that calls are pending: does a read say so too? Runs beside the wait for them. */
async function readAfterEvent(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  from: number,
  deadline: Deadline,
): Promise<void> {
  const event = await stream.event(scene.signal, deadline, from, isAsking);
  if (event === null) throw new Unasked('the stream did not show that calls are pending');
  const named = callsOf(event).map(({ call_id }) => call_id);
  if (named.length === 0) throw new Unasked('the stream did not say which calls are pending');
  const seen = await poll(scene.signal, scene.limits.readMs, async () => {
    const pending = (await session.view()).calls.map(({ call_id }) => call_id);
    return named.every((id) => pending.includes(id)) ? true : undefined;
  });
  age(scene, 'session_after_call', seen);
}

async function appearance(
  scene: Scene,
  stream: ProbeStream,
  from: number,
  calls: readonly Call[],
): Promise<void> {
  if (calls.length < 2) throw new Unasked('the model did not make two calls at once');
  const counts = stream.events
    .slice(from)
    .filter(isAsking)
    .map((event) => ({ calls: callsOf(event).length, at: event.at }));
  const first = counts.find((event) => event.calls > 0);
  const both = counts.find((event) => event.calls >= 2);
  if (first === undefined || both === undefined)
    throw new Unasked('the stream did not show that both calls are pending');
  const atOnce = first === both;
  const gap = Math.round(both.at - first.at);
  scene.note(
    'S2',
    { appear: atOnce ? 'together' : 'one_by_one' },
    atOnce ? 'two calls appear together' : `two calls appear one by one, ${gap} ms apart`,
    atOnce ? {} : { gap_ms: gap },
  );
}

/** A second stream while calls are pending. What the first one brings meanwhile is no repetition. */
async function shownAgain(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  from: number,
): Promise<void> {
  const now = stream.events.length;
  const known = new Set(stream.events.slice(from).map(({ data }) => itemId(data)));
  const eventIds = new Set(stream.events.map(({ id }) => id));
  const second = await session.listen();
  try {
    const again = (): StreamEvent[] =>
      second.events.filter(({ data }) => itemId(data) !== null && known.has(itemId(data)));
    const statuses = (events: readonly StreamEvent[]): number =>
      events.filter(({ data }) => isRecord(data['session'])).length;
    const status = (): boolean => statuses(second.events) > statuses(stream.events.slice(now));
    await second.until(scene.signal, scene.limits.quietMs, () =>
      again().length > 0 && status() ? true : undefined,
    );
    const items = again();
    const same = items.some(({ id }) => eventIds.has(id));
    scene.note(
      'Q3',
      {
        items: items.length > 0 ? 'shown' : 'not_shown',
        status: status() ? 'shown' : 'not_shown',
        event_id: items.length === 0 ? 'none' : same ? 'same' : 'new',
      },
      `items ${items.length > 0 ? `shown again under ${same ? 'the same' : 'new'} event ids` : 'not shown again'}, ` +
        `the status ${status() ? 'shown' : 'not shown'}`,
    );
  } finally {
    second.close();
  }
}

/** A message while calls are pending; true when it was taken. */
async function steer(scene: Scene, session: ProbeSession): Promise<boolean> {
  if (!scene.context.wants('Q6') && !scene.context.wants('S3')) return false;
  const answer = await session.post([messageEvent(LATER_WORDS)], randomUUID());
  const retry = answer.headers.get('x-should-retry');
  const taken = isTaken(answer);
  const { code } = errorOf(answer);
  scene.note(
    'S3',
    taken ? { refused: 'no' } : { refused: `${answer.status} ${code ?? 'none'}`, retry: retry ?? 'none' },
    taken ? 'not refused' : `${told(answer)}, x-should-retry: ${retry ?? 'none'}`,
  );
  if (!taken) scene.note('Q6', { later_turn: outcomeOf(answer) }, `later turn: ${told(answer)}`);
  return taken;
}

/** After the turn: its message once more under its key, then another one under that key. */
async function repeatedMessage(
  scene: Scene,
  session: ProbeSession,
  message: Record<string, unknown>,
  key: string,
): Promise<void> {
  await scene.ask('Q1', async () => {
    const { answer, began } = await postedAgain(scene, session, message, key);
    const word = isTaken(answer) ? (began ? 'second_turn' : 'no_effect') : outcomeOf(answer);
    scene.note(
      'Q1',
      { same_message: word },
      `a repeated message: ${told(answer)}, ${began ? 'a second turn begins' : 'no second turn'} ` +
        '(for how long, and in which other sessions, was not asked)',
    );
  });
  await scene.ask('S7', async () => {
    const { answer, began } = await postedAgain(scene, session, messageEvent(callBoth('other')), key);
    const refusal = `${outcomeOf(answer)} ${errorOf(answer).code ?? 'none'}`;
    const word = isTaken(answer) ? (began ? 'applied' : 'no_effect') : refusal;
    scene.note(
      'S7',
      { other_body: word },
      `${told(answer)}${isTaken(answer) ? `, ${word.replace('_', ' ')}` : ''}`,
    );
  });
}

/** Posts to the idle session; a turn that begins is ended at once. */
async function postedAgain(
  scene: Scene,
  session: ProbeSession,
  message: Record<string, unknown>,
  key: string,
): Promise<{ answer: Answer; began: boolean }> {
  const before = (await session.newestTurn())?.id;
  const answer = await session.post([message], key);
  if (!isTaken(answer)) return { answer, began: false };
  const newer = await poll(scene.signal, scene.limits.quietMs, async () =>
    (await session.newestTurn())?.id === before ? undefined : true,
  );
  if (newer !== null) await settle(scene, session);
  return { answer, began: newer !== null };
}

function isAsking({ type }: StreamEvent): boolean {
  return type === 'agent.session.requires_action';
}

function callsOf({ data }: StreamEvent): Call[] {
  const session = data['session'];
  const actions = isRecord(session) ? session['required_actions'] : undefined;
  return Array.isArray(actions) ? callsIn(actions) : [];
}

function itemId(data: Record<string, unknown>): string | null {
  const item = data['item'];
  return isRecord(item) && typeof item['id'] === 'string' ? item['id'] : null;
}
