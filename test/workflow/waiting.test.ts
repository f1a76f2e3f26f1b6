/** A session that waits for us is looked at now and then, less and less often, and anew after every change (I9). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { timersOf } from '../support/history.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const READ = 'GET /agents/sessions/{session_id}';

describe('a session that waits', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  it('is looked at after half a minute, then after a minute; a result that was posted begins it anew', async () => {
    const task = await stack.start([
      {
        call: [
          { name: 'note', arguments: { text: 'a', hold_until: 'first' } },
          { name: 'note', arguments: { text: 'b', hold_until: 'second' } },
        ],
      },
      { say: '{{note.0}} {{note.1}}' },
    ]);
    const seconds = async (): Promise<number[]> =>
      timersOf((await stack.handle(task).fetchHistory()).events ?? []).map((timer) => timer.seconds);
    const reads = (): number => stack.emulator.counters().requests[READ] ?? 0;

    await until('nobody follows', async () => (await seconds()).length === 1);
    const readsBefore = reads();
    assert.deepEqual(await seconds(), [30]);
    await until('the next look is planned', async () => (await seconds()).length === 2, 60_000);
    assert.deepEqual(await seconds(), [30, 60]);
    assert.equal(reads() - readsBefore, 1, 'one look is one read of the session');
    assert.equal(stack.emulator.counters().totals.streams_open, 0);

    stack.release('first');
    await until('the wait begins anew', async () => (await seconds()).length === 3);
    assert.deepEqual(await seconds(), [30, 60, 30]);
    stack.release('second');
    assert.equal((await task.result()).output_text, '{"noted":"a"} {"noted":"b"}');
  });
});
