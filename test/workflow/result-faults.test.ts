/** A tool's result on a bad line: the tool has run once, and its saved bytes arrive once (I2, I3, I4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { CallSpec, PostRecord } from '../../src/emulator/index.ts';
import { eventType, failedTasks } from '../support/history.ts';
import { Stack, withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const call = (call_id: string): CallSpec => ({ name: 'note', arguments: { text: 'x' }, call_id });

/** The same bytes each time, under one key. */
function assertSame(posts: readonly PostRecord[], keys = 1): void {
  assert.equal(new Set(posts.map(({ body_sha256 }) => body_sha256)).size, 1, 'the same bytes');
  assert.equal(new Set(posts.map(({ idempotency_key }) => idempotency_key)).size, keys, 'keys');
}

/** What the service and the world saw of a task with one call, and how often the workflow ran its tool. */
async function assertOnce(
  stack: Stack,
  task: AgentTask,
  session: string,
  call_id: string,
  keys = 1,
): Promise<void> {
  assert.equal(stack.effects().filter((effect) => effect.call_id === call_id).length, 1, 'effects');
  const counts = stack.counts(session);
  assert.equal(counts.results_accepted, 1, 'state changes at the service');
  assert.equal(counts.violations, 0);
  assertSame(stack.posts(session, 'tool_result'), keys);
  const events = (await stack.handle(task).fetchHistory()).events ?? [];
  const scheduled = events.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'note',
  );
  assert.deepEqual(
    events
      .filter((event) =>
        scheduled.some(
          ({ eventId }) =>
            String(event.activityTaskCompletedEventAttributes?.scheduledEventId) === String(eventId),
        ),
      )
      .map(eventType),
    ['activityTaskCompleted'],
    'completions of the tool',
  );
  assert.deepEqual(failedTasks(events), [], 'failed workflow tasks');
}

