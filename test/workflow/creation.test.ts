/** A creation whose answer is lost (scenario 51): one session does the work, and its message is in it once (I1). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Step } from '../../src/emulator/index.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const CREATE = { method: 'POST', path: '/agents/sessions' };
const pay = (call_id: string, amount: number): Step => ({
  call: { name: 'pay', arguments: { amount }, call_id },
});

/** The user's messages in a session. */
async function said(stack: Stack, session_id: string): Promise<unknown[]> {
  const { data } = (await stack.api('GET', `/agents/sessions/${session_id}/items`)) as {
    data: { role?: string }[];
  };
  return data.filter(({ role }) => role === 'user');
}

describe('a creation whose answer is lost', { concurrency: true }, () => {
  it('is found again by the next attempt: one session, its message in it once', () =>
    withStack(async (stack) => {
      const [fault] = stack.emulator.addFaults({ kind: 'lost_reply', match: CREATE });
      await stack.worker();
      const record = await stack.start([pay('one', 1), { say: '{{pay}}' }]).then((task) => task.result());
      assert.equal(record.output_text, '{"paid":1}');
      assert.equal(stack.struck(fault), 1);
      assert.deepEqual(Object.keys(stack.emulator.counters().sessions), [record.session_id]);
      assert.equal(stack.effects().length, 1);
      assert.equal((await said(stack, record.session_id)).length, 1);
    }));

  it('and whose worker is killed: another process finds it', () =>
    withStack(async (stack) => {
      stack.emulator.addFaults({ kind: 'lost_reply', match: CREATE });
      // While the lists do not answer, the attempts of the first worker can do nothing more.
      const list = { method: 'GET', path: '/agents/sessions' };
      const [away] = stack.emulator.addFaults({ kind: 'status', match: list, status: 503, times: 0 });
      const doomed = await stack.worker();
      const task = await stack.start([pay('two', 2), { say: '{{pay}}' }]);
      await until('it looks for its session', () => stack.struck(away) > 0);
      await doomed.kill();
      stack.emulator.clearFaults();
      await stack.worker();
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":2}');
      assert.deepEqual(Object.keys(stack.emulator.counters().sessions), [record.session_id]);
      assert.equal(stack.effects().length, 1);
      assert.equal((await said(stack, record.session_id)).length, 1);
    }));

  it('and that no list shows in time: a second session does the work, the first is removed and named in the log', () =>
    withStack(async (stack) => {
      const hour = 3_600_000;
      stack.emulator.addFaults(
        { kind: 'lost_reply', match: CREATE },
        // One look takes both lists; there are four.
        { kind: 'list_lag', ms: hour, times: 4 },
        { kind: 'unfiltered_list_lag', ms: hour, times: 4 },
      );
      const worker = await stack.worker();
      const task = await stack.start([pay('three', 3), { say: '{{pay}}' }]);
      const first = await until(
        'the first is there',
        () => Object.keys(stack.emulator.counters().sessions)[0],
      );
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":3}');
      assert.ok(
        stack.emulator.faults().every(({ left }) => left === 0),
        'every fault struck',
      );
      const { totals } = stack.emulator.counters();
      assert.deepEqual([totals.creates, totals.deletes], [2, 1]);
      assert.notEqual(record.session_id, first);
      await assert.rejects(stack.api('GET', `/agents/sessions/${first}`), /404/);
      assert.match(
        worker.output,
        new RegExp(`"session_id":"${first}".*removed a session that a lost attempt`),
      );
      assert.equal(stack.effects().length, 1);
      assert.equal(totals.results_accepted, 1);
      assert.equal((await said(stack, record.session_id)).length, 1);
    }));
});
