/**
 * An operator resets a workflow: the new run has lost what came after that point, the effects have not (I1, I2).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { RunRecord } from '../../src/protocol/task.ts';
import type { HistoryEvent } from '../support/history.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { temporal } from '../support/temporal-command.ts';
import { until } from '../support/until.ts';

/** A tool that holds ends at the word `released`: not before the reset, however slow the machine is. */
const HOLDS = { hold_until: 'released' };
const pay = (call_id: string, hold = {}) => ({
  call: { name: 'pay', arguments: { amount: 5, ...hold }, call_id },
});
const note = (call_id: string, hold = {}) => ({
  call: { name: 'note', arguments: { text: call_id, ...hold }, call_id },
});

/** Resets a task to where its run, or the run given, made the decision that `isPoint` finds. Gives the old run's id. */
async function reset(
  stack: Stack,
  task: AgentTask,
  isPoint: (event: HistoryEvent) => boolean,
  runId?: string,
): Promise<string> {
  const handle = stack.client.workflow.getHandle(task.taskId, runId);
  const current = (await handle.describe()).runId;
  const { events = [] } = await handle.fetchHistory();
  const point = events?.findLast(
    (event, index) => event.workflowTaskCompletedEventAttributes && isPoint(events[index + 1] ?? event),
  );
  assert.ok(point, 'there is such a point');
  const named = ['--workflow-id', task.taskId, '--run-id', current, '--event-id', String(point.eventId)];
  await temporal('workflow', 'reset', ...named, '--reason', 'test');
  return current;
}

function schedules(type: string, activityId = ''): (event: HistoryEvent) => boolean {
  return ({ activityTaskScheduledEventAttributes: scheduled }) =>
    scheduled?.activityType?.name === type && (scheduled.activityId ?? '').includes(activityId);
}

async function effects(stack: Stack, call_id: string, count = 1): Promise<void> {
  const mine = () => stack.effects().filter((effect) => effect.call_id === call_id);
  await until(`the effect of ${call_id}`, () => mine().length >= count);
  assert.equal(mine().length, count, `effects of ${call_id}`);
}

/** One session and one turn of the task, every result taken once, nothing refused, nobody asked, the lock given up. */
async function assertExact(
  stack: Stack,
  task: AgentTask,
  expected: { text: string; results: number; turns?: number },
): Promise<RunRecord> {
  const record = await task.result();
  assert.equal(record.output_text, expected.text);
  const { totals, violations } = stack.emulator.counters();
  assert.equal(totals.creates, 1, 'sessions created');
  assert.equal(totals.turns_started, expected.turns ?? 1, 'turns');
  assert.equal(totals.results_accepted, expected.results, 'results accepted');
  assert.equal(totals.results_refused, 0, 'results refused');
  assert.deepEqual(violations, []);
  const { events } = await stack.handle(task).fetchHistory();
  for (const { workflowTaskFailedEventAttributes: failed } of events ?? [])
    assert.ok(!failed || failed.baseRunId, `a workflow task failed: ${failed?.failure?.message}`);
  const lock = stack.client.workflow.getHandle(`holdfast-session:${record.session_id}`);
  await until('the lock is given up', async () => (await lock.describe()).status.name !== 'RUNNING');
  return record;
}