describe('a result on a bad line', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker({ HOLDFAST_HEARTBEAT_TIMEOUT: '30s' });
  });
  after(() => stack.stop());

  /** A task on a session whose faults are set before it starts. */
  async function begin(
    session_id: string,
    spec: CallSpec,
    further: { timeout_ms?: number } = {},
  ): Promise<AgentTask> {
    const input = `script: ${JSON.stringify([{ call: spec, ...further }, { say: '{{note}}' }])}`;
    return stack.tasks.start({ session_id, agent: 'tester', input });
  }

  it('scenario 1: five times 503 while the stream breaks and shows the call again: no second run', async () => {
    const session_id = await stack.readySession();
    const match = { input_type: 'tool_result' };
    // Of a reopened stream the two items of the turn come again, then it breaks.
    const [, cut] = stack.emulator.addFaults(
      { kind: 'status', session_id, match, status: 503, times: 5 },
      { kind: 'cut_stream', session_id, after_events: 2, after: 1, times: 7 },
      { kind: 'reemit_on_reconnect', session_id, times: 0 },
    );
    const task = await begin(session_id, call('s1'));
    assert.equal((await task.result()).output_text, '{"noted":"x"}');
    const posts = stack.posts(session_id, 'tool_result');
    assert.deepEqual(
      posts.map(({ status }) => status),
      [503, 503, 503, 503, 503, 202],
    );
    assert.ok(stack.struck(cut) >= 6, 'the stream broke each time');
    await assertOnce(stack, task, session_id, 's1');
    assert.equal(stack.counts(session_id).messages_accepted, 1, 'no second message');
  });

  it('scenario 3: taken, and the answer lost: the same post again, which changes nothing', async () => {
    const session_id = await stack.readySession();
    stack.emulator.addFaults({ kind: 'lost_reply', session_id, match: { input_type: 'tool_result' } });
    const task = await begin(session_id, call('s3'));
    const record = await task.result();
    assert.equal(record.output_text, '{"noted":"x"}');
    assert.equal(record.tool_calls_failed, 0);
    assert.deepEqual(
      stack.posts(session_id, 'tool_result').map(({ effect, reply_lost }) => [effect, reply_lost]),
      [
        ['applied', true],
        ['repeat', false],
      ],
    );
    await assertOnce(stack, task, session_id, 's3');
  });

  it('scenario 4: too early by two refusals: the same bytes a moment later, in the same attempt', async () => {
    const session_id = await stack.readySession();
    stack.emulator.addFaults({ kind: 'early_result', session_id, refusals: 2 });
    const task = await begin(session_id, call('s4'));
    assert.equal((await task.result()).output_text, '{"noted":"x"}');
    const posts = stack.posts(session_id, 'tool_result');
    assert.deepEqual(
      posts.map(({ status }) => status),
      [400, 400, 202],
    );
    assert.ok((posts.at(-1)?.at ?? 0) - (posts[0]?.at ?? 0) >= 400, 'with pauses');
    await assertOnce(stack, task, session_id, 's4');
  });

  it('scenario 4: unknown to the service for long: again, later and later, and nobody gives up', async () => {
    const session_id = await stack.readySession();
    stack.emulator.addFaults({ kind: 'early_result', session_id, refusals: 8 });
    const task = await begin(session_id, call('s4-long'));
    assert.equal((await task.result()).output_text, '{"noted":"x"}');
    const at = stack.posts(session_id, 'tool_result').map((post) => post.at);
    assert.equal(at.length, 9);
    // The client library's schedule within a round, then a second and two between the rounds.
    const pauses = at.slice(1).map((ms, index) => ms - (at[index] ?? 0));
    for (const [index, least] of [100, 300, 600, 1000, 100, 300, 600, 2000].entries())
      assert.ok((pauses[index] ?? 0) >= least - 5, `pause ${index}: ${pauses[index]} ms`);
    // A key of its own for each round: the service may have noted the old one with nothing.
    await assertOnce(stack, task, session_id, 's4-long', 3);
  });

  it('scenario 4: unknown because it was taken before: delivered, though no post was answered well', async () => {
    const session_id = await stack.readySession();
    stack.emulator.addFaults(
      { kind: 'lost_reply', session_id, match: { input_type: 'tool_result' } },
      { kind: 'key_handling', session_id, same_body: 'apply', times: 0 },
      { kind: 'refuse_when_settled', session_id, of: 'repeat', times: 0 },
    );
    const task = await begin(session_id, call('s4-taken'));
    const record = await task.result();
    assert.equal(record.output_text, '{"noted":"x"}');
    assert.deepEqual(
      record.tool_calls.map(({ state }) => state),
      ['succeeded'],
    );
    const posts = stack.posts(session_id, 'tool_result');
    assert.ok(
      posts[0]?.reply_lost && posts.slice(1).every(({ status }) => status === 400),
      'the fault struck',
    );
    await assertOnce(stack, task, session_id, 's4-taken');
  });

  it('scenario 4: not wanted any more: the call is dropped, and the end of the turn is read', async () => {
    const session_id = await stack.readySession();
    const spec = { name: 'note', arguments: { text: 'x', hold_until: 's4-late' }, call_id: 's4-late' };
    const task = await begin(session_id, spec, { timeout_ms: 1000 });
    await until('the turn has timed out', async () => (await stack.turnStatus(session_id)) === 'failed');
    stack.release('s4-late');
    await assert.rejects(task.result(), (error: unknown) => {
      assert.ok(error instanceof AgentTaskError);
      assert.equal(error.reason, 'TurnFailed');
      assert.match(error.message, /request_timeout/);
      assert.deepEqual(
        error.record?.tool_calls.map(({ state, note }) => [state, note]),
        [['dropped', 'the service no longer waits for it']],
      );
      return true;
    });
    assert.deepEqual(
      stack.posts(session_id, 'tool_result').map(({ status }) => status),
      [409],
    );
  });

  it('scenario 5: the post never arrived, and the call is shown again: the saved result goes out', async () => {
    const session_id = await stack.readySession();
    const [lost, again] = stack.emulator.addFaults(
      { kind: 'lost_request', session_id, match: { input_type: 'tool_result' }, times: 2 },
      { kind: 'reemit_on_reconnect', session_id, times: 0 },
    );
    const task = await begin(session_id, call('s5'));
    assert.equal((await task.result()).output_text, '{"noted":"x"}');
    assert.ok(lost && again && stack.struck(lost) === 2 && stack.struck(again) >= 3);
    assert.equal(stack.posts(session_id, 'tool_result').length, 1);
    await assertOnce(stack, task, session_id, 's5');
  });

  it('scenario 3: taken, the answer lost, and the worker killed: another makes the very same post', () =>
    withStack(async (own) => {
      const match = { input_type: 'tool_result' };
      own.emulator.addFaults({ kind: 'lost_reply', match, times: 0 });
      const first = await own.worker();
      const task = await own.start([{ call: call('s3-killed') }, { say: '{{note}}' }]);
      const [post] = await until('the result is taken', () => {
        const posts = own.emulator.posts().filter(({ effect }) => effect === 'applied');
        return posts.length > 0 && posts;
      });
      await first.kill();
      own.emulator.clearFaults();
      const earlier = own.emulator.posts().length;
      await own.worker();
      const record = await task.result();
      assert.equal(record.output_text, '{"noted":"x"}');
      assert.equal(post?.reply_lost, true);
      const later = own.emulator.posts().slice(earlier);
      assert.ok(later.length > 0 && later.every(({ effect }) => effect === 'repeat'), 'posted again');
      await assertOnce(own, task, record.session_id, 's3-killed');
    }));
});
