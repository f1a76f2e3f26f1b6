/** Openings that hang or go wrong, and the sessions that they leave: none is left behind, no task waits for ever (I1). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { FaultSpec } from '../../src/emulator/index.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { assertStruck } from '../support/strikes.ts';
import { until } from '../support/until.ts';

const CREATE = { method: 'POST', path: '/agents/sessions' };
const LIST = { method: 'GET', path: '/agents/sessions' };
const NEVER_MS = 10 * 60_000;
/** The grace for the answer, the wait for what comes after that, and room for a slow machine. */
const CANCEL_BOUND_MS = (30 + 45 + 45) * 1000;
const SWEEP_BOUND_MS = 120_000;

async function cancelled(task: AgentTask): Promise<void> {
  await assert.rejects(
    task.result({ signal: AbortSignal.timeout(CANCEL_BOUND_MS) }),
    (error: unknown) => error instanceof AgentTaskError && error.reason === 'Cancelled',
  );
}

describe('opening', { concurrency: true }, () => {
  it('adopts the session whose creation lost its answer, though the lists are old', () =>
    withStack(async (stack) => {
      await stack.worker();
      stack.emulator.addFaults(
        { kind: 'lost_reply', match: CREATE },
        { kind: 'list_lag', ms: NEVER_MS, times: 0 },
        { kind: 'unfiltered_list_lag', ms: 1200, times: 0 },
      );
      const task = await stack.start([{ wait_ms: 500 }, { say: 'one' }]);
      const { output_text, session_id } = await task.result();
      assert.equal(output_text, 'one');
      assertStruck(stack.emulator);
      const { totals, sessions } = stack.emulator.counters();
      assert.deepEqual(Object.keys(sessions), [session_id]);
      assert.deepEqual(
        [totals.creates, totals.turns_started, totals.messages_accepted, totals.deletes],
        [1, 1, 0, 0],
      );
    }));

  describe('a cancellation while the creation of the session hangs', { concurrency: true }, () => {
    it('is heeded when the answer comes late: the turn of that session is cancelled', () =>
      withStack(async (stack) => {
        await stack.worker();
        stack.emulator.addFaults({ kind: 'delay', ms: 5000, when: 'after', match: CREATE });
        const task = await stack.start([{ wait_for: 'cancel' }]);
        await until('the session is created', () => stack.emulator.counters().totals.creates === 1);
        await task.cancel();
        await cancelled(task);
        assertStruck(stack.emulator);
        const { totals, sessions } = stack.emulator.counters();
        assert.deepEqual([totals.creates, totals.cancels, totals.deletes], [1, 1, 0]);
        const [id = ''] = Object.keys(sessions);
        const { status } = await stack.read<{ status: string }>(`/agents/sessions/${id}`);
        assert.equal(status, 'idle');
      }));

    const hangs: [string, FaultSpec][] = [
      [
        'it was created and the answer never comes',
        { kind: 'delay', ms: NEVER_MS, when: 'after', match: CREATE },
      ],
      // Later than the attempt is given up, and than the first look for what it left.
      ['it is created long afterwards', { kind: 'delay', ms: 50_000, when: 'before', match: CREATE }],
    ];
    for (const [what, fault] of hangs) {
      it(`ends the task within its bounds, and leaves no session: ${what}`, () =>
        withStack(async (stack) => {
          await stack.worker();
          stack.emulator.addFaults(fault);
          const task = await stack.start([{ wait_for: 'cancel' }]);
          await until(
            'the creation is on its way',
            () => stack.emulator.counters().requests['POST /agents/sessions'] === 1,
          );
          await task.cancel();
          await cancelled(task);
          assertStruck(stack.emulator);
          const { totals } = stack.emulator.counters();
          assert.deepEqual([totals.creates, totals.deletes], [1, 1]);
          const { data } = await stack.read<{ data: unknown[] }>('/agents/sessions');
          assert.deepEqual(data, []);
        }));
    }
  });

  describe('the sweep of sessions that lost attempts created', { concurrency: true }, () => {
    /** A task whose first creation failed, so that it sweeps at its end; from there on the list has a fault. */
    async function sweeping(stack: Stack, fault: FaultSpec): Promise<void> {
      await stack.worker();
      stack.emulator.addFaults({ kind: 'status', status: 503, match: CREATE });
      const task = await stack.start([
        { call: { name: 'note', arguments: { text: 'x', hold_until: 'swept' } } },
        { say: '{{note}}' },
      ]);
      await until('the tool runs', () => stack.effects('note').length === 1);
      stack.emulator.addFaults({ ...fault, match: LIST, times: 0 });
      stack.release('swept');
      const record = await task.result({ signal: AbortSignal.timeout(SWEEP_BOUND_MS) });
      assert.equal(record.run.status, 'completed');
      assert.equal(record.output_text, '{"noted":"x"}');
      assertStruck(stack.emulator);
      assert.ok(!(await stack.eventTypes(task)).includes('workflowTaskFailed'));
    }

    const faults: [string, FaultSpec][] = [
      ['is refused', { kind: 'status', status: 401 }],
      ['fails', { kind: 'status', status: 503 }],
      [
        'is told to come back in ten minutes',
        { kind: 'status', status: 429, headers: { 'retry-after': '600' } },
      ],
      ['gets no answer', { kind: 'delay', ms: NEVER_MS }],
    ];
    for (const [what, fault] of faults) {
      it(`${what}: the task completes all the same, and soon`, () =>
        withStack((stack) => sweeping(stack, fault)));
    }
  });
});
