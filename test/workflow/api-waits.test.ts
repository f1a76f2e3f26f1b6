/**
 * A service that is busy or away (scenario 50): Temporal alone waits and tries again, for as long as the service
 * asks for, and no tool runs again for it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { FaultMatch, FaultSpec, Step } from '../../src/emulator/index.ts';
import { Stack, withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { Wire } from '../support/wire.ts';

/** No attempt is lost to a busy machine: those that there are come from the service's refusals. */
const PATIENT = { HOLDFAST_HEARTBEAT_TIMEOUT: '30s' };
const WAIT_MS = 7000;
const retryAfter = { 'retry-after': String(WAIT_MS / 1000) };
const pay = (call_id: string): Step[] => [
  { call: { name: 'pay', arguments: { amount: 3 }, call_id } },
  { say: '{{pay}}' },
];

/** Attempts of an activity beyond its first, as the server has them: the number, and why the one before failed. */
async function repeats(stack: Stack, task: AgentTask, type: string): Promise<[number, string][]> {
  const { events } = await stack.handle(task).fetchHistory();
  return (events ?? []).flatMap((event): [number, string][] => {
    const started = event.activityTaskStartedEventAttributes;
    const scheduled = events?.find(({ eventId }) => String(eventId) === String(started?.scheduledEventId));
    const name = scheduled?.activityTaskScheduledEventAttributes?.activityType?.name;
    if (!started || name !== type || (started.attempt ?? 1) === 1) return [];
    return [[started.attempt ?? 0, started.lastFailure?.applicationFailureInfo?.type ?? '']];
  });
}

