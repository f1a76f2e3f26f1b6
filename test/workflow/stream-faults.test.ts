/** Streams that fall silent, break, or say what is not so: nothing is concluded from them, and nothing is lost (I6, I7). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import { Stack, withStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { Wire } from '../support/wire.ts';

const SILENCE_MS = 6000;
/** The limit, five seconds, and a busy machine's pauses; a request on a dead connection hangs for a minute. */
const LIMIT_MS = SILENCE_MS + 5000 + 20_000;
const ENV = { HOLDFAST_STREAM_SILENCE: `${SILENCE_MS}ms`, HOLDFAST_HEARTBEAT_TIMEOUT: '30s' };
const DELTA = 'agent.session.turn.output_text.delta';
const TEXT = 'A long answer, a word at a time. '.repeat(10);

/** Waits for a follower that has opened its stream, has read the session after that, and listens. */
async function listening(wire: Wire, session_id: string, streams: number): Promise<void> {
  await until(`stream ${streams} is listened to`, () => {
    const passed = wire.of(`/agents/sessions/${session_id}`);
    const opened = passed.filter(({ method, path }) => method === 'GET' && path.includes('/events'));
    const last = opened.at(-1);
    if (!last || opened.length < streams) return false;
    const since = passed.slice(passed.indexOf(last));
    return since.some(({ path, status }) => path.endsWith(session_id) && status);
  });
}

async function begin(stack: Stack, session_id: string, steps: Step[]): Promise<AgentTask> {
  const input = `script: ${JSON.stringify(steps)}`;
  return stack.tasks.start({ session_id, agent: 'tester', input });
}

describe('a stream', { concurrency: true }, () => {
  let stack: Stack;
  let wire: Wire;
  before(async () => {
    stack = await Stack.start();
    wire = await Wire.to(stack.emulator);
    await stack.worker({ ...ENV, OPENAI_BASE_URL: wire.url });
  });
  after(async () => {
    await stack.stop();
    await wire.close();
  });

  /** How long after the end of its turn a task ends; by then nothing was sent twice. */
  async function delayOf(task: AgentTask, session_id: string, text: string, messages = 1): Promise<number> {
    await until('the turn ends', async () => (await stack.turnStatus(session_id)) === 'completed');
    const ended = Date.now();
    const record = await task.result();
    assert.equal(record.output_text, text);
    const counts = stack.counts(session_id);
    assert.deepEqual(
      [counts.messages_accepted, counts.messages_repeated, counts.turns_started, counts.violations],
      [messages, 0, 2, 0],
      'its message was sent once',
    );
    return Date.now() - ended;
  }

  it('scenario 24: open, and silent: replaced within the limit', async () => {
    const session_id = await stack.readySession();
    const [silent] = stack.emulator.addFaults({ kind: 'silent_stream', session_id });
    const task = await begin(stack, session_id, [{ wait_for: 'message' }, { say: 'said' }]);
    await listening(wire, session_id, 1);
    await stack.say(session_id);
    const delay = await delayOf(task, session_id, 'said', 2);
    assert.equal(stack.struck(silent), 1);
    assert.ok(delay < LIMIT_MS, `${delay} ms`);
    assert.equal(stack.counts(session_id).streams_opened, 2);
  });

  it('scenario 24: on a wire that goes dead, with every connection of the worker: replaced within the limit', () =>
    withStack(async (own) => {
      const between = await Wire.to(own.emulator);
      try {
        await own.worker({ ...ENV, OPENAI_BASE_URL: between.url });
        const session_id = await own.readySession();
        const task = await begin(own, session_id, [{ wait_for: 'message' }, { say: 'said' }]);
        await listening(between, session_id, 1);
        between.die();
        const died = Date.now();
        await own.say(session_id);
        assert.equal((await task.result()).output_text, 'said');
        const delay = Date.now() - died;
        assert.ok(delay > SILENCE_MS - 1000, `it noticed nothing: ${delay} ms`);
        assert.ok(delay < LIMIT_MS, `${delay} ms`);
        assert.equal(own.counts(session_id).messages_accepted, 2, 'its message, and what let it go on');
        assert.equal(own.counts(session_id).streams_opened, 2);
      } finally {
        await between.close();
      }
    }));

  /** Where the stream is cut: the first one, or the one that is opened for the result. */
  const cuts: [string, Omit<Extract<FaultSpec, { kind: 'cut_stream' }>, 'kind'>, 'first' | 'second'][] = [
    ['before any event', { after_events: 0 }, 'first'],
    ['between a call and the word that it is due', { before_type: 'agent.session.requires_action' }, 'first'],
    ['inside a text', { after_type: DELTA }, 'second'],
    ['inside a text, by a reset', { after_type: DELTA, mode: 'reset' }, 'second'],
    ['inside an event', { after_type: DELTA, mode: 'half_frame' }, 'second'],
    ['inside a text, again and again', { after_type: DELTA, times: 3 }, 'second'],
    ['just before the end of the turn', { before_type: 'agent.session.turn.completed' }, 'second'],
  ];
  for (const [where, cut, which] of cuts) {
    it(`scenario 26: that ends ${where} ends nothing`, async () => {
      const session_id = await stack.readySession();
      const spared = which === 'first' ? 0 : 1;
      const [fault] = stack.emulator.addFaults({ kind: 'cut_stream', session_id, after: spared, ...cut });
      const call_id = `cut ${where}`;
      const task = await begin(stack, session_id, [
        { wait_for: 'message' },
        { call: { name: 'pay', arguments: { amount: 4 }, call_id } },
        { wait_for: 'message' },
        { say: TEXT, delta_ms: 10 },
      ]);
      await listening(wire, session_id, cut.after_events === 0 ? 2 : 1);
      await stack.say(session_id);
      await until('the result is taken', () => stack.counts(session_id).results_accepted === 1);
      await listening(wire, session_id, which === 'first' ? 3 : 2);
      await stack.say(session_id);
      await delayOf(task, session_id, TEXT, 3);
      const times = cut.times ?? 1;
      assert.equal(stack.struck(fault), times, 'the fault struck');
      assert.equal(stack.counts(session_id).streams_opened, 2 + times, 'and was noticed');
      assert.equal(stack.effects('pay').filter((effect) => effect.call_id === call_id).length, 1);
      assert.equal(stack.counts(session_id).results_accepted, 1);
    });
  }

  it('scenario 26: that ends because its session was deleted: the task says so, and what to do', async () => {
    const session_id = await stack.readySession();
    // The message begins no turn: the session stays idle, and can be deleted.
    stack.emulator.addFaults({ kind: 'lost_message', session_id, times: 0 });
    const task = await begin(stack, session_id, [{ say: 'never' }]);
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
    const task = await begin(stack, session_id, [
      { event: { type: 'agent.session.idle', ...idle } },
      { call: { name: 'pay', arguments: { amount: 6 }, call_id: 'idle' } },
      { event: { type: 'agent.session.idle', ...idle } },
      { wait_ms: 1000 },
      { say: 'after all that' },
    ]);
    await delayOf(task, session_id, 'after all that');
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
