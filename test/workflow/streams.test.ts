/** Streams that end as soon as they are open, and calls that are very many: bounded work, and the right end all the same. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

it('a server that ends every stream at once sees few of them, and the task goes on when the fault is over', () =>
  withStack(
    async (stack) => {
      await stack.worker();
      stack.emulator.addFaults({ kind: 'cut_stream', after_events: 0, times: 0 });
      const began = Date.now();
      const task = await stack.start([
        { wait_for: 'message' },
        { call: { name: 'pay', arguments: { amount: 5 } } },
        { say: '{{pay}}' },
      ]);
      await until('six streams', () => stack.emulator.counters().totals.streams_opened >= 6);
      // The pauses between them: 0.1, 0.25, 0.5, 1 and 2 seconds.
      assert.ok(Date.now() - began >= 3850, `six streams in ${Date.now() - began} ms`);
      const session_id = await until('it is open', async () => (await task.status()).session_id);
      assert.ok((stack.emulator.faults()[0]?.struck ?? 0) >= 5, 'the fault struck');
      stack.emulator.clearFaults();
      await stack.say(session_id, 'go on');
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":5}');
      assert.equal(stack.effects('pay').length, 1);
      assert.equal(stack.counts(session_id).results_accepted, 1);
      const { events = [] } = await stack.handle(task).fetchHistory();
      const follows = (events ?? []).filter(
        ({ activityTaskScheduledEventAttributes: scheduled }) =>
          scheduled?.activityType?.name === 'holdfast.followTurn',
      );
      assert.ok(follows.length <= 4, `${follows.length} followers`);
    },
    { firstTurnSteering: true },
  ));

describe('very many calls at once', () => {
  const CALLS = 80;
  /** In all more than the result of one activity may take, which is 2 MiB. */
  const BYTES = 28 * 1024;

  it('are found in parts, all run side by side, and each is run and answered once (I10)', () => {
    const call = Array.from({ length: CALLS }, (_, index) => ({
      name: 'note',
      arguments: { text: 'x'.repeat(BYTES), hold_until: 'all' },
      call_id: `many-${index}`,
    }));
    return withStack(
      async (stack) => {
        await stack.worker();
        const task = await stack.start([], { input: 'go' });
        // None has ended: the later parts wait neither for results of the first nor for the next look.
        const allRun = (): boolean => stack.effects('note').length === CALLS;
        await until('all of them run', allRun, 50_000);
        stack.release('all');
        const record = await task.result();
        assert.equal(record.output_text, 'done');
        assert.deepEqual([record.tool_calls_total, record.tool_calls_failed], [CALLS, 0]);
        const ids = stack.effects('note').map(({ call_id }) => call_id);
        assert.deepEqual([ids.length, new Set(ids).size], [CALLS, CALLS]);
        assert.equal(stack.counts(record.session_id).results_accepted, CALLS);
      },
      { scripts: [{ name: 'many', steps: [{ call }, { say: 'done' }] }] },
    );
  });
});
