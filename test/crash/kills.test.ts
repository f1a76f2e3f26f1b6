/** Workers killed with SIGKILL at the places where it hurts; another takes over each time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Step } from '../../src/emulator/index.ts';
import type { RunRecord } from '../../src/protocol/task.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

/** What must hold after any crash: one session, each result taken once, nothing that the protocol forbids. */
function assertExact(stack: Stack, record: RunRecord, results: number): void {
  const counts = stack.counts(record.session_id);
  assert.equal(record.run.status, 'completed');
  assert.equal(counts.results_accepted, results, 'state changes at the service');
  assert.equal(counts.results_refused, 0, 'posts refused');
  assert.deepEqual(stack.emulator.counters().violations, []);
}

/** Starts a task on a worker that crashes at a fault point, then a good worker; gives the task's record. */
async function crashAt(stack: Stack, fault: string, steps: Step[]): Promise<RunRecord> {
  const doomed = await stack.worker({ HOLDFAST_FAULT: fault });
  const task = await stack.start(steps);
  await doomed.crashed();
  await stack.worker();
  const record = await task.result();
  assert.equal(stack.emulator.counters().totals.creates, 1, 'sessions created');
  return record;
}

/** Every test has a stack of its own, so that they run side by side. */
function crash(name: string, test: (stack: Stack) => Promise<void>): void {
  it(name, () => withStack(test));
}

