/** Tools whose workers are lost, again and again, or do not know them: the rows "never started" of the fence (I2). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import { chainHistory, lostAfterStart } from '../support/history.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

async function assertExact(stack: Stack, task: AgentTask, text: string, results: number): Promise<void> {
  const record = await task.result();
  assert.equal(record.output_text, text);
  const { totals, violations } = stack.emulator.counters();
  assert.equal(totals.creates, 1, 'sessions created');
  assert.equal(totals.turns_started, 1, 'turns');
  assert.equal(totals.results_accepted, results, 'results accepted');
  assert.equal(totals.results_refused, 0, 'results refused');
  assert.deepEqual(violations, []);
  assert.ok(!(await stack.eventTypes(task)).includes('workflowTaskFailed'));
}

/** Schedulings of a tool so far, and which of them were given up after their start. */
async function runsOf(
  stack: Stack,
  task: AgentTask,
  tool: string,
): Promise<{ runs: number; started: number }> {
  const events = await chainHistory(stack.client, task.taskId, (await stack.handle(task).describe()).runId);
  const runs = events.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === tool,
  ).length;
  return { runs, started: lostAfterStart(events).length };
}

describe('a tool', { concurrency: 3 }, () => {
  it('whose worker is killed at one place after the other: each time another takes over', () =>
    withStack(async (stack) => {
      const steps = [
        { call: { name: 'note', arguments: { text: 'x' } } },
        { call: { name: 'pay', arguments: { amount: 5 } } },
        { say: '{{note}} {{pay}}' },
      ];
      const places = [
        'session.created',
        'stream.opened',
        'follow.before_return',
        'tool.before_fence',
        'result.recorded',
        'result.posted',
        'turn.ended',
        'task.before_end',
      ];
      let task: AgentTask | null = null;
      for (const place of places) {
        const doomed = await stack.worker({ HOLDFAST_FAULT: place });
        task ??= await stack.start(steps);
        await doomed.crashed();
      }
      assert.ok(task);
      await stack.worker();
      await assertExact(stack, task, '{"noted":"x"} {"paid":5}', 2);
      assert.equal(stack.effects('pay').length, 1);
    }));

  it('whose worker is killed twice before the fence: never started, runs at the third', () =>
    withStack(async (stack) => {
      let task: AgentTask | null = null;
      for (let kills = 0; kills < 2; kills++) {
        const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.before_fence' });
        task ??= await stack.start([{ call: { name: 'pay', arguments: { amount: 5 } } }, { say: '{{pay}}' }]);
        await doomed.crashed();
      }
      assert.ok(task);
      await stack.worker();
      await assertExact(stack, task, '{"paid":5}', 1);
      assert.equal(stack.effects('pay').length, 1);
      assert.deepEqual(await runsOf(stack, task, 'pay'), { runs: 3, started: 0 });
    }));

  it('that a person lets run again, whose worker is killed again: asked again, two effects, no more', () =>
    withStack(async (stack) => {
      let task: AgentTask | null = null;
      const asked = () => until('a person is asked', async () => (await task?.pending())?.[0]);
      for (let kills = 1; kills <= 2; kills++) {
        const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.after_effect' });
        task ??= await stack.start([
          { call: { name: 'pay', arguments: { amount: 5 }, call_id: 'again' } },
          { say: '{{pay}}' },
        ]);
        if (kills === 2) {
          await asked();
          await task.resolveCall({ call_id: 'again', action: 'run_again' });
        }
        await doomed.crashed();
      }
      assert.ok(task);
      await stack.worker();
      assert.equal((await asked()).run_no, 2);
      await task.resolveCall({ call_id: 'again', action: 'result', output: { paid: 5 } });
      await assertExact(stack, task, '{"paid":5}', 1);
      assert.equal(stack.effects('pay').length, 2);
      assert.equal(new Set(stack.effects('pay').map(({ key }) => key)).size, 1, 'one idempotency key');
    }));

  it('that an old worker does not know waits for one that does', () =>
    withStack(async (stack) => {
      const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.before_fence' });
      const task = await stack.start([
        { call: { name: 'pay', arguments: { amount: 5 } } },
        { say: '{{pay}}' },
      ]);
      await doomed.crashed();
      const old = await stack.worker({}, 'agents/old');
      await until('the old worker has refused it', async () => (await runsOf(stack, task, 'pay')).runs >= 3);
      // Nobody refuses it while the new worker starts, however long that takes.
      await old.stop();
      await stack.worker();
      await assertExact(stack, task, '{"paid":5}', 1);
      assert.equal(stack.effects('pay').length, 1);
    }));

  it('that no worker knows any more is answered as unknown, after a bounded wait', () =>
    withStack(async (stack) => {
      const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.before_fence' });
      const task = await stack.start([
        { call: { name: 'pay', arguments: { amount: 5 } } },
        { say: '{{pay}}' },
      ]);
      await doomed.crashed();
      await stack.worker({}, 'agents/old');
      await assertExact(stack, task, 'Unknown tool "pay".', 1);
      assert.equal(stack.effects('pay').length, 0);
    }));

  it('that is cancelled while it waits for a worker has not started', () =>
    withStack(async (stack) => {
      await stack.worker({ HOLDFAST_MAX_ACTIVITIES: '1' });
      const note = { name: 'note', arguments: { text: 'x', hold_ms: 60_000 }, call_id: 'first' };
      const pay = { name: 'pay', arguments: { amount: 5 }, call_id: 'second' };
      let task = await stack.start([{ call: [note, pay] }, { say: 'never' }]);
      await until('the first runs', () => stack.effects('note').length === 1);
      while (stack.effects('pay').length > 0) {
        // The only slot went to the second call first: then this one does not show what it is to show.
        await stack.handle(task).terminate();
        writeFileSync(stack.effectsFile, '');
        task = await stack.start([{ call: [note, pay] }, { say: 'never' }]);
        await until('the first runs', () => stack.effects('note').length === 1);
      }
      await task.cancel();
      await assert.rejects(
        task.result(),
        (error: unknown) => error instanceof AgentTaskError && error.reason === 'Cancelled',
      );
      const { memo } = await stack.handle(task).describe();
      const left = memo?.['holdfast_cancelled'] as
        | { tool_calls: { call_id: string; state: string; note?: string }[] }
        | undefined;
      const second = left?.tool_calls.find(({ call_id }) => call_id === 'second');
      assert.deepEqual([second?.state, second?.note], ['dropped', 'not started']);
      assert.equal(stack.effects('pay').length, 0);
    }));
});
