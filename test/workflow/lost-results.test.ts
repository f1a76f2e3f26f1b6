/** Results that the service says it has and has not: they go out again, and no tool runs for it (I2, I4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { FaultSpec } from '../../src/emulator/index.ts';
import { Stack, withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

describe('lost results', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  /** A task whose tool ends when the faults of its session are set; gives the session's id. */
  async function faulted(
    call_id: string,
    faults: FaultSpec[],
  ): Promise<{ task: AgentTask; session: string }> {
    const task = await stack.start([
      { call: { name: 'pay', arguments: { amount: 5, hold_until: call_id }, call_id } },
      { say: '{{pay}}' },
    ]);
    await until('the tool runs', () => stack.effects().some((effect) => effect.call_id === call_id));
    const session = await until('the session is open', async () => (await task.status()).session_id);
    await until('nobody follows', () => stack.counts(session).streams_open === 0);
    stack.emulator.addFaults(...faults.map((fault) => ({ ...fault, session_id: session })));
    stack.release(call_id);
    return { task, session };
  }

  async function assertTwoPosts(call_id: string, task: AgentTask, session: string): Promise<void> {
    const record = await task.result();
    assert.equal(record.output_text, '{"paid":5}');
    assert.deepEqual([record.tool_calls_total, record.tool_calls_failed], [1, 0]);
    const posts = stack.posts(session, 'tool_result');
    assert.deepEqual(
      posts.map(({ status, effect }) => [status, effect === 'applied']),
      [
        [202, false],
        [202, true],
      ],
      'the fault struck',
    );
    assert.equal(new Set(posts.map(({ body_sha256 }) => body_sha256)).size, 1, 'the same bytes');
    assert.equal(new Set(posts.map(({ idempotency_key }) => idempotency_key)).size, 2, 'a key for each');
    assert.equal(stack.effects().filter((effect) => effect.call_id === call_id).length, 1);
  }

  const swallowed: FaultSpec = { kind: 'status', status: 202, match: { input_type: 'tool_result' } };

  it('one that was accepted without effect goes out again under a new key', async () => {
    const { task, session } = await faulted('swallowed', [swallowed]);
    await assertTwoPosts('swallowed', task, session);
  });

  it('one that an old read called settled goes out again when later reads ask for it', async () => {
    const { task, session } = await faulted('settled', [
      swallowed,
      {
        kind: 'patch_answer',
        match: { method: 'GET', path: '/agents/sessions/{session_id}' },
        patch: { status: 'in_progress', required_actions: [] },
      },
      {
        kind: 'patch_answer',
        match: { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' },
        patch: { status: 'in_progress' },
      },
    ]);
    await assertTwoPosts('settled', task, session);
    const mine = stack.emulator.faults().filter(({ spec }) => spec.session_id === session);
    assert.ok(mine.every(({ struck }) => struck === 1));
  });

  it('arguments that the service cannot give again for a while are waited for; the tool has not failed', () =>
    withStack(async (own) => {
      const worker = await own.worker({
        HOLDFAST_FAULT: 'follow.before_return=stop',
        HOLDFAST_HEARTBEAT_TIMEOUT: '30s',
      });
      const text = 'x'.repeat(40_000);
      const task = await own.start([
        { call: { name: 'note', arguments: { text }, call_id: 'large' } },
        { say: 'done' },
      ]);
      await until('the calls are found', () => worker.output.includes('stopping this process'));
      own.emulator.addFaults({
        kind: 'status',
        status: 503,
        match: { method: 'GET', path: '/agents/sessions/{session_id}' },
        times: 5,
      });
      worker.signal('SIGCONT');
      const record = await task.result();
      assert.equal(own.emulator.faults()[0]?.struck, 5);
      assert.deepEqual(
        record.tool_calls.map(({ state }) => state),
        ['succeeded'],
      );
      assert.equal(own.effects('note').length, 1);
    }));
});
