/**
 * While the service waits for us, no stream and no activity slot is held (I9): told by the emulator's counters, by
 * what the server knows of pending activities, and by a worker that has next to no slots.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const WAITING = 12;
/** The server's word for a pending activity that no worker has: PENDING_ACTIVITY_STATE_SCHEDULED. */
const SCHEDULED = 1;
const pay = (call_id: string, hold_until?: string): Step[] => [
  { call: { name: 'pay', arguments: { amount: 1, ...(hold_until ? { hold_until } : {}) }, call_id } },
  { say: '{{pay}}' },
];

/** Types of the activities that a task has at the server, waiting ones included. */
async function pending(stack: Stack, task: AgentTask): Promise<string[]> {
  const { raw } = await stack.handle(task).describe();
  return (raw.pendingActivities ?? []).map(({ activityType }) => activityType?.name ?? '');
}

const streams = (stack: Stack): number => stack.emulator.counters().totals.streams_open;

describe('a task that waits', { concurrency: true }, () => {
  it('for its tools holds their slots alone, and no stream', () =>
    withStack(async (stack) => {
      await stack.worker();
      const call = [1, 2, 3].map((amount) => ({
        name: 'pay',
        arguments: { amount, hold_until: 'released' },
        call_id: `pay-${amount}`,
      }));
      const task = await stack.start([{ call }, { say: 'ok' }]);
      await until('the tools run', () => stack.effects().length === 3);
      await until('nothing is followed', () => streams(stack) === 0);
      assert.deepEqual(await pending(stack, task), ['pay', 'pay', 'pay']);
      stack.release('released');
      assert.equal((await task.result()).tool_calls_failed, 0);
      const opened = stack.emulator.counters().totals.streams_opened;
      assert.ok(opened <= 5, `${opened} streams`);
    }));

  it('with one slot in all runs its tools, one after the other, and posts their results', () =>
    withStack(async (stack) => {
      await stack.worker({ HOLDFAST_MAX_ACTIVITIES: '1' });
      const call = [1, 2, 3].map((amount) => ({
        name: 'pay',
        arguments: { amount },
        call_id: `pay-${amount}`,
      }));
      const task = await stack.start([{ call }, ...pay('last')]);
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":1}');
      assert.equal(stack.effects().length, 4);
      assert.equal(stack.counts(record.session_id).results_accepted, 4);
    }));

  it(`for a person holds nothing: ${WAITING} of them leave both slots of a worker to others`, () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      const ids = Array.from({ length: WAITING }, (_, index) => `unknown-${index}`);
      const tasks = await Promise.all(ids.map((id) => stack.start(pay(id, 'never'))));
      await until('their tools run', () => stack.effects().length === WAITING);
      await first.kill();
      await stack.worker({ HOLDFAST_MAX_ACTIVITIES: '2' });
      for (const task of tasks)
        await until('a person is asked', async () => (await task.pending()).length === 1);
      assert.equal(streams(stack), 0, 'streams');
      for (const task of tasks) assert.deepEqual(await pending(stack, task), []);

      const others = await Promise.all(['other-1', 'other-2', 'other-3'].map((id) => stack.start(pay(id))));
      for (const other of others) assert.equal((await other.result()).output_text, '{"paid":1}');
      assert.equal(streams(stack), 0, 'streams');
      for (const task of tasks) assert.equal((await task.status()).state, 'waiting_for_person');

      await Promise.all(
        tasks.map((task, index) =>
          task.resolveCall({ call_id: ids[index] ?? '', action: 'result', output: `by hand ${index}` }),
        ),
      );
      for (const [index, task] of tasks.entries())
        assert.equal((await task.result()).output_text, `by hand ${index}`);
      assert.equal(stack.effects().length, WAITING + 3);
    }));

  it('for the service to be asked again holds no slot either: an attempt that waits is not running', () =>
    withStack(async (stack) => {
      const [fault] = stack.emulator.addFaults({
        kind: 'status',
        match: { input_type: 'tool_result' },
        status: 429,
        headers: { 'retry-after': '6' },
      });
      await stack.worker({ HOLDFAST_MAX_ACTIVITIES: '1' });
      const slow = await stack.start(pay('throttled'));
      await until('it is throttled', () => stack.struck(fault) === 1);
      await until('nothing is followed', () => streams(stack) === 0);
      const { raw } = await stack.handle(slow).describe();
      const [waiting] = raw.pendingActivities ?? [];
      assert.equal(waiting?.state, SCHEDULED);
      const other = await stack.start(pay('beside'));
      assert.equal((await other.result()).output_text, '{"paid":1}');
      assert.equal((await slow.result()).output_text, '{"paid":1}');
    }));
});