describe('a killed worker', { concurrency: 3 }, () => {
  crash('right after the session was created, before that was recorded: one session (I1)', async (stack) => {
    const record = await crashAt(stack, 'session.created', [{ say: 'Hello.' }]);
    assert.equal(record.output_text, 'Hello.');
    assertExact(stack, record, 0);
  });

  crash('while a repeatable tool runs: it runs again, under the same key (I2)', async (stack) => {
    const doomed = await stack.worker();
    const call_id = 'repeat-1';
    const task = await stack.start([
      { call: { name: 'note', arguments: { text: 'x', hold_until: call_id }, call_id } },
      { say: '{{note}}' },
    ]);
    const mine = () => stack.effects('note').filter((effect) => effect.call_id === call_id);
    await until('the tool runs', () => mine().length === 1);
    await doomed.kill();
    stack.release(call_id);
    await stack.worker();
    const record = await task.result();
    assert.equal(record.output_text, '{"noted":"x"}');
    assert.equal(mine().length, 2);
    assert.equal(new Set(mine().map((effect) => effect.key)).size, 1);
    assertExact(stack, record, 1);
  });

  crash(
    'between record and post: the recorded bytes are posted, the tool does not run again (I3)',
    async (stack) => {
      const record = await crashAt(stack, 'result.before_post', [
        { call: { name: 'pay', arguments: { amount: 7 }, call_id: 'record-post' } },
        { say: '{{pay}}' },
      ]);
      assert.equal(record.output_text, '{"paid":7}');
      assert.equal(stack.effects('pay').filter((effect) => effect.call_id === 'record-post').length, 1);
      assertExact(stack, record, 1);
    },
  );

  crash(
    'between post and its record: posted again under the same key and bytes, one state change (I4)',
    async (stack) => {
      const record = await crashAt(stack, 'result.posted', [
        { call: { name: 'pay', arguments: { amount: 8 }, call_id: 'post-record' } },
        { say: '{{pay}}' },
      ]);
      assert.equal(record.output_text, '{"paid":8}');
      const posts = stack.posts(record.session_id, 'tool_result');
      assert.equal(posts.length, 2);
      assert.equal(new Set(posts.map((post) => post.body_sha256)).size, 1, 'the same bytes');
      assert.equal(new Set(posts.map((post) => post.idempotency_key)).size, 1, 'the same key');
      assertExact(stack, record, 1);
    },
  );

  crash('with the stream open, in the middle of text: the answer is complete (I6)', async (stack) => {
    const doomed = await stack.worker();
    const text = 'A long answer. '.repeat(60);
    const task = await stack.start([{ say: text, delta_ms: 60 }]);
    const open = () => stack.emulator.counters().totals.streams_open === 1;
    await until('the stream is open', open);
    await until('text has come', async () => {
      const { raw } = await stack.handle(task).describe();
      return raw.pendingActivities?.some(
        (activity) => activity.activityType?.name === 'holdfast.followTurn' && activity.heartbeatDetails,
      );
    });
    await doomed.kill();
    await until('the stream is gone', () => stack.emulator.counters().totals.streams_open === 0);
    await stack.worker();
    const record = await task.result();
    assert.equal(record.output_text, text);
    assertExact(stack, record, 0);
  });

  for (const [action, answer, effects] of [
    ['result', '{"paid":9,"by":"hand"}', 1],
    ['report_failure', 'The bank says no.', 1],
    ['run_again', '{"paid":9}', 2],
  ] as const) {
    crash(
      `between a once tool's effect and its record: unknown, then a person says ${action} (I2)`,
      async (stack) => {
        const call_id = `unknown-${action}`;
        const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.after_effect' });
        const task = await stack.start([
          { call: { name: 'pay', arguments: { amount: 9 }, call_id } },
          { say: '{{pay}}' },
        ]);
        await doomed.crashed();
        await stack.worker();
        const mine = () => stack.effects('pay').filter((effect) => effect.call_id === call_id);
        const [pending] = await until('a person is asked', async () => {
          const list = await task.pending();
          return list.length > 0 && list;
        });
        assert.equal(pending?.call_id, call_id);
        assert.equal(pending?.name, 'pay');
        assert.match(pending?.reason ?? '', /lost after it had started/);
        assert.equal(mine().length, 1);
        assert.equal((await task.status()).state, 'waiting_for_person');
        // I9: nothing is held while a person is awaited.
        await until('no stream is open', () => stack.emulator.counters().totals.streams_open === 0);
        const { raw } = await stack.handle(task).describe();
        assert.deepEqual(raw.pendingActivities, []);

        await assert.rejects(
          task.resolveCall({ call_id: 'nonsense', action: 'run_again' }),
          /no call "nonsense" waits/,
        );
        await task.resolveCall(
          action === 'result'
            ? { call_id, action, output: { paid: 9, by: 'hand' } }
            : action === 'run_again'
              ? { call_id, action }
              : { call_id, action, error: 'The bank says no.' },
        );
        const record = await task.result();
        assert.equal(record.output_text, answer);
        assert.equal(mine().length, effects);
        assert.equal(new Set(mine().map((effect) => effect.key)).size, 1);
        assertExact(stack, record, 1);
      },
    );
  }

  crash(
    'and nobody says how it ended within the limit: the model is told so, and nothing runs again',
    async (stack) => {
      const call_id = 'unknown-limit';
      const doomed = await stack.worker({
        HOLDFAST_FAULT: 'tool.after_effect',
        HOLDFAST_UNKNOWN_LIMIT: '4s',
      });
      const task = await stack.start([
        { call: { name: 'pay', arguments: { amount: 9 }, call_id } },
        { say: '{{pay}}' },
      ]);
      await doomed.crashed();
      await stack.worker();
      await until('a person is asked', async () => (await task.pending())[0]);
      const record = await task.result();
      assert.match(record.output_text, /^The outcome of this call is unknown, and nobody has said/);
      assert.match(record.tool_calls[0]?.note ?? '', /nobody answered in time: its worker was lost/);
      assert.equal(stack.effects('pay').filter((effect) => effect.call_id === call_id).length, 1);
      assertExact(stack, record, 1);
    },
  );

  for (const [fault, found] of [
    ['tool.after_effect', '{"paid":4,"found":true}'],
    ['tool.after_fence', '{"paid":4}'],
  ] as const) {
    crash(`a once tool that can check by itself needs no person at ${fault}`, async (stack) => {
      const record = await crashAt(stack, fault, [
        { call: { name: 'pay_checked', arguments: { amount: 4 } } },
        { say: '{{pay_checked}}' },
      ]);
      assert.equal(record.output_text, found);
      assert.equal(stack.effects('pay_checked').length, 1);
      assertExact(stack, record, 1);
    });
  }

  crash('before the fence: a once tool was not started, and runs without asking anybody', async (stack) => {
    const record = await crashAt(stack, 'tool.before_fence', [
      { call: { name: 'pay', arguments: { amount: 3 }, call_id: 'before-fence' } },
      { say: '{{pay}}' },
    ]);
    assert.equal(record.output_text, '{"paid":3}');
    assert.equal(stack.effects('pay').filter((effect) => effect.call_id === 'before-fence').length, 1);
    assertExact(stack, record, 1);
  });
});
