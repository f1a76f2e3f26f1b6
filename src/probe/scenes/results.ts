/** What becomes of tool results: alone, in batches, repeated. */
import { randomUUID } from 'node:crypto';
import { isTaken } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import { RESULT, type ProbeSession } from '../session.ts';
import type { ProbeStream } from '../stream.ts';
import { Unasked } from '../unasked.ts';
import { poll } from '../waiting.ts';
import { age, isCutShort } from './turn-end.ts';
import { resultEvent, type Call } from '../wire.ts';

/** A call of the same turn that nobody made. */
export function noSuchCall(call: Call): Call {
  return { ...call, call_id: 'call_holdfast_probe_unknown' };
}

/**
 * Posts the result of a call for the first time, and the very same request once more, as after a lost answer. Throws
 * Unasked when it is refused: nothing goes on then.
 */
export async function firstResult(scene: Scene, session: ProbeSession, call: Call): Promise<void> {
  const key = randomUUID();
  const answer = await session.answer(call, RESULT, key);
  const result = isTaken(answer) ? String(answer.status) : outcomeOf(answer);
  scene.note('S1', { result }, `result: ${told(answer)}`);
  if (!isTaken(answer)) throw new Unasked(`a result was refused with ${told(answer)}`);
  await scene.ask('Q1', async () => {
    const again = await session.answer(call, RESULT, key);
    scene.note('Q1', { same_result: outcomeOf(again) }, `a repeated result: ${told(again)}`);
  });
}

/** A result, and in the same request one that must be refused: does the first one stay? */
export async function refusedSecond(scene: Scene, session: ProbeSession, left: Call): Promise<void> {
  const answer = await session.post([resultEvent(left, RESULT), resultEvent(noSuchCall(left), RESULT)]);
  // Either of them shows it, and either may come late.
  const kept = await poll(scene.signal, scene.limits.quietMs, async () => {
    const waits = (await session.view()).calls.some(({ call_id }) => call_id === left.call_id);
    return !waits || (await outputsOf(session, left)) > 0 ? true : undefined;
  });
  if (kept !== null) session.markAnswered(left);
  const taken = isTaken(answer) ? 'taken' : kept === null ? 'nothing_stays' : 'first_stays';
  const words = { taken: 'it is taken', nothing_stays: 'nothing stays', first_stays: 'the first stays' };
  scene.note('Q5', { refused_second: taken }, `a bad second event: ${told(answer)}, ${words[taken]}`);
}

/** Answers the first call, unless a batch did, and sees what a read shows of it. */
export async function oneAnswer(
  scene: Scene,
  session: ProbeSession,
  left: Call,
  right: Call | undefined,
): Promise<void> {
  if (!session.isAnswered(left)) await firstResult(scene, session, left);
  const seen = await poll(scene.signal, scene.limits.readMs, async () => {
    const view = await session.view();
    return view.calls.some(({ call_id }) => call_id === left.call_id) ? undefined : view;
  });
  await scene.ask('Q4', async () => age(scene, 'session_after_result', seen));
  await scene.ask('S2', async () => {
    if (right === undefined) throw new Unasked('the model did not make two calls at once');
    if (seen === null) throw new Unasked('no read showed that the first result was taken');
    const { status } = seen.found;
    scene.note('S2', { after_one_answer: status }, `after one answer the session is ${status}`);
  });
}

/** The result of an answered call once more, without a key, and another one. */
export async function repeats(scene: Scene, session: ProbeSession, call: Call): Promise<void> {
  await scene.ask(['S6', 'Q19'], async () => {
    const repeat = await session.post([resultEvent(call, RESULT)]);
    const other = await session.post([resultEvent(call, 'another')]);
    scene.note(
      'S6',
      { repeat: outcomeOf(repeat), other_result: outcomeOf(other) },
      `repeat: ${told(repeat)}, another result: ${told(other)}`,
    );
  });
}

/** The results of two calls in one request, the later call's first: are they saved in that order? */
export async function twoResults(scene: Scene, session: ProbeSession, calls: readonly Call[]): Promise<void> {
  const [left, right] = calls;
  if (left === undefined || right === undefined)
    throw new Unasked('the model did not make two calls at once');
  const answer = await session.post([resultEvent(right, RESULT), resultEvent(left, RESULT)]);
  scene.note('Q5', { two_results: outcomeOf(answer) }, `two results in one request: ${told(answer)}`);
  if (!isTaken(answer)) throw new Unasked('the batch was refused, so that it has no order');
  for (const call of [left, right]) session.markAnswered(call);
  const saved = await poll(scene.signal, scene.limits.readMs, async () => {
    const ids = (await session.items(left.turn_id))
      .filter((item) => isOutputOf(item, left) || isOutputOf(item, right))
      .map((item) => item['call_id']);
    return new Set(ids).size === 2 ? ids : undefined;
  });
  if (saved === null) throw new Unasked('no read showed both results');
  const kept = saved.found[0] === right.call_id;
  scene.note(
    'Q5',
    { order: kept ? 'kept' : 'changed' },
    `saved in ${kept ? 'the order of the request' : 'another order'}`,
  );
}

/** After repeats of one result: is it on the stream, and among the saved items, more than once? */
export async function twice(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  call: Call,
): Promise<void> {
  const shown = (): number =>
    stream.events.filter(({ type, data }) => type.endsWith('.item.added') && isOutputOf(data['item'], call))
      .length;
  await stream.until(scene.signal, scene.limits.quietMs, () => (shown() > 1 ? true : undefined));
  const word = (count: number): string => (count === 0 ? 'never' : count === 1 ? 'once' : 'again');
  const saved = await outputsOf(session, call);
  scene.note('Q19', { saved: word(saved) }, `saved ${times(saved)}`);
  if (isCutShort(stream, call.turn_id)) throw new Unasked('the stream was over before the turn');
  scene.note('Q19', { on_stream: word(shown()) }, `on the stream ${times(shown())}`);
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
