/** SIGTERM (scenario 47): no new work, what is short is finished, what is followed is handed over at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { eventMs, eventType, type HistoryEvent } from '../support/history.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const CALL = 'call-1';
const pay = (hold_ms: number): Step => ({
  call: { name: 'pay', arguments: { amount: 5, hold_ms }, call_id: CALL },
});

async function history(stack: Stack, task: AgentTask): Promise<HistoryEvent[]> {
  return (await stack.handle(task).fetchHistory()).events ?? [];
}

async function assertExact(stack: Stack, task: AgentTask, text: string): Promise<void> {
  const record = await task.result();
  assert.equal(record.output_text, text);
  const counts = stack.counts(record.session_id);
  assert.equal(counts.results_accepted, 1);
  assert.equal(counts.results_repeated + counts.results_refused + counts.violations, 0);
  assert.ok(!(await stack.eventTypes(task)).includes('workflowTaskFailed'));
}

describe('scenario 47: a worker that is told to stop', { concurrency: 3 }, () => {
  it('with a short tool: its result is recorded before the worker ends, nobody is asked', () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      const task = await stack.start([pay(3000), { say: '{{pay}}' }]);
      await until('the tool runs', () => stack.effects().length === 1);
      const stopping = first.stop();
      const second = await stack.worker();
      assert.equal(await stopping, 0, 'it ends by itself and in good order');
      const ended = Date.now();
      await assertExact(stack, task, '{"paid":5}');
      assert.equal(stack.effects().length, 1);
      const events = await history(stack, task);
      const scheduled = events.find(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'pay',
      );
      const completed = events.find(
        ({ activityTaskCompletedEventAttributes: end }) =>
          String(end?.scheduledEventId) === String(scheduled?.eventId),
      );
      assert.ok(completed && eventMs(completed) <= ended, 'recorded before the end');
      assert.ok(second.alive);
    }));

  it('with a stream open: another worker follows within seconds, not after a timeout', () =>
    withStack(async (stack) => {
      const settings = { HOLDFAST_HEARTBEAT_TIMEOUT: '60s' };
      const first = await stack.worker(settings);
      const task = await stack.start([{ wait_ms: 20_000 }, { say: 'done' }]);
      const totals = () => stack.emulator.counters().totals;
      await until('the stream is open', () => totals().streams_open === 1);
      await stack.worker(settings);
      assert.equal(totals().streams_open, 1, 'the agent is still at work');
      const began = Date.now();
      const stopping = first.stop();
      await until('the stream is opened again', () => totals().streams_opened === 2, 8000);
      assert.ok(Date.now() - began < 5000, `it took ${Date.now() - began} ms`);
      assert.equal(await stopping, 0);
      const record = await task.result();
      assert.equal(record.output_text, 'done');
      const types = (await history(stack, task)).map(eventType);
      assert.ok(!types.includes('activityTaskTimedOut') && !types.includes('activityTaskFailed'));
      assert.equal(totals().streams_open, 0);
    }));

  it('with a long once tool: it is asked to stop at the end of the grace, its outcome is unknown', () =>
    withStack(async (stack) => {
      const first = await stack.worker({ HOLDFAST_SHUTDOWN_GRACE: '2s' });
      const task = await stack.start([pay(600_000), { say: '{{pay}}' }]);
      await until('the tool runs', () => stack.effects().length === 1);
      await stack.worker();
      assert.equal(await first.stop(), 0);
      const pending = await until('a person is asked', async () => (await task.pending())[0]);
      assert.equal(pending.reason, 'the worker shut down after it had started');
      await task.resolveCall({ call_id: CALL, action: 'result', output: { paid: 5 } });
      await assertExact(stack, task, '{"paid":5}');
      assert.equal(stack.effects().length, 1);
    }));

  it('with a long repeatable tool: it runs again elsewhere, under the same key', () =>
    withStack(async (stack) => {
      const first = await stack.worker({ HOLDFAST_SHUTDOWN_GRACE: '2s' });
      const task = await stack.start([
        { call: { name: 'note', arguments: { text: 'x', hold_ms: 6000 } } },
        { say: '{{note}}' },
      ]);
      await until('the tool runs', () => stack.effects().length === 1);
      // The grace is shorter than the tool, however long the other worker takes to start.
      const stopping = first.stop();
      const second = await stack.worker();
      assert.equal(await stopping, 0);
      await assertExact(stack, task, '{"noted":"x"}');
      const [one, other] = stack.effects();
      assert.equal(stack.effects().length, 2);
      assert.equal(one?.key, other?.key);
      assert.equal(other?.pid, second.child.pid);
    }));

  it('and no other one there: the task stays as it is and goes on with the next worker', () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      const task = await stack.start([{ wait_ms: 2000 }, pay(0), { say: '{{pay}}' }]);
      await until('the stream is open', () => stack.emulator.counters().totals.streams_open === 1);
      assert.equal(await first.stop(), 0);
      assert.equal(stack.emulator.counters().totals.streams_open, 0);
      assert.equal((await stack.handle(task).describe()).status.name, 'RUNNING');
      await stack.worker();
      await assertExact(stack, task, '{"paid":5}');
      assert.equal(stack.effects().length, 1);
    }));
});
