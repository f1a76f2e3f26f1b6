import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError } from '../../src/client/index.ts';
import { Stack, withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

interface CancelNote {
  run: { stop_reason: string };
  session_id: string;
  tool_calls: { call_id: string; state: string; note?: string }[];
}

describe('cancellation is a message to the service', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  async function cancelled(task: { taskId: string; result(): Promise<unknown> }): Promise<CancelNote> {
    await assert.rejects(
      task.result(),
      (error: unknown) => error instanceof AgentTaskError && error.reason === 'Cancelled',
    );
    const { memo } = await stack.handle(task).describe();
    return memo?.['holdfast_cancelled'] as CancelNote;
  }

  it('while a tool runs that stops: turn cancelled, no result posted, the session usable again', async () => {
    const task = await stack.start([
      { call: { name: 'note', arguments: { text: 'x', hold_ms: 60_000 }, call_id: 'stops' } },
      { say: 'never' },
    ]);
    await until('the tool runs', () => stack.effects('note').some((effect) => effect.call_id === 'stops'));
    await task.cancel();
    const note = await cancelled(task);
    assert.deepEqual(
      note.tool_calls.map(({ call_id, state }) => [call_id, state]),
      [['stops', 'dropped']],
    );
    const counts = stack.counts(note.session_id);
    assert.equal(counts.cancels, 1);
    assert.equal(counts.results_accepted + counts.results_refused, 0);
    const next = await stack.tasks.start({
      session_id: note.session_id,
      input: `script: ${JSON.stringify([{ say: 'again' }])}`,
    });
    assert.equal((await next.result()).output_text, 'again');
  });

  it('while a once tool runs: what it did is noted as unknown', async () => {
    const task = await stack.start([
      { call: { name: 'pay', arguments: { amount: 1, hold_ms: 60_000 }, call_id: 'paying' } },
      { say: 'never' },
    ]);
    await until('the tool runs', () => stack.effects('pay').some((effect) => effect.call_id === 'paying'));
    await task.cancel();
    const note = await cancelled(task);
    assert.deepEqual(
      note.tool_calls.map(({ call_id, state }) => [call_id, state]),
      [['paying', 'unknown']],
    );
    assert.match(note.tool_calls[0]?.note ?? '', /cancelled after it had started/);
  });

  it('while the agent writes: ends with the turn, twice is once', async () => {
    const task = await stack.start([{ say: 'word '.repeat(3000), delta_ms: 20 }]);
    const session_id = await until('the session is open', async () => (await task.status()).session_id);
    await until('the stream is open', () => stack.counts(session_id).streams_open === 1);
    await Promise.all([task.cancel(), task.cancel()]);
    const note = await cancelled(task);
    assert.equal(stack.counts(note.session_id).cancels, 1);
  });

  it('completion may win: then the task completes (I7)', () =>
    withStack(
      async (own) => {
        await own.worker();
        own.emulator.addFaults({ kind: 'status', status: 503, match: { input_type: 'cancel' }, times: 0 });
        const task = await own.start([{ wait_for: 'message' }, { say: 'finished first' }]);
        const session_id = await until('the session is open', async () => (await task.status()).session_id);
        await task.cancel();
        await until('the cancellation is on its way', () => own.posts(session_id, 'cancel').length > 0);
        await own.say(session_id, 'end it');
        const record = await task.result();
        assert.deepEqual([record.run.status, record.output_text], ['completed', 'finished first']);
        assert.equal((await own.handle(task).describe()).status.name, 'COMPLETED');
        assert.equal(own.counts(session_id).cancels, 0);
      },
      { firstTurnSteering: true },
    ));

  it('the API answers 503 for a while: the cancellation keeps trying', async () => {
    const task = await stack.start([{ wait_ms: 60_000 }, { say: 'never' }]);
    const session = await until('the session is open', async () => (await task.status()).session_id);
    stack.emulator.addFaults({
      kind: 'status',
      session_id: session,
      match: { input_type: 'cancel' },
      status: 503,
      times: 3,
    });
    await task.cancel();
    const note = await cancelled(task);
    const refused = stack.emulator.posts(session).filter(({ status }) => status === 503);
    assert.equal(refused.length, 3, 'the fault struck');
    assert.equal(stack.counts(note.session_id).cancels, 1);
  });
});
