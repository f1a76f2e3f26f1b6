/** A tool that is declared async. */
import { outcomeOf, told, type Scene } from '../scene.ts';
import { RESULT } from '../session.ts';
import { asyncBody } from '../tools.ts';
import { Unasked } from '../unasked.ts';
import { poll } from '../waiting.ts';
import { isEnded, resultEvent, uncalled } from '../wire.ts';

export const ASYNC_TOOL = ['Q14'] as const;

export async function asyncTool(scene: Scene): Promise<void> {
  const { context, limits, signal } = scene;
  const { answer, session } = await context.ledger.create(asyncBody(context), signal);
  if (session === null) throw new Unasked(`a session with an async tool was refused with ${told(answer)}`);
  const seen = await poll(signal, limits.modelMs, async () => {
    const [pending] = (await session.view()).calls;
    if (pending !== undefined) return { how: 'asks' as const, call: pending };
    const turn = await session.newestTurn();
    if (turn === null || !isEnded(turn.status)) return undefined;
    const made = (await session.items(turn.id)).find((item) => item['type'] === 'function_call');
    const callId = made?.['call_id'];
    if (typeof callId !== 'string') throw new Unasked(uncalled(turn));
    return { how: 'runs_on' as const, call: { turn_id: turn.id, call_id: callId, name: '' } };
  });
  if (seen === null) throw new Unasked('no call came in time');
  const { how, call } = seen.found;
  if (how === 'asks') {
    scene.note('Q14', { call: 'asks' }, 'the session requires its result like any other');
    await session.finish(limits.modelMs, null);
    return;
  }
  const late = await session.post([resultEvent(call, RESULT)]);
  scene.note(
    'Q14',
    { call: 'runs_on', late_result: outcomeOf(late) },
    `the turn ends without the result; one that comes then: ${told(late)}`,
  );
}
