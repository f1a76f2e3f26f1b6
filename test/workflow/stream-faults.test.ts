/** Streams that fall silent, break, or say what is not so: nothing is concluded from them, and nothing is lost (I6, I7). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import { Stack, withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { Wire } from '../support/wire.ts';

const SILENCE_MS = 6000;
const ENV = { HOLDFAST_STREAM_SILENCE: `${SILENCE_MS}ms`, HOLDFAST_HEARTBEAT_TIMEOUT: '30s' };
const TEXT = 'A long answer, a word at a time. '.repeat(10);

describe('a stream', { concurrency: true }, () => {
  let stack: Stack;
  let line: Wire;
  before(async () => {
    stack = await Stack.start();
    line = await Wire.to(stack.emulator);
    await stack.worker({ ...ENV, OPENAI_BASE_URL: line.url });
  });
  after(async () => {
    await stack.stop();
    await line.close();
  });

  async function begin(session_id: string, steps: Step[], at = stack): Promise<AgentTask> {
    const input = `script: ${JSON.stringify(steps)}`;
    return at.tasks.start({ session_id, agent: 'tester', input });
  }

  /** Waits for the end of a task; by then nothing was sent twice. */
  async function assertEnds(task: AgentTask, session_id: string, text: string): Promise<void> {
    const record = await task.result();
    assert.equal(record.output_text, text);
    const counts = stack.counts(session_id);
    assert.deepEqual(
      [counts.messages_accepted, counts.messages_repeated, counts.turns_started, counts.violations],
      [1, 0, 2, 0],
      'the message was sent once',
    );
  }

  /** Asserts that a stream, silent since `at`, was replaced once, and in time. */
  function assertReplaced(wire: Wire, session_id: string, at?: number): void {
    const streams = wire.of(`/agents/sessions/${session_id}/events`).filter(({ method }) => method === 'GET');
    const [first, second, ...more] = streams;
    const gap = (second?.at ?? Infinity) - (at ?? first?.answeredAt ?? 0);
    assert.ok(gap > SILENCE_MS - 1000 && gap < SILENCE_MS + 5000, `replaced after ${gap} ms`);
    assert.deepEqual(more, []);
  }

  it('scenario 24: open, and silent: replaced within the limit', async () => {
    const session_id = await stack.readySession();
    const [silent] = stack.emulator.addFaults({ kind: 'silent_stream', session_id });
    const task = await begin(session_id, [{ wait_ms: 1000 }, { say: 'said' }]);
    await assertEnds(task, session_id, 'said');
    assert.equal(stack.struck(silent), 1);
    assertReplaced(line, session_id);
  });

  it('scenario 24: on a wire that goes dead, with every connection of the worker: replaced within the limit', () =>
    withStack(async (own) => {
      const wire = await Wire.to(own.emulator);
      try {
        await own.worker({ ...ENV, OPENAI_BASE_URL: wire.url });
        const session_id = await own.readySession();
        const task = await begin(session_id, [{ wait_for: 'message' }, { say: 'said' }], own);
        // The reads after its message are answered: the stream is listened to, and nothing is on its way.
        await until('the turn has been read', () => {
          const sent = wire.passages.findIndex(({ method }) => method === 'POST');
          const reads = wire.passages.slice(sent + 1);
          return sent >= 0 && reads.length >= 2 && reads.every(({ status }) => status !== null);
        });
        wire.die();
        const died = Date.now();
        await own.steer(session_id);
        assert.equal((await task.result()).output_text, 'said');
        assertReplaced(wire, session_id, died);
        assert.equal(own.counts(session_id).messages_accepted, 2, "the task's, and the one of this test");
      } finally {
        await wire.close();
      }
    }));

  const cuts: [string, Omit<Extract<FaultSpec, { kind: 'cut_stream' }>, 'kind'>][] = [
    ['before any event', { after_events: 0 }],
    ['inside a text', { after_type: 'agent.session.turn.output_text.delta', times: 3 }],
    ['inside a text, by a reset', { after_type: 'agent.session.turn.output_text.delta', mode: 'reset' }],
    ['inside an event', { after_events: 9, mode: 'half_frame' }],
    ['between a call and the word that it is due', { before_type: 'agent.session.requires_action' }],
    ['between a call and its result', { after_type: 'agent.session.requires_action' }],
    ['just before the end of the turn', { before_type: 'agent.session.turn.completed' }],
  ];
  for (const [where, cut] of cuts) {
    it(`scenario 26: that ends ${where} ends nothing`, async () => {
      const session_id = await stack.readySession();
      const [fault] = stack.emulator.addFaults({ kind: 'cut_stream', session_id, ...cut });
      const call_id = `cut ${where}`;
      const task = await begin(session_id, [
        { call: { name: 'pay', arguments: { amount: 4 }, call_id } },
        { say: TEXT },
      ]);
      await assertEnds(task, session_id, TEXT);
      assert.ok(stack.struck(fault) > 0, 'the fault struck');
      assert.equal(stack.effects('pay').filter((effect) => effect.call_id === call_id).length, 1);
      assert.equal(stack.counts(session_id).results_accepted, 1);
    });
  }

  it('scenario 26: that ends because its session was deleted: the task says so, and what to do', async () => {
    const session_id = await stack.readySession();
    // The message begins no turn: the session stays idle, and can be deleted.
    stack.emulator.addFaults({ kind: 'lost_message', session_id, times: 0 });
    const task = await begin(session_id, [{ say: 'never' }]);
    await until('it is followed, and has its message', () => {
      const { streams_open, messages_accepted } = stack.counts(session_id);
      return streams_open === 1 && messages_accepted > 0;
    });
    await stack.api('DELETE', `/agents/sessions/${session_id}`);
    await assert.rejects(task.result(), (error: unknown) => {
      assert.ok(error instanceof AgentTaskError);
      assert.equal(error.reason, 'SessionGone');
      assert.match(error.message, new RegExp(`^session ${session_id} is gone`));
      assert.match(error.message, /start a new task/);
      assert.equal(error.record?.run.stop_reason, 'session_gone');
      return true;
    });
  });

  it('scenario 32: that says idle at its beginning, around a call and before the end ends nothing', async () => {
    const session_id = await stack.readySession();
    const idle = { session: { status: 'idle', required_actions: [] } };
    const [first, due, taken, stale] = stack.emulator.addFaults(
      { kind: 'initial_status_event', session_id },
      // Instead of the word that the call is due, and of the word that its result was taken.
      {
        kind: 'patch_event',
        session_id,
        match: { event_type: 'agent.session.requires_action' },
        patch: { type: 'agent.session.idle', ...idle },
      },
      {
        kind: 'patch_event',
        session_id,
        match: { event_type: 'agent.session.in_progress' },
        patch: { type: 'agent.session.idle', ...idle },
        times: 0,
      },
      {
        kind: 'patch_answer',
        session_id,
        match: { method: 'GET', path: `/agents/sessions/${session_id}` },
        patch: { status: 'idle', required_actions: [] },
        times: 2,
      },
    );
    const task = await begin(session_id, [
      { event: { type: 'agent.session.idle', ...idle } },
      { call: { name: 'pay', arguments: { amount: 6 }, call_id: 'idle' } },
      { event: { type: 'agent.session.idle', ...idle } },
      { wait_ms: 1000 },
      { say: 'after all that' },
    ]);
    await assertEnds(task, session_id, 'after all that');
    for (const [fault, times] of [
      [first, 1],
      [due, 1],
      [taken, 1],
      [stale, 2],
    ] as const)
      assert.ok(stack.struck(fault) >= times, `${fault?.id} struck`);
    assert.equal(stack.effects('pay').filter((effect) => effect.call_id === 'idle').length, 1);
  });
});
