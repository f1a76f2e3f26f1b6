/** The first turn of a session: creation, lists, and everything about single results. */
import { randomUUID } from 'node:crypto';
import { isTaken, type Answer } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import { listIn, messageEvent, RESULT, resultEvent, type Call, type ProbeSession } from '../session.ts';
import type { ProbeStream } from '../stream.ts';
import { twoToolBody } from '../tools.ts';
import { Unasked } from '../unasked.ts';
import { Deadline, poll } from '../waiting.ts';
import { age, landing, lastEvent, measureEnd, settle } from './turn-end.ts';

export const FIRST_TURN = ['S1', 'S2', 'S6', 'H1', 'H4', 'H5', 'Q4', 'Q5', 'Q6', 'Q19'] as const;

/** The server refuses to create a session: there is nothing to ask. */
export class CannotCreate extends Error {
  override readonly name = 'CannotCreate';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super('no session');
    this.answer = answer;
  }
}

/** How long Holdfast looks for a session whose create was lost. */
const LOOKS_FOR_MS = 3500;
const EARLY_WORDS = 'Thank you. (first)';

export async function firstTurn(scene: Scene): Promise<void> {
  const { context, limits, signal } = scene;
  const createKey = randomUUID();
  const createBody = twoToolBody(context);
  const { answer, session } = await context.ledger.create(createBody, signal, createKey);
  if (session === null) throw new CannotCreate(answer);
  scene.note('S1', { create: String(answer.status) }, `create: ${answer.status}`);
  // Beside the rest: it may take its time.
  const lists = scene.ask('H1', async () => listLag(scene, session.id));
  lists.catch(() => undefined);
  const stream = await session.listen();
  context.main = { session, stream, createKey, createBody };
  const { modelMs: limitMs, quietMs: gatherMs } = limits;
  const calls = await session.calls({ limitMs, gatherMs, wanted: 2, after: null });
  await duringFirstTurn(scene, session, stream, calls);
  await lists;
}

async function duringFirstTurn(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  [left, right]: readonly Call[],
): Promise<void> {
  if (left === undefined) return;
  const { limits } = scene;
  const turnId = left.turn_id;
  let early = false;
  await scene.ask('Q6', async () => {
    const answer = await session.post([messageEvent(EARLY_WORDS)], randomUUID());
    early = isTaken(answer);
    if (!early) scene.note('Q6', { first_turn: outcomeOf(answer) }, `first turn: ${told(answer)}`);
  });
  await scene.ask('H4', async () => {
    const answer = await session.post([resultEvent(noSuchCall(left), RESULT)]);
    scene.note('H4', { unknown_call: outcomeOf(answer) }, told(answer));
  });
  if (right !== undefined) await scene.ask('Q5', async () => refusedSecond(scene, session, left));
  else scene.context.notes.unasked('Q5', 'the model did not make two calls at once');
  await oneAnswer(scene, session, left, right);
  await scene.ask('S6', async () => {
    const repeat = await session.post([resultEvent(left, RESULT)]);
    const other = await session.post([resultEvent(left, 'another')]);
    scene.note(
      'S6',
      { repeat: outcomeOf(repeat), other_result: outcomeOf(other) },
      `repeat: ${told(repeat)}, another result: ${told(other)}`,
    );
  });
  if (right !== undefined) await firstResult(scene, session, right);
  const deadline = new Deadline(limits.modelMs);
  const ending = Promise.all([
    // A message that waits begins the next turn at once: the session would not be idle.
    early ? null : measureEnd(scene, session, stream, turnId, deadline),
    scene.ask('H5', async () => usage(scene, session, stream, turnId, deadline)),
  ]);
  ending.catch(() => undefined);
  const ended = await session.finish(limits.modelMs, null);
  deadline.shorten(limits.quietMs);
  await ending;
  if (ended === null) throw new Unasked('the turn did not end');
  await scene.ask('S6', async () => {
    const repeat = await session.post([resultEvent(left, RESULT)]);
    scene.note('S6', { repeat_after_end: outcomeOf(repeat) }, `repeat after the end: ${told(repeat)}`);
  });
  await scene.ask('Q19', async () => twice(scene, session, stream, left));
  if (early) {
    const where = await landing(scene, session, EARLY_WORDS, turnId);
    scene.note('Q6', { first_turn: where }, `first turn: taken, ${where.replace('_', ' ')}`);
  }
  await settle(scene, session);
}

/** A result, and in the same request one that must be refused: does the first one stay? */
async function refusedSecond(scene: Scene, session: ProbeSession, left: Call): Promise<void> {
  const answer = await session.post([resultEvent(left, RESULT), resultEvent(noSuchCall(left), RESULT)]);
  const kept = await poll(scene.signal, scene.limits.quietMs, async () =>
    (await outputsOf(session, left)) > 0 ? true : undefined,
  );
  if (kept !== null) session.markAnswered(left);
  const taken = isTaken(answer) ? 'taken' : kept === null ? 'nothing_stays' : 'first_stays';
  const words = { taken: 'it is taken', nothing_stays: 'nothing stays', first_stays: 'the first stays' }[
    taken
  ];
  scene.note('Q5', { refused_second: taken }, `a bad second event: ${told(answer)}, ${words}`);
}