describe('a service that is busy or away', { concurrency: true }, () => {
  let stack: Stack;
  let wire: Wire;
  before(async () => {
    stack = await Stack.start();
    wire = await Wire.to(stack.emulator);
    await stack.worker({ ...PATIENT, OPENAI_BASE_URL: wire.url });
  });
  after(async () => {
    await stack.stop();
    await wire.close();
  });

  /** Runs a task on a session of its own with a fault, and asserts that the fault struck and did no harm. */
  async function run(
    call_id: string,
    fault: (session_id: string) => FaultSpec,
    times: number,
  ): Promise<{ task: AgentTask; session_id: string }> {
    const session_id = await stack.readySession();
    const [armed] = stack.emulator.addFaults({ ...fault(session_id), session_id });
    const input = `script: ${JSON.stringify(pay(call_id))}`;
    const task = await stack.tasks.start({ session_id, agent: 'tester', input });
    const record = await task.result();
    assert.equal(record.output_text, '{"paid":3}');
    assert.equal(stack.struck(armed), times, 'the fault struck');
    assert.equal(stack.effects('pay').filter((effect) => effect.call_id === call_id).length, 1);
    assert.equal(record.tool_calls[0]?.attempts, 1, 'attempts of the tool');
    const counts = stack.counts(session_id);
    assert.deepEqual([counts.messages_accepted, counts.results_accepted, counts.violations], [1, 1, 0]);
    return { task, session_id };
  }

  /** Asserts that after each refusal no request came for as long as it asked for. */
  function assertWaited(path: string, status: number): void {
    const passages = wire.of(path);
    const refused = passages.filter((passage) => passage.status === status);
    assert.equal(refused.length, 1);
    const answeredAt = refused[0]?.answeredAt ?? 0;
    // The session is read side by side with the turn: it may be asked for when that has just been refused.
    const later = passages.filter((passage) => passage.at > answeredAt && passage.path !== `/v1${path}`);
    const next = later.map(({ at }) => at - answeredAt);
    assert.ok(
      next.length > 0 && Math.min(...next) >= WAIT_MS,
      `the next request came after ${Math.min(...next)} ms`,
    );
  }

  const places: [string, (id: string) => FaultMatch][] = [
    ['its message', () => ({ input_type: 'message' })],
    ['a result', () => ({ input_type: 'tool_result' })],
    ['its stream', (id) => ({ method: 'GET', path: `/agents/sessions/${id}/events` })],
    ['a read', () => ({ method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' })],
  ];
  for (const [where, match] of places) {
    for (const status of [429, 503]) {
      it(`${status} to ${where} with retry-after: no request of the task for so long, by Temporal's word`, async () => {
        const { task, session_id } = await run(
          `${status} ${where}`,
          (id) => ({ kind: 'status', match: match(id), status, headers: retryAfter }),
          1,
        );
        assertWaited(`/agents/sessions/${session_id}`, status);
        assert.deepEqual(await repeats(stack, task, 'holdfast.followTurn'), [[2, 'ApiUnavailable']]);
        assert.deepEqual(await repeats(stack, task, 'pay'), []);
      });
    }
  }

  for (const status of [429, 500, 502, 503]) {
    it(`${status} to a result without a word how long: again by Temporal, later and later`, async () => {
      const { task, session_id } = await run(
        `${status} without`,
        () => ({ kind: 'status', match: { input_type: 'tool_result' }, status, times: 3 }),
        3,
      );
      const at = stack.posts(session_id, 'tool_result').map((post) => post.at);
      const pauses = at.slice(1).map((ms, index) => ms - (at[index] ?? 0));
      for (const [index, least] of [375, 750, 1500].entries())
        assert.ok((pauses[index] ?? 0) >= least, `pause ${index}: ${pauses[index]} ms`);
      assert.deepEqual(await repeats(stack, task, 'holdfast.followTurn'), [[4, 'ApiUnavailable']]);
      assert.deepEqual(await repeats(stack, task, 'pay'), []);
    });
  }

  for (const kind of ['lost_request', 'lost_reply'] as const) {
    it(`a connection that is lost at a result (${kind}): again by Temporal`, async () => {
      const { task } = await run(kind, () => ({ kind, match: { input_type: 'tool_result' }, times: 2 }), 2);
      assert.deepEqual(await repeats(stack, task, 'holdfast.followTurn'), [[3, 'ApiUnavailable']]);
    });
  }

  it('429 to the creation with retry-after: not asked again for so long, and one session', () =>
    withStack(async (own) => {
      const between = await Wire.to(own.emulator);
      try {
        await own.worker({ ...PATIENT, OPENAI_BASE_URL: between.url });
        const match = { method: 'POST', path: '/agents/sessions' };
        own.emulator.addFaults({ kind: 'status', match, status: 429, headers: retryAfter });
        const task = await own.start(pay('created'));
        assert.equal((await task.result()).output_text, '{"paid":3}');
        const [first, second] = between.passages;
        assert.equal(first?.status, 429);
        assert.ok((second?.at ?? 0) - (first?.answeredAt ?? 0) >= WAIT_MS);
        assert.equal(own.emulator.counters().totals.creates, 1);
        assert.deepEqual(await repeats(own, task, 'holdfast.openSession'), [[2, 'ApiUnavailable']]);
      } finally {
        await between.close();
      }
    }));

  it('a name that does not resolve: in words in the pending activity; then one session, once it does', () =>
    withStack(async (own) => {
      const lost = await own.worker({ OPENAI_BASE_URL: 'http://agents.invalid/v1' });
      const task = await own.start(pay('found'));
      const pending = await until('it is tried again', async () => {
        const { raw } = await own.handle(task).describe();
        const [opening] = raw.pendingActivities ?? [];
        return (opening?.attempt ?? 0) > 2 && opening;
      });
      assert.equal(pending.activityType?.name, 'holdfast.openSession');
      assert.match(
        pending.lastFailure?.message ?? '',
        /^create session: the Agents API did not answer \((ENOTFOUND|EAI_AGAIN)\)|^list sessions: the Agents API did not answer/,
      );
      assert.equal((await task.status()).state, 'opening');
      await lost.stop();
      await own.worker();
      assert.equal((await task.result()).output_text, '{"paid":3}');
      assert.equal(own.emulator.counters().totals.creates, 1);
      assert.equal(own.effects().length, 1);
    }));

  it('503 with retry-after while a tool reads its large arguments again: the tool waits, and runs once', () =>
    withStack(async (own) => {
      const between = await Wire.to(own.emulator);
      try {
        const doomed = await own.worker({ HOLDFAST_FAULT: 'tool.before_fence' });
        const call = { name: 'note', arguments: { text: 'long '.repeat(20_000) }, call_id: 'large' };
        const task = await own.start([{ call }, { say: 'ok' }]);
        await doomed.crashed();
        // Nobody follows now: the next read of the session is the tool's.
        const match = { method: 'GET', path: '/agents/sessions/{session_id}' };
        own.emulator.addFaults({ kind: 'status', match, status: 503, headers: retryAfter });
        await own.worker({ OPENAI_BASE_URL: between.url });
        const record = await task.result();
        const [first, second] = between.passages;
        assert.equal(first?.status, 503);
        assert.ok((second?.at ?? 0) - (first?.answeredAt ?? 0) >= WAIT_MS);
        assert.equal(record.tool_calls_failed, 0);
        assert.equal(own.effects().length, 1);
      } finally {
        await between.close();
      }
    }));
});
