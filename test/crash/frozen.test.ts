/**
 * A worker that is silent for longer than the heartbeat timeout, and goes on: its attempts have been given up, and
 * others may run beside them (scenario 8). What it executed counts, and nothing is executed twice (I2, I8).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { withStack, type Stack, type WorkerProcess } from '../support/stack.ts';
import { until } from '../support/until.ts';

/**
 * A frozen worker's polls stay open at the server, for a minute at most. Work that is given to one of them comes
 * back when it times out: after the heartbeat timeout, or ten seconds for a workflow task.
 */
const PATIENCE_MS = 100_000;

/** A tool that a test freezes holds until then: it cannot have ended before. */
const RELEASED = 'released';
const pay = (hold: { hold_ms?: number; hold_until?: string } = {}): Step => ({
  call: { name: 'pay', arguments: { amount: 5, ...hold } },
});

async function stopped(worker: WorkerProcess): Promise<void> {
  await until('the worker has stopped', () => worker.output.includes('stopping this process'));
}

async function effects(stack: Stack, count: number): Promise<void> {
  await until(`${count} effects`, () => stack.effects().length >= count, PATIENCE_MS);
  assert.equal(stack.effects().length, count, 'effects');
}

/** Asks the server: a query might be given to the frozen worker. */
async function unknown(stack: Stack, task: AgentTask): Promise<void> {
  const isUnknown = async (): Promise<boolean> => {
    const { searchAttributes } = await stack.handle(task).describe();
    return searchAttributes['HoldfastState']?.[0] === 'waiting_for_person';
  };
  await until('the outcome is unknown', isUnknown, PATIENCE_MS);
}

/** The task completes with one result; `told`: how many outcomes were told by signal. */
async function assertExact(
  stack: Stack,
  task: AgentTask,
  expected: { text: string; told: number },
): Promise<void> {
  const record = await task.result();
  assert.equal(record.output_text, expected.text);
  const counts = stack.counts(record.session_id);
  assert.equal(counts.results_accepted, 1, 'results accepted');
  assert.equal(counts.results_repeated + counts.results_refused + counts.violations, 0);
  assert.equal(counts.messages_accepted, 0, 'no message but the first');
  const types = await stack.eventTypes(task);
  assert.equal(types.filter((type) => type === 'workflowExecutionSignaled').length, expected.told, 'told');
  assert.ok(!types.includes('workflowTaskFailed'));
  await until('no stream is left', () => stack.emulator.counters().totals.streams_open === 0);
}

