/** The signal with which a tool tells its end. Anybody may send one: what does not fit is ignored. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import { TOOL_OUTCOME_SIGNAL } from '../../src/protocol/activities.ts';
import { Stack } from '../support/stack.ts';
import { temporal } from '../support/temporal-command.ts';
import { until } from '../support/until.ts';

interface Ids {
  turn_id: string;
  call_id: string;
}

describe('an outcome told by signal', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  /** A task whose `pay` has paid, and holds until the word that is its call id. */
  async function paying(call_id: string): Promise<{ task: AgentTask; ids: Ids }> {
    const task = await stack.start([
      { call: { name: 'pay', arguments: { amount: 5, hold_until: call_id }, call_id } },
      { say: '{{pay}}' },
    ]);
    await until('it has paid', () => stack.effects('pay').some((effect) => effect.call_id === call_id));
    const turn_id = await until('the turn is known', async () => (await task.status()).detail?.turn_id);
    return { task, ids: { turn_id, call_id } };
  }

  /** Signals that say nothing about the run of the call. */
  function malformed(ids: Ids): unknown[][] {
    const told = { ...ids, run_no: 1, result: { success: true, output: 'forged' } };
    const values = [null, 'text', 5, true, [], [told], {}, ids, { ...ids, run_no: 1 }];
    const results = [
      null,
      'text',
      [],
      {},
      { success: 'true' },
      { success: 1 },
      { ok: true },
      { output: 'x' },
    ];
    const others = [
      { ...told, run_no: '1' },
      { ...told, run_no: null },
      { ...told, call_id: 'other' },
      { ...told, call_id: 7 },
      { ...told, turn_id: undefined },
      { ...told, turn_id: { toString: 'x' } },
    ];
    return [
      [],
      ...[...values, ...results.map((result) => ({ ...told, result })), ...others].map((one) => [one]),
    ];
  }

  async function assertIgnored(task: AgentTask, signals: number): Promise<void> {
    const types = await stack.eventTypes(task);
    assert.equal(types.filter((type) => type === 'workflowExecutionSignaled').length, signals);
    assert.ok(!types.includes('workflowTaskFailed'));
  }

  it('is ignored when it is malformed: the task goes on, and the tool gives the result', async () => {
    const { task, ids } = await paying('malformed');
    const ofNoRun = { ...ids, run_no: 2, result: { success: true, output: 'forged' } };
    const signals = [...malformed(ids), [ofNoRun]];
    for (const args of signals) await stack.handle(task).signal(TOOL_OUTCOME_SIGNAL, ...args);
    const { detail } = await task.status();
    assert.deepEqual(
      detail?.tool_calls.map(({ call_id, state }) => [call_id, state]),
      [['malformed', 'running']],
    );
    stack.release('malformed');
    const record = await task.result();
    assert.equal(record.output_text, '{"paid":5}');
    assert.equal(stack.posts(record.session_id, 'tool_result').length, 1);
    await assertIgnored(task, signals.length);
  });

  it('is ignored after a reset too, where what was told before the reset counts', async () => {
    const { task, ids } = await paying('reset');
    const signals = malformed(ids);
    for (const args of signals) await stack.handle(task).signal(TOOL_OUTCOME_SIGNAL, ...args);
    const odd = ['--input', '1', '--input-meta', 'encoding=odd'];
    await temporal('workflow', 'signal', '--workflow-id', task.taskId, '--name', TOOL_OUTCOME_SIGNAL, ...odd);
    const { events = [] } = await stack.handle(task).fetchHistory();
    const point = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    const named = ['--workflow-id', task.taskId, '--event-id', String(point?.eventId)];
    await temporal('workflow', 'reset', ...named, '--reason', 'test');
    await until('the new run knows that it had started', async () => {
      const { detail } = await task.status();
      return detail?.tool_calls[0]?.note === 'it had started before the task was reset';
    });
    stack.release('reset');
    const record = await task.result();
    assert.equal(record.output_text, '{"paid":5}');
    assert.equal(stack.effects('pay').filter(({ call_id }) => call_id === 'reset').length, 1);
  });

  const told: [string, object, string][] = [
    ['fields that no result has', { success: true, output: 'told', extra: 'x'.repeat(100) }, 'told'],
    ['an object for a text', { success: true, output: { paid: 6 } }, '{"paid":6}'],
    ['no output', { success: true }, ''],
    ['an error that is no text', { success: false, error: { code: 1 } }, 'The tool failed.'],
    ['a failure with an output', { success: false, error: 'No.', output: 'x' }, 'No.'],
  ];
  for (const [what, result, text] of told) {
    it(`with ${what} is taken for what it says`, async () => {
      const { task, ids } = await paying(`told-${what.replaceAll(' ', '-')}`);
      await stack.handle(task).signal(TOOL_OUTCOME_SIGNAL, { ...ids, run_no: 1, result });
      const record = await task.result();
      assert.equal(record.output_text, text);
      const [post] = stack.posts(record.session_id, 'tool_result');
      assert.ok(post);
      const { events } = post.body as { events: object[] };
      const fields = ['type', 'turn_id', 'call_id', 'success', 'output', 'error'];
      assert.deepEqual(
        Object.keys(events[0] ?? {}).filter((field) => !fields.includes(field)),
        [],
      );
      stack.release(ids.call_id);
    });
  }
});
