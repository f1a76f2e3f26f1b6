import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError } from '../../src/client/index.ts';
import { Stack } from '../support/stack.ts';
import { PLANTED } from '../support/agents.ts';
import { until } from '../support/until.ts';

/** The one event of a post. */
function eventOf(post: { body: unknown } | undefined): {
  call_id: string;
  success: boolean;
  error: string;
  output?: string;
} {
  const { events } = (post?.body ?? { events: [] }) as {
    events: { call_id: string; success: boolean; error: string; output?: string }[];
  };
  const [event] = events;
  assert.ok(event);
  return event;
}

describe('a task from start to end', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  it('plain run: one session, the answer of the turn, late usage (I7)', async () => {
    const task = await stack.start([{ say: 'Thinking.', phase: 'commentary' }, { say: 'Hello there.' }]);
    const record = await task.result();
    assert.equal(record.output_text, 'Hello there.');
    assert.deepEqual(record.run, {
      id: task.taskId,
      status: 'completed',
      stop_reason: 'turn_completed',
      error: null,
    });
    assert.equal(record.turns.length, 1);
    assert.ok(record.usage && record.usage.total_tokens > 0, 'usage was read after the turn');
    assert.equal(stack.counts(record.session_id).streams_open, 0);
    assert.equal(stack.counts(record.session_id).violations, 0);
  });

  for (const appear of ['together', 'one_by_one'] as const) {
    it(`parallel calls that appear ${appear} run side by side, each delivered once (I2, I4)`, async () => {
      const task = await stack.start([
        {
          call: [
            { name: 'note', arguments: { text: 'a', hold_until: appear }, call_id: `a-${appear}` },
            { name: 'note', arguments: { text: 'b', hold_until: appear }, call_id: `b-${appear}` },
            { name: 'pay', arguments: { amount: 5 }, call_id: `c-${appear}` },
          ],
          appear,
        },
        { say: 'Done: {{note.0}} {{note.1}} {{pay}}' },
      ]);
      const runs = (id: string): number =>
        stack.effects().filter((effect) => effect.call_id === `${id}-${appear}`).length;
      // Each of the two notes ends only when both have begun.
      await until('all of them run', () => ['a', 'b', 'c'].every((id) => runs(id) === 1));
      stack.release(appear);
      const record = await task.result();
      // The two notes end together: their results may arrive in either order, each under its own call's id.
      const outputs = stack.posts(record.session_id, 'tool_result').map(eventOf);
      assert.deepEqual(Object.fromEntries(outputs.map(({ call_id, output }) => [call_id, output])), {
        [`a-${appear}`]: '{"noted":"a"}',
        [`b-${appear}`]: '{"noted":"b"}',
        [`c-${appear}`]: '{"paid":5}',
      });
      const inOrder = record.output_text.slice('Done: '.length).split(' ').toSorted();
      assert.deepEqual(inOrder, ['{"noted":"a"}', '{"noted":"b"}', '{"paid":5}']);
      for (const id of ['a', 'b', 'c']) assert.equal(runs(id), 1);
      const counts = stack.counts(record.session_id);
      assert.equal(counts.results_accepted, 3);
      assert.equal(counts.results_refused, 0);
      const [a, b] = record.tool_calls.filter((call) => call.name === 'note');
      assert.ok(a && b && a.duration_ms !== null && b.duration_ms !== null);
    });
  }

  it('the early result of parallel calls is delivered while the other still runs', async () => {
    const task = await stack.start([
      {
        call: [
          { name: 'note', arguments: { text: 'slow', hold_until: 'early' }, call_id: 'early-slow' },
          { name: 'note', arguments: { text: 'fast' }, call_id: 'early-fast' },
        ],
      },
      { say: 'ok' },
    ]);
    const status = await until('the fast result is confirmed', async () => {
      const { detail } = await task.status();
      return (
        detail?.tool_calls.some((call) => call.call_id === 'early-fast' && call.state === 'succeeded') &&
        detail
      );
    });
    assert.equal(status.tool_calls.find((call) => call.call_id === 'early-slow')?.state, 'running');
    stack.release('early');
    assert.equal((await task.result()).tool_calls_failed, 0);
  });

  const failures: [string, object, RegExp][] = [
    [
      'a tool that throws',
      { name: 'fails', arguments: { how: 'error' } },
      /^Tool "fails" failed \(TypeError\)\.$/,
    ],
    ['a tool that throws text', { name: 'fails', arguments: { how: 'string' } }, /^Tool "fails" failed\.$/],
    ['a tool that throws null', { name: 'fails', arguments: { how: 'null' } }, /^Tool "fails" failed\.$/],
    ['a tool that tells', { name: 'fails', arguments: { how: 'tool_error' } }, /^There is no room left\.$/],
    [
      'bad arguments',
      { name: 'pay', arguments: { amount: 'many' } },
      /^Tool "pay": the arguments do not fit: amount: /,
    ],
    [
      'arguments that are no object',
      { name: 'pay', arguments: [] },
      /^Tool "pay": the arguments must be a JSON object/,
    ],
    [
      'cut-off JSON',
      { name: 'pay', arguments: '{"amount":' },
      /^Tool "pay": the arguments are not valid JSON/,
    ],
    [
      'an unknown tool',
      { name: 'launch', arguments: {} },
      /^Unknown tool "launch"\. Known tools: big, fails, /,
    ],
    [
      'a tool over its limit',
      { name: 'stubborn', arguments: { ms: 4000 } },
      /^Tool "stubborn" timed out after 1 s\.$/,
    ],
  ];
  for (const [what, call, expected] of failures) {
    it(`${what}: one failure for the model, and the turn goes on`, async () => {
      const spec = call as { name: string; arguments: unknown };
      const task = await stack.start([{ call: spec }, { say: `Told: {{${spec.name}}}` }]);
      const record = await task.result();
      const posts = stack.posts(record.session_id, 'tool_result');
      assert.equal(posts.length, 1);
      const event = eventOf(posts[0]);
      assert.equal(event.success, false);
      assert.match(event.error, expected);
      assert.equal(event.output, undefined);
      assert.equal(record.output_text, `Told: ${event.error}`);
      assert.equal(record.tool_calls_failed, 1);
      assert.equal(record.run.status, 'completed');
      assert.equal(record.turns[0]?.failed_tools, 1, 'a completed turn with a failed tool says so (I7)');
    });
  }

  it('what a tool throws is nowhere to be found (I11)', async () => {
    const task = await stack.start([{ call: { name: 'fails', arguments: { how: 'error' } } }, { say: 'ok' }]);
    const record = await task.result();
    const history = JSON.stringify(await stack.handle(task).fetchHistory(), (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    );
    assert.ok(history.includes('ToolFailed'));
    assert.ok(!history.includes(PLANTED));
    assert.ok(!JSON.stringify(stack.emulator.posts(record.session_id)).includes(PLANTED));
  });

  it('a repeatable tool is tried again within its attempts', async () => {
    const task = await stack.start([{ call: { name: 'flaky' } }, { say: '{{flaky}}' }]);
    const record = await task.result();
    assert.equal(record.output_text, '{"attempt":3}');
    const flaky = stack.effects('flaky').filter((effect) => effect.call_id === record.tool_calls[0]?.call_id);
    assert.deepEqual(
      flaky.map((effect) => effect.attempt),
      [1, 2, 3],
    );
    assert.equal(new Set(flaky.map((effect) => effect.key)).size, 1, 'one idempotency key (I2)');
    assert.equal(record.tool_calls[0]?.attempts, 3);
  });

  it('a large result is cut with a marker, within the limit', async () => {
    const task = await stack.start([{ call: { name: 'big', arguments: { bytes: 400_000 } } }, { say: 'ok' }]);
    const record = await task.result();
    const { output = '' } = eventOf(stack.posts(record.session_id, 'tool_result')[0]);
    assert.ok(Buffer.byteLength(output) <= 256 * 1024);
    assert.match(output, /\[cut: \d+ of 400000 bytes left out\]$/);
  });

  it('arguments too large for history are read again where the tool runs (I10)', async () => {
    const text = 'long '.repeat(20_000);
    const task = await stack.start([{ call: { name: 'note', arguments: { text } } }, { say: 'ok' }]);
    const record = await task.result();
    assert.equal(record.tool_calls_failed, 0);
    const history = await stack.handle(task).fetchHistory();
    const scheduled = (history.events ?? []).find(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'note',
    );
    const bytes = scheduled?.activityTaskScheduledEventAttributes?.input?.payloads?.reduce(
      (sum, payload) => sum + (payload.data?.length ?? 0),
      0,
    );
    assert.ok(bytes !== undefined && bytes < 2000, `the activity's input has ${bytes} bytes`);
  });

  it('a failed turn fails the task, with the record as detail (I7)', async () => {
    const task = await stack.start([{ fail: { code: 'server_overloaded', message: 'Too busy.' } }]);
    await assert.rejects(task.result(), (error: unknown) => {
      assert.ok(error instanceof AgentTaskError);
      assert.equal(error.reason, 'TurnFailed');
      assert.match(error.message, /server_overloaded: Too busy\./);
      assert.equal(error.record?.run.stop_reason, 'turn_failed');
      return true;
    });
  });

  it('a failed session and a reached budget fail the task by name', async () => {
    const failed = await stack.start([{ fail_session: { code: 'internal_error', message: 'Lost.' } }]);
    const poor = await stack.start([{ budget: true }]);
    await assert.rejects(
      failed.result(),
      (error: unknown) =>
        error instanceof AgentTaskError && ['SessionFailed', 'TurnFailed'].includes(error.reason),
    );
    await assert.rejects(
      poor.result(),
      (error: unknown) => error instanceof AgentTaskError && error.reason === 'BudgetReached',
    );
  });

  it('a subagent that ends first does not end the task (I7)', async () => {
    const task = await stack.start([
      { subagent: { name: 'scout', say: 'from the scout', outcome: 'failed', on_stream: true } },
      { say: 'from the root' },
    ]);
    assert.equal((await task.result()).output_text, 'from the root');
  });

  it('unknown events and items are tolerated (I12)', async () => {
    const task = await stack.start([
      { event: { type: 'agent.session.weather.changed', mood: 1 } },
      { item: { type: 'hologram', status: 'completed' } },
      { say: 'ok' },
    ]);
    assert.equal((await task.result()).output_text, 'ok');
  });

  it('JSON by a schema is parsed into `output`', async () => {
    const task = await stack.start([{ say: '{"ok":true}' }], { agent: 'reporter' });
    assert.deepEqual((await task.result()).output, { ok: true });
  });

  it('an inline agent uses the registered tools by name', async () => {
    const parameters = { type: 'object', properties: { amount: { type: 'integer' } } };
    const agent = { model: 'm', tools: [{ type: 'function', name: 'pay', description: 'pays', parameters }] };
    const task = await stack.start(
      [{ call: { name: 'pay', arguments: { amount: 3 } } }, { say: '{{pay}}' }],
      { agent },
    );
    assert.equal((await task.result()).output_text, '{"paid":3}');
  });

  it('a saved agent is used by its id', async () => {
    const headers = {
      authorization: 'Bearer k',
      'openai-beta': 'agents=v1',
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ name: 'saved', model: 'saved-model' });
    const saved = await fetch(`${stack.emulator.url}/agents`, { method: 'POST', headers, body });
    const { id } = (await saved.json()) as { id: string };
    const task = await stack.tasks.start({
      agent_id: id,
      input: `script: ${JSON.stringify([{ say: 'saved' }])}`,
    });
    const record = await task.result();
    assert.equal(record.output_text, 'saved');
    assert.equal(record.model, 'saved-model');
  });

  it('attaches to a session: its next turn, and no session of its own; a second task is refused (I8)', async () => {
    const first = await stack.start([{ say: 'one' }]);
    const { session_id } = await first.result();
    const input = `script: ${JSON.stringify([{ call: { name: 'note', arguments: { text: 'x', hold_until: 'attached' }, call_id: 'attached' } }, { say: 'two' }])}`;
    const second = await stack.tasks.start({ session_id, input });
    await until('the tool of the second task runs', () =>
      stack.effects('note').some((effect) => effect.call_id === 'attached'),
    );
    const third = await stack.tasks.start({ session_id, input: 'me too' });
    await assert.rejects(
      third.result(),
      (error: unknown) => error instanceof AgentTaskError && error.reason === 'SessionBusy',
    );
    stack.release('attached');
    const record = await second.result();
    assert.equal(record.output_text, 'two');
    assert.equal(record.session_id, session_id);
    assert.equal(stack.counts(session_id).messages_accepted, 1);
  });
});