describe('a worker that was silent and goes on', { concurrency: 4 }, () => {
  it('scenario 8: a follower frozen while another takes over: the call runs once, the first posts nothing', () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      const task = await stack.start([{ wait_ms: 7000 }, pay({ hold_ms: 3000 }), { say: '{{pay}}' }]);
      await until('the stream is open', () => stack.emulator.counters().totals.streams_open === 1);
      first.signal('SIGSTOP');
      const second = await stack.worker();
      await effects(stack, 1);
      first.signal('SIGCONT');
      await assertExact(stack, task, { text: '{"paid":5}', told: 0 });
      assert.equal(await first.stop(), 0, 'the first ends in good order');
      await effects(stack, 1);
      assert.equal(stack.effects()[0]?.pid, second.child.pid);
      assert.equal(stack.emulator.posts().length, 1);
    }));

  it('scenario 8: a once tool frozen after its effect: unknown meanwhile, then it tells its end itself', () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      const task = await stack.start([pay({ hold_until: RELEASED }), { say: '{{pay}}' }]);
      await effects(stack, 1);
      first.signal('SIGSTOP');
      await stack.worker();
      await unknown(stack, task);
      stack.release(RELEASED);
      first.signal('SIGCONT');
      await assertExact(stack, task, { text: '{"paid":5}', told: 1 });
      await effects(stack, 1);
    }));

  it('a once tool frozen before its fence: it does not pass it any more, the other worker runs it', () =>
    withStack(async (stack) => {
      const first = await stack.worker({ HOLDFAST_FAULT: 'tool.before_fence=stop' });
      const task = await stack.start([pay(), { say: '{{pay}}' }]);
      await stopped(first);
      const second = await stack.worker();
      await assertExact(stack, task, { text: '{"paid":5}', told: 0 });
      first.signal('SIGCONT');
      assert.equal(await first.stop(), 0, 'the first has ended its attempt');
      await effects(stack, 1);
      assert.equal(stack.effects()[0]?.pid, second.child.pid);
    }));

  it('a once tool frozen between fence and effect: unknown; it then runs, once, and tells', () =>
    withStack(async (stack) => {
      const first = await stack.worker({ HOLDFAST_FAULT: 'tool.after_fence=stop' });
      const task = await stack.start([pay(), { say: '{{pay}}' }]);
      await stopped(first);
      await stack.worker();
      await unknown(stack, task);
      assert.equal(stack.effects().length, 0);
      first.signal('SIGCONT');
      await assertExact(stack, task, { text: '{"paid":5}', told: 1 });
      await effects(stack, 1);
    }));

  it('a once tool frozen after its effect, and a person is faster: the first outcome wins', () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      // The second call keeps the task going until the first one's late outcome has come.
      const call = [
        { name: 'pay', arguments: { amount: 5, hold_until: RELEASED }, call_id: 'late' },
        { name: 'note', arguments: { text: 'x', hold_until: 'told' }, call_id: 'long' },
      ];
      const task = await stack.start([{ call }, { say: '{{pay}}' }]);
      await until('both run', () => stack.effects().length === 2);
      first.signal('SIGSTOP');
      await stack.worker();
      await unknown(stack, task);
      // Refused while it has only just become unknown.
      const decision = { call_id: 'late', action: 'report_failure', error: 'Nobody knows.' } as const;
      await until('the answer is taken', () => task.resolveCall(decision).catch(() => null), PATIENCE_MS);
      stack.release(RELEASED);
      first.signal('SIGCONT');
      const told = async (): Promise<boolean> =>
        (await stack.eventTypes(task)).includes('workflowExecutionSignaled');
      await until('it has told its end', told);
      stack.release('told');
      const record = await task.result();
      assert.equal(record.output_text, 'Nobody knows.');
      const counts = stack.counts(record.session_id);
      assert.equal(counts.results_accepted, 2);
      assert.equal(counts.results_repeated + counts.results_refused + counts.violations, 0);
      assert.equal(stack.effects('pay').length, 1);
    }));

  it('a repeatable tool frozen while it runs: it runs elsewhere under the same key, one result counts', () =>
    withStack(async (stack) => {
      const first = await stack.worker();
      const task = await stack.start([
        { call: { name: 'note', arguments: { text: 'x', hold_until: RELEASED } } },
        { say: '{{note}}' },
      ]);
      await effects(stack, 1);
      first.signal('SIGSTOP');
      await stack.worker();
      await effects(stack, 2);
      stack.release(RELEASED);
      first.signal('SIGCONT');
      await assertExact(stack, task, { text: '{"noted":"x"}', told: 0 });
      assert.equal(new Set(stack.effects().map(({ key }) => key)).size, 1, 'one idempotency key');
    }));

  for (const helpers of [0, 1]) {
    const who = helpers === 0 ? 'the only worker' : 'one of two workers';
    it(`a once tool that blocks the event loop of ${who} for twice the heartbeat timeout tells its end`, () =>
      withStack(async (stack) => {
        const first = await stack.worker();
        const task = await stack.start([
          { call: { name: 'stall', arguments: { ms: 5000 } } },
          { say: '{{stall}}' },
        ]);
        await effects(stack, 1);
        if (helpers > 0) await stack.worker();
        await assertExact(stack, task, { text: '{"stalled":5000}', told: 1 });
        await effects(stack, 1);
        assert.match(first.output, /the event loop stalled/);
      }));
  }

  it('a once tool over its limit that ends late: unknown meanwhile, then it tells its end itself', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await stack.start([
        { call: { name: 'stubborn_once', arguments: { ms: 6000 } } },
        { say: '{{stubborn_once}}' },
      ]);
      const pending = await until('a person is asked', async () => (await task.pending())[0]);
      assert.equal(pending.reason, 'it did not end within 1 s');
      await assertExact(stack, task, { text: 'late', told: 1 });
      await effects(stack, 1);
    }));
});