describe('a workflow reset', { concurrency: 3 }, () => {
  it('to before openSession while a once tool runs: same session, one effect, and it tells its end itself', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await stack.start([pay('first', HOLDS), { say: '{{pay}}' }]);
      await effects(stack, 'first');
      await reset(stack, task, schedules('holdfast.openSession'));
      const seen = await until('the new run knows the call', async () => {
        const { detail } = await task.status();
        return detail?.tool_calls.find(({ state }) => state === 'unknown');
      });
      assert.equal(seen.note, 'it had started before the task was reset');
      stack.release(HOLDS.hold_until);
      await assertExact(stack, task, { text: '{"paid":5}', results: 1 });
      await effects(stack, 'first');
    }));

  it('to before openSession after its tool was lost: unknown still, and a person answers', () =>
    withStack(async (stack) => {
      const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.after_effect' });
      const task = await stack.start([pay('lost'), { say: '{{pay}}' }]);
      await doomed.crashed();
      await stack.worker();
      await until('a person is asked', async () => (await task.pending()).length > 0);
      await reset(stack, task, schedules('holdfast.openSession'));
      await until('a person is asked again', async () => {
        const [pending] = await task.pending();
        return pending?.reason === 'it had started before the task was reset';
      });
      await task.resolveCall({ call_id: 'lost', action: 'run_again' });
      await assertExact(stack, task, { text: '{"paid":5}', results: 1 });
      await effects(stack, 'lost', 2);
    }));

  it('to before a once tool whose result was posted: the same bytes again, no second effect', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await stack.start([pay('posted'), note('open', HOLDS), { say: '{{pay}} {{note}}' }]);
      await effects(stack, 'open');
      await reset(stack, task, schedules('pay', 'posted'));
      stack.release(HOLDS.hold_until);
      const record = await assertExact(stack, task, { text: '{"paid":5} {"noted":"open"}', results: 2 });
      await effects(stack, 'posted');
      assert.equal(stack.counts(record.session_id).results_repeated, 1);
      const posts = stack.emulator
        .posts(record.session_id)
        .filter(({ body }) => JSON.stringify(body).includes('"posted"'));
      assert.equal(posts.length, 2);
      assert.equal(new Set(posts.map((post) => `${post.idempotency_key} ${post.body_sha256}`)).size, 1);
    }));

  it('to before a once tool whose result was recorded and not posted: posted without running it again', () =>
    withStack(async (stack) => {
      const doomed = await stack.worker({ HOLDFAST_FAULT: 'result.before_post' });
      const task = await stack.start([pay('recorded'), { say: '{{pay}}' }]);
      await doomed.crashed();
      await reset(stack, task, schedules('pay', 'recorded'));
      await stack.worker();
      await assertExact(stack, task, { text: '{"paid":5}', results: 1 });
      await effects(stack, 'recorded');
    }));

  it('twice, the second time to before the first: nothing is executed again', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await stack.start([pay('twice'), note('later', HOLDS), { say: '{{pay}}' }]);
      await effects(stack, 'later');
      await reset(stack, task, schedules('pay', 'twice'));
      await effects(stack, 'later', 2);
      await reset(stack, task, schedules('holdfast.openSession'));
      stack.release(HOLDS.hold_until);
      await assertExact(stack, task, { text: '{"paid":5}', results: 2 });
      await effects(stack, 'twice');
    }));

  it('of a task that had completed: the same outcome, and no second turn', () =>
    withStack(async (stack) => {
      await stack.worker();
      const task = await stack.start([pay('done'), { say: '{{pay}}' }]);
      const first = await task.result();
      await reset(stack, task, schedules('holdfast.openSession'));
      const again = await assertExact(stack, task, { text: '{"paid":5}', results: 1 });
      assert.equal(again.session_id, first.session_id);
      await effects(stack, 'done');
    }));

  it('of a task that had posted its message: the same key again, and no second turn', () =>
    withStack(async (stack) => {
      await stack.worker();
      const created = await stack.start([{ say: 'one' }]);
      const { session_id } = await created.result();
      const input = `script: ${JSON.stringify([pay('attached'), { say: 'two' }])}`;
      const task = await stack.tasks.start({ session_id, input });
      await task.result();
      await reset(stack, task, schedules('holdfast.openSession'));
      await assertExact(stack, task, { text: 'two', results: 1, turns: 2 });
      assert.equal(stack.counts(session_id).messages_accepted, 1);
      await effects(stack, 'attached');
    }));

  it('of the first run of a task that has continued as new: what later runs executed counts', () =>
    withStack(async (stack) => {
      await stack.worker({ HOLDFAST_CONTINUE_AFTER_EVENTS: '50' });
      const rounds = Array.from({ length: 6 }, (_, index) => pay(`round-${index}`));
      const task = await stack.start([...rounds, pay('later', HOLDS), { say: 'ok' }]);
      const { runId } = await stack.handle(task).describe();
      await effects(stack, 'later');
      assert.notEqual((await stack.handle(task).describe()).runId, runId, 'it has continued as new');
      await reset(stack, task, schedules('holdfast.openSession'), runId);
      stack.release(HOLDS.hold_until);
      await assertExact(stack, task, { text: 'ok', results: 7 });
      for (const index of rounds.keys()) await effects(stack, `round-${index}`);
      await effects(stack, 'later');
    }));
});
