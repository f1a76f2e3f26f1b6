import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { defaultPayloadConverter } from '@temporalio/common';

import { AgentTaskError } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { chainHistory } from '../support/history.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const CALLS = 15;

describe('continue-as-new (I10)', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker({ HOLDFAST_CONTINUE_AFTER_EVENTS: '60' });
  });
  after(() => stack.stop());

  it('carries session, turn, calls and totals; nothing runs or is posted twice', async () => {
    const steps: Step[] = Array.from({ length: CALLS }, (_, index) => ({
      call: {
        name: index % 2 ? 'pay' : 'note',
        arguments: index % 2 ? { amount: index } : { text: 'x' },
        call_id: `roll-${index}`,
      },
    }));
    const task = await stack.start([...steps, { say: 'all done' }]);
    const record = await task.result();
    assert.equal(record.output_text, 'all done');
    assert.equal(record.tool_calls_total, CALLS);
    const mine = stack.effects().filter((effect) => effect.call_id.startsWith('roll-'));
    assert.equal(mine.length, CALLS);
    const counts = stack.counts(record.session_id);
    assert.equal(counts.results_accepted, CALLS);
    assert.equal(counts.results_repeated + counts.results_refused, 0);
    const description = await stack.handle(task).describe();
    const first = (await stack.handle(task).fetchHistory()).events?.[0]
      ?.workflowExecutionStartedEventAttributes;
    assert.ok(first?.continuedExecutionRunId, 'the last run continues another');
    assert.ok(description.historyLength < 150);
  });

  it('takes along results that the service does not take, once a run is overdue', async () => {
    const calls = Array.from({ length: 24 }, (_, index) => `owed-${index}`);
    const call = calls.map((call_id) => ({
      name: 'pay',
      arguments: { amount: 1, hold_until: 'owed' },
      call_id,
    }));
    const task = await stack.start([{ call }, { say: 'all done' }]);
    const mine = (): number => stack.effects().filter(({ call_id }) => calls.includes(call_id)).length;
    await until('the tools run', () => mine() === calls.length);
    const session_id = (await task.status()).session_id ?? '';
    const match = { input_type: 'tool_result' };
    stack.emulator.addFaults({ kind: 'status', status: 202, session_id, match, times: calls.length });
    stack.release('owed');
    const record = await task.result();
    assert.equal(record.output_text, 'all done');
    assert.equal(mine(), calls.length);
    assert.equal(stack.counts(session_id).results_accepted, calls.length);
    assert.ok(
      stack.emulator.faults().every(({ spec, struck }) => spec.session_id !== session_id || struck === 24),
    );
    const events = await chainHistory(stack.client, task.taskId, task.runId ?? assert.fail('no run id'));
    const carried = events.flatMap(({ workflowExecutionStartedEventAttributes: started }) => {
      const [, snapshot] = started?.input?.payloads ?? [];
      if (!snapshot) return [];
      return defaultPayloadConverter.fromPayload<{ calls: { open: unknown[] } }>(snapshot).calls.open.length;
    });
    assert.ok(
      carried.some((open) => open > 0),
      `carried: ${carried.join(', ')}`,
    );
  });

  it('keeps the lock of the session over a roll-over, and gives it up at the end (I8)', async () => {
    const steps: Step[] = Array.from({ length: 8 }, () => ({
      call: { name: 'note', arguments: { text: 'x' } },
    }));
    const task = await stack.start([
      ...steps,
      { call: { name: 'note', arguments: { text: 'last', hold_until: 'locked' }, call_id: 'locked' } },
      { say: 'ok' },
    ]);
    await until('the last call runs', () =>
      stack.effects('note').some((effect) => effect.call_id === 'locked'),
    );
    const started = (await stack.handle(task).fetchHistory()).events?.[0]
      ?.workflowExecutionStartedEventAttributes;
    assert.ok(started?.continuedExecutionRunId, 'it has rolled over');
    const session_id = (await task.status()).session_id ?? '';
    const other = await stack.tasks.start({ session_id, input: 'me too' });
    await assert.rejects(
      other.result(),
      (error: unknown) => error instanceof AgentTaskError && error.reason === 'SessionBusy',
    );
    stack.release('locked');
    assert.equal((await task.result()).output_text, 'ok');
    const lock = stack.client.workflow.getHandle(`holdfast-session:${session_id}`);
    await until('the lock is given up', async () => (await lock.describe()).status.name === 'COMPLETED');
  });
});
