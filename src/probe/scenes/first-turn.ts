/** The first turn of a session, which begins with its creation. */
import { randomUUID } from 'node:crypto';
import { isTaken, type Answer } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';
import { RESULT, type ProbeSession } from '../session.ts';
import type { ProbeStream } from '../stream.ts';
import { twoToolBody } from '../tools.ts';
import { Deadline, together } from '../waiting.ts';
import { listLag } from './list-lag.ts';
import { firstResult, noSuchCall, oneAnswer, refusedSecond, repeats, twice } from './results.ts';
import { landing, measureEnd, settle, usage } from './turn-end.ts';
import { messageEvent, resultEvent, type Call } from '../wire.ts';

/** What is asked of the calls of the turn. */
const OF_CALLS = ['S1', 'S2', 'S6', 'H4', 'Q1', 'Q4', 'Q5', 'Q6', 'Q19'] as const;
export const FIRST_TURN = [...OF_CALLS, 'H1', 'H5'] as const;

/** The server refuses to create a session: there is nothing to ask. */
export class CannotCreate extends Error {
  override readonly name = 'CannotCreate';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super('no session');
    this.answer = answer;
  }
}

const EARLY_WORDS = 'Thank you. (first)';

export async function firstTurn(scene: Scene): Promise<void> {
  const { context, signal } = scene;
  const createKey = randomUUID();
  const createBody = twoToolBody(context);
  const { answer, session } = await context.ledger.create(createBody, signal, createKey);
  if (session === null) throw new CannotCreate(answer);
  scene.note('S1', { create: String(answer.status) }, `create: ${answer.status}`);
  const turn = async (): Promise<void> => {
    const stream = await session.listen();
    context.main = { session, stream, createKey, createBody };
    await wholeTurn(scene, session, stream);
  };
  // The lists beside the rest: they may take their time.
  await together(
    turn(),
    scene.ask('H1', async () => listLag(scene, session.id)),
  );
}

async function wholeTurn(scene: Scene, session: ProbeSession, stream: ProbeStream): Promise<void> {
  const { limits } = scene;
  const { id: turnId } = await session.turnAfter(null, limits.modelMs);
  const early = { taken: false };
  const deadline = new Deadline(limits.sceneMs);
  let left: Call | null = null;
  const toTheEnd = async (): Promise<void> => {
    try {
      left = await scene.ask(OF_CALLS, async () => duringFirstTurn(scene, session, early));
      await session.finish(limits.modelMs, null);
    } finally {
      deadline.shorten(limits.quietMs);
    }
    if (left !== null) await afterFirstTurn(scene, session, stream, left);
  };
  await together(
    toTheEnd(),
    // A message that waits begins the next turn at once: the session would not be idle.
    measureEnd(scene, session, stream, turnId, deadline, () => !early.taken),
    scene.ask('H5', async () => usage(scene, session, stream, turnId, deadline)),
  );
  if (early.taken) {
    await scene.ask('Q6', async () => {
      const where = await landing(scene, session, EARLY_WORDS, turnId);
      scene.note('Q6', { first_turn: where }, `first turn: taken, ${where.replace('_', ' ')}`);
    });
  }
  await settle(scene, session);
}

/** While its calls wait for their results. Answers the first call, which has its result then. */
async function duringFirstTurn(
  scene: Scene,
  session: ProbeSession,
  early: { taken: boolean },
): Promise<Call | null> {
  const { modelMs: limitMs, quietMs: gatherMs } = scene.limits;
  const [left, right] = await session.calls({ limitMs, gatherMs, wanted: 2, after: null });
  if (left === undefined) return null;
  await scene.ask('Q6', async () => {
    const answer = await session.post([messageEvent(EARLY_WORDS)], randomUUID());
    early.taken = isTaken(answer);
    if (!early.taken) scene.note('Q6', { first_turn: outcomeOf(answer) }, `first turn: ${told(answer)}`);
  });
  await scene.ask('H4', async () => {
    const answer = await session.post([resultEvent(noSuchCall(left), RESULT)]);
    scene.note('H4', { unknown_call: outcomeOf(answer) }, told(answer));
  });
  if (right !== undefined) await scene.ask('Q5', async () => refusedSecond(scene, session, left));
  else scene.context.notes.unasked('Q5', 'the model did not make two calls at once');
  await oneAnswer(scene, session, left, right);
  await repeats(scene, session, left);
  if (right !== undefined) await firstResult(scene, session, right);
  return left;
}

async function afterFirstTurn(
  scene: Scene,
  session: ProbeSession,
  stream: ProbeStream,
  left: Call,
): Promise<void> {
  await scene.ask('S6', async () => {
    const repeat = await session.post([resultEvent(left, RESULT)]);
    scene.note('S6', { repeat_after_end: outcomeOf(repeat) }, `repeat after the end: ${told(repeat)}`);
  });
  await scene.ask('Q19', async () => twice(scene, session, stream, left));
}
