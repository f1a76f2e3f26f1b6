/** An operator pauses, unpauses and resets activities: a `once` tool is not executed again for it (I2). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { temporal } from '../support/temporal-command.ts';
import { until } from '../support/until.ts';

const CALL = 'call-1';
/** States of a pending activity, as the server numbers them. */
const PAUSED = [4, 5];

/** The word that lets the tool end. */
const RELEASED = 'released';

async function paying(stack: Stack, hold_until?: string): Promise<AgentTask> {
  return stack.start([
    { call: { name: 'pay', arguments: { amount: 5, hold_until }, call_id: CALL } },
    { say: '{{pay}}' },
  ]);
}

async function running(stack: Stack): Promise<void> {
  await until('the tool runs', () => stack.effects('pay').length === 1);
}

/** The one activity of a type that a task has. */
async function pendingActivity(stack: Stack, task: AgentTask, type: string) {
  const { raw } = await stack.handle(task).describe();
  return raw.pendingActivities?.find((one) => one.activityType?.name === type);
}

/** The arguments that name it to the CLI. */
async function named(stack: Stack, task: AgentTask, type: string): Promise<string[]> {
  const found = await until(`${type} is pending`, () => pendingActivity(stack, task, type));
  return ['--workflow-id', task.taskId, '--activity-id', found.activityId ?? ''];
}

async function isPaused(stack: Stack, task: AgentTask, type: string): Promise<boolean> {
  return PAUSED.includes((await pendingActivity(stack, task, type))?.state ?? 0);
}

/** One effect, one result, nothing forbidden; `asked`: whether a person was needed. */
async function assertOnce(stack: Stack, task: AgentTask): Promise<void> {
  const record = await task.result();
  assert.equal(record.output_text, '{"paid":5}');
  assert.equal(stack.effects('pay').length, 1, 'effects');
  const counts = stack.counts(record.session_id);
  assert.equal(counts.results_accepted, 1);
  assert.equal(counts.results_refused + counts.violations, 0);
  assert.ok(!(await stack.eventTypes(task)).includes('workflowTaskFailed'));
}

async function answerUnknown(stack: Stack, task: AgentTask): Promise<void> {
  const pending = await until('a person is asked', async () => (await task.pending())[0]);
  assert.equal(pending.call_id, CALL);
  assert.match(pending.reason, /lost after it had started/);
  assert.equal(stack.effects('pay').length, 1);
  await task.resolveCall({ call_id: CALL, action: 'result', output: { paid: 5 } });
}

describe('an operator', { concurrency: 3 }, () => {
  it('pauses and unpauses a running once tool: nobody is asked', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await paying(stack, RELEASED);
      await running(stack);
      const activity = await named(stack, task, 'pay');
      await temporal('activity', 'pause', ...activity);
      assert.ok(await isPaused(stack, task, 'pay'));
      await temporal('activity', 'unpause', ...activity);
      stack.release(RELEASED);
      await assertOnce(stack, task);
    }));

  it('pauses a running once tool, and it ends while it is paused', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await paying(stack, RELEASED);
      await running(stack);
      await temporal('activity', 'pause', ...(await named(stack, task, 'pay')));
      stack.release(RELEASED);
      await assertOnce(stack, task);
    }));

  it('pauses a once tool before its fence: nothing has run, so it runs afterwards', () =>
    withStack(async (stack) => {
      const stopping = await stack.worker({ HOLDFAST_FAULT: 'tool.before_fence=stop' });
      const task = await paying(stack);
      await until('the worker has stopped', () => stopping.output.includes('stopping this process'));
      await temporal('activity', 'pause', ...(await named(stack, task, 'pay')));
      stopping.signal('SIGCONT');
      await assertOnce(stack, task);
    }));

  it('pauses a once tool whose worker is then killed, and unpauses it: unknown, and not run again', () =>
    withStack(async (stack) => {
      const doomed = await stack.worker();
      const task = await paying(stack, RELEASED);
      await running(stack);
      const activity = await named(stack, task, 'pay');
      await temporal('activity', 'pause', ...activity);
      await doomed.kill();
      await stack.worker();
      await temporal('activity', 'unpause', ...activity);
      await answerUnknown(stack, task);
      await assertOnce(stack, task);
    }));

  for (const flags of [[], ['--reset-heartbeats']]) {
    const how = flags.length === 0 ? '' : ', its heartbeats too';
    it(`resets a running once tool${how}: nobody is asked`, () =>
      withStack(async (stack) => {
        await stack.worker();
        const task = await paying(stack, RELEASED);
        await running(stack);
        await temporal('activity', 'reset', ...(await named(stack, task, 'pay')), ...flags);
        stack.release(RELEASED);
        await assertOnce(stack, task);
      }));

    it(`resets a once tool${how}, whose worker is then killed: unknown, and not run again`, () =>
      withStack(async (stack) => {
        const doomed = await stack.worker();
        const task = await paying(stack, RELEASED);
        await running(stack);
        await temporal('activity', 'reset', ...(await named(stack, task, 'pay')), ...flags);
        await doomed.kill();
        await stack.worker();
        await answerUnknown(stack, task);
        await assertOnce(stack, task);
      }));
  }

  it('pauses, resets and unpauses a once tool whose worker was killed: unknown, and not run again', () =>
    withStack(async (stack) => {
      const doomed = await stack.worker();
      const task = await paying(stack, RELEASED);
      await running(stack);
      const activity = await named(stack, task, 'pay');
      await temporal('activity', 'pause', ...activity);
      await doomed.kill();
      await stack.worker();
      await temporal('activity', 'reset', ...activity, '--reset-heartbeats', '--keep-paused');
      await temporal('activity', 'unpause', ...activity);
      await answerUnknown(stack, task);
      await assertOnce(stack, task);
    }));

  it('pauses and unpauses the follower: the turn is followed on, no stream is left', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await stack.start([{ wait_ms: 8000 }, { say: 'done' }]);
      const streams = (): number => stack.emulator.counters().totals.streams_open;
      await until('the stream is open', () => streams() === 1);
      const activity = await named(stack, task, 'holdfast.followTurn');
      await temporal('activity', 'pause', ...activity);
      await until('the paused follower has let go', () => streams() === 0);
      await temporal('activity', 'unpause', ...activity);
      const record = await task.result();
      assert.equal(record.output_text, 'done');
      assert.equal(streams(), 0);
    }));
});
