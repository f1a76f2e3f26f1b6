/** A turn that outlives its followers (scenario 7): the tool is what is tried again, never the turn (I1, I2). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Step } from '../../src/emulator/index.ts';
import { withStack, type Stack } from '../support/stack.ts';

describe('a turn that outlives its followers', { concurrency: true }, () => {
  const steps: Step[] = [1, 2, 3].flatMap((amount): Step[] => [
    { wait_ms: 1200 },
    { call: { name: 'pay', arguments: { amount }, call_id: `call-${amount}` } },
  ]);

  function assertExact(stack: Stack): void {
    assert.deepEqual(
      stack.effects().map(({ call_id }) => call_id),
      ['call-1', 'call-2', 'call-3'],
    );
    const { totals, violations } = stack.emulator.counters();
    assert.deepEqual([totals.creates, totals.turns_started, totals.messages_accepted], [1, 1, 0]);
    assert.deepEqual([totals.results_accepted, totals.results_repeated, violations.length], [3, 0, 0]);
  }

  it('scenario 7: each call runs once, however often a follower is over before the turn is', () =>
    withStack(async (stack) => {
      await stack.worker({ HOLDFAST_FOLLOW_LIMIT: '300ms', HOLDFAST_HEARTBEAT_TIMEOUT: '30s' });
      const task = await stack.start([...steps, { say: '{{pay.2}}' }]);
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":3}');
      assertExact(stack);
      const { events } = await stack.handle(task).fetchHistory();
      const followers = events?.filter(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'holdfast.followTurn',
      );
      // Four is what three calls need in a turn that is not longer than its followers.
      assert.ok(followers && followers.length > 4, `${followers?.length} followers`);
    }));

  it('scenario 7: each call runs once, however often a follower fails and is attempted again', () =>
    withStack(async (stack) => {
      const stream = { method: 'GET', path: '/agents/sessions/{session_id}/events' };
      const [cut, refused] = stack.emulator.addFaults(
        { kind: 'cut_stream', after_type: 'agent.session.turn.item.added', times: 0 },
        { kind: 'status', match: stream, status: 503, after: 1, times: 4 },
      );
      await stack.worker({ HOLDFAST_HEARTBEAT_TIMEOUT: '30s' });
      const task = await stack.start([...steps, { say: '{{pay.2}}' }]);
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":3}');
      assert.ok(stack.struck(cut) >= 3, 'its stream broke');
      assert.equal(stack.struck(refused), 4, 'it was not opened again');
      assertExact(stack);
      const { events } = await stack.handle(task).fetchHistory();
      const attempts = events?.map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 1) ?? [];
      const again = attempts.reduce((sum, attempt) => sum + attempt - 1, 0);
      assert.equal(again, 4, 'attempts beyond the first');
    }));
});