/** Answers the first call, and sees what a read shows of it. */
async function oneAnswer(
  scene: Scene,
  session: ProbeSession,
  left: Call,
  right: Call | undefined,
): Promise<void> {
  // One that stayed from a batch was taken already.
  if (!session.isAnswered(left)) await firstResult(scene, session, left);
  const seen = await poll(scene.signal, scene.limits.readMs, async () => {
    const view = await session.view();
    return view.calls.some(({ call_id }) => call_id === left.call_id) ? undefined : view;
  });
  await scene.ask('Q4', async () => age(scene, 'session_after_result', seen));
  if (right === undefined || seen === null) {
    scene.context.notes.unasked('S2', 'the model did not make two calls at once');
    return;
  }
  const status = seen.found.status;
  await scene.ask('S2', async () =>
    scene.note('S2', { after_one_answer: status }, `after one answer the session is ${status}`),
  );
}

async function firstResult(scene: Scene, session: ProbeSession, call: Call): Promise<void> {
  const answer = await session.answer(call, RESULT);
  const result = isTaken(answer) ? String(answer.status) : outcomeOf(answer);
  scene.note('S1', { result }, `result: ${told(answer)}`);
  if (!isTaken(answer)) throw new Unasked(`a result was refused with ${told(answer)}`);
}

async function listLag(scene: Scene, id: string): Promise<void> {
  const { http, ledger } = scene.context;
  const first = async (query: string): Promise<{ word: string; ms: number }> => {
    const found = await poll(scene.signal, scene.limits.readMs, async () => {
      const path = `/agents/sessions?${query}`;
      const answer = await http.send({ method: 'GET', path, signal: scene.signal });
      return listIn(answer, 'the sessions').some((row) => row['id'] === id) ? true : undefined;
    });
    if (found === null) return { word: 'too_late', ms: scene.limits.readMs };
    if (found.looks === 1) return { word: 'at_once', ms: 0 };
    return { word: found.ms <= LOOKS_FOR_MS ? 'later' : 'too_late', ms: Math.round(found.ms) };
  };
  const [byMetadata, newest] = await Promise.all([
    first(`${ledger.filter}&limit=100`),
    first('limit=100&order=desc'),
  ]);
  const words = ({ word, ms }: { word: string; ms: number }): string =>
    word === 'at_once' ? 'at once' : word === 'later' ? `after ${ms} ms` : `not within ${ms} ms`;
  scene.note(
    'H1',
    { by_metadata: byMetadata.word, newest: newest.word },
    `by metadata ${words(byMetadata)}, among the newest ${words(newest)}`,
    { by_metadata_ms: byMetadata.ms, newest_ms: newest.ms },
  );
}

async function usage(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  turnId: string,
  deadline: Deadline,
): Promise<void> {
  const last = await lastEvent(scene, stream, turnId, deadline);
  const begun = performance.now();
  const read = await poll(scene.signal, scene.limits.readMs, async () =>
    (await session.turn(turnId)).usage === null ? undefined : true,
  );
  const ms = Math.round(performance.now() - (last?.at ?? begun));
  const inEvent = last === null ? null : (last.data['usage'] ?? null) === null ? 'null' : 'numbers';
  scene.note(
    'H5',
    { ...(inEvent === null ? {} : { in_event: inEvent }), read: read === null ? 'not_shown' : 'shown' },
    `in the last event: ${inEvent ?? 'no event seen'}; ${read === null ? 'never read' : `read after ${ms} ms`}`,
    read === null ? {} : { usage_ms: ms },
  );
}

/** After repeats of one result: is it on the stream, and among the saved items, more than once? */
async function twice(scene: Scene, session: ProbeSession, stream: ProbeStream, call: Call): Promise<void> {
  const shown = (): number =>
    stream.events.filter(({ type, data }) => type.endsWith('.item.added') && isOutputOf(data['item'], call))
      .length;
  await stream.until(scene.signal, scene.limits.quietMs, () => (shown() > 1 ? true : undefined));
  const [onStream, saved] = [shown(), await outputsOf(session, call)];
  const word = (count: number): string => (count === 0 ? 'never' : count === 1 ? 'once' : 'again');
  scene.note(
    'Q19',
    { on_stream: word(onStream), saved: word(saved) },
    `on the stream ${times(onStream)}, saved ${times(saved)}`,
  );
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

async function outputsOf(session: ProbeSession, call: Call): Promise<number> {
  return (await session.items(call.turn_id)).filter((item) => isOutputOf(item, call)).length;
}

function isOutputOf(item: unknown, { call_id }: Call): boolean {
  const { type, call_id: of } = (item ?? {}) as { type?: unknown; call_id?: unknown };
  return type === 'function_call_output' && of === call_id;
}

function noSuchCall(call: Call): Call {
  return { ...call, call_id: 'call_holdfast_probe_unknown' };
}
