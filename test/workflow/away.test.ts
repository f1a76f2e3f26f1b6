/** What happens at the service while no worker is there is found afterwards, without any event (I5, I6, I7). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { Wire } from '../support/wire.ts';

/** Long enough for the worker to be killed meanwhile. */
const PAUSE: Step = { wait_for: 'message' };

const SCRIPTS = {
  completed: [PAUSE, { say: 'Commented.', phase: 'commentary' }, { say: 'All done.' }],
  failed: [PAUSE, { fail: { code: 'server_error', message: 'Broke.' } }],
  cancelled: [{ wait_for: 'cancel' }],
  due: [PAUSE, { call: { name: 'pay', arguments: { amount: 8 }, call_id: 'due' } }, { say: '{{pay}}' }],
  not_due: [
    PAUSE,
    {
      item: {
        type: 'function_call',
        call_id: 'not-due',
        name: 'pay',
        arguments: { amount: 9 },
        status: 'completed',
      },
    },
    PAUSE,
    { say: 'Without it.' },
  ],
} satisfies Record<string, Step[]>;
type Name = keyof typeof SCRIPTS;

describe('while no worker is there (scenarios 27, 28)', { concurrency: true }, () => {
  const tasks = {} as Record<Name, { task: AgentTask; session_id: string }>;
  let stack: Stack;
  let wire: Wire;
  let backAt: number;

  before(async () => {
    stack = await Stack.start();
    const names = Object.keys(SCRIPTS) as Name[];
    const doomed = await stack.worker();
    for (const name of names) {
      const session_id = await stack.readySession();
      // The answer to its message is lost as well.
      if (name === 'completed')
        stack.emulator.addFaults({
          kind: 'lost_reply',
          session_id,
          match: { input_type: 'message' },
          times: 0,
        });
      const input = `script: ${JSON.stringify(SCRIPTS[name])}`;
      tasks[name] = { session_id, task: await stack.tasks.start({ session_id, agent: 'tester', input }) };
    }
    await until('the messages are taken', () =>
      names.every((name) => stack.counts(tasks[name].session_id).messages_accepted === 1),
    );
    await doomed.kill();
    stack.emulator.clearFaults();
    await until('nobody listens', () => stack.emulator.counters().totals.streams_open === 0);
    for (const name of names) {
      const { session_id } = tasks[name];
      await (name === 'cancelled' ? stack.cancelTurn(session_id) : stack.say(session_id));
    }
    await until('the turns have ended', async () => {
      const ended = ['completed', 'failed', 'cancelled'] as const;
      const states = await Promise.all(ended.map((name) => stack.turnStatus(tasks[name].session_id)));
      return states.join() === ended.join();
    });
    await until('the call is due', async () => (await stack.turnStatus(tasks.due.session_id)) === 'waiting');
    await until('the other call is in the history', async () =>
      JSON.stringify(await stack.api('GET', `/agents/sessions/${tasks.not_due.session_id}/items`)).includes(
        'not-due',
      ),
    );
    wire = await Wire.to(stack.emulator);
    await stack.worker({ OPENAI_BASE_URL: wire.url });
    backAt = Date.now();
  });
  after(async () => {
    await stack.stop();
    await wire.close();
  });

  /** Nothing was created, said or run for a turn that had ended; its stream was opened before anything was read. */
  function assertUntouched(session_id: string, calls: string[] = [], messages = 2): void {
    const counts = stack.counts(session_id);
    assert.equal(counts.messages_accepted, messages, "the task's, and the one that let it go on");
    assert.equal(counts.violations, 0);
    assert.equal(counts.turns_started, 2);
    const [first] = wire.of(`/agents/sessions/${session_id}`);
    assert.match(`${first?.method} ${first?.path}`, /^GET .*\/events\b/, 'the stream comes first');
    assert.deepEqual(
      stack
        .posts(session_id, 'tool_result')
        .map(({ body }) => JSON.stringify(body).match(/"call_id":"([^"]+)"/)?.[1]),
      calls,
    );
    assert.ok(Date.now() - backAt < 20_000, 'within seconds');
  }

  it('its turn completed, and the answer to its message was lost: the saved answer', async () => {
    const { task, session_id } = tasks.completed;
    const record = await task.result();
    assert.equal(record.output_text, 'All done.');
    assert.equal(record.run.stop_reason, 'turn_completed');
    assertUntouched(session_id);
    const posts = stack.posts(session_id, 'message').filter((post) => post.idempotency_key !== null);
    assert.ok(posts.length >= 2 && posts[0]?.reply_lost, 'posted again');
    assert.equal(new Set(posts.map((post) => post.idempotency_key)).size, 1, 'under the same key');
    assert.equal(new Set(posts.map((post) => post.body_sha256)).size, 1);
  });

  for (const [name, reason] of [
    ['failed', 'TurnFailed'],
    ['cancelled', 'TurnCancelled'],
  ] as const) {
    it(`its turn was ${name}: that outcome`, async () => {
      const { task, session_id } = tasks[name];
      await assert.rejects(
        task.result(),
        (error: unknown) =>
          error instanceof AgentTaskError &&
          error.reason === reason &&
          error.record?.run.stop_reason === `turn_${name}`,
      );
      assertUntouched(session_id, [], name === 'cancelled' ? 1 : 2);
    });
  }

  it('a call became due: found and run, once', async () => {
    const { task, session_id } = tasks.due;
    assert.equal((await task.result()).output_text, '{"paid":8}');
    assert.equal(stack.effects('pay').filter(({ call_id }) => call_id === 'due').length, 1);
    assertUntouched(session_id, ['due']);
  });

  it('a call came into the history that is not due: left alone', async () => {
    const { task, session_id } = tasks.not_due;
    await until('it is followed', () => stack.counts(session_id).streams_open === 1);
    await stack.say(session_id);
    const record = await task.result();
    assert.equal(record.output_text, 'Without it.');
    assert.equal(record.tool_calls_total, 0);
    assert.deepEqual(
      stack.effects('pay').filter(({ call_id }) => call_id === 'not-due'),
      [],
    );
    assert.deepEqual(stack.posts(session_id, 'tool_result'), []);
  });
});
