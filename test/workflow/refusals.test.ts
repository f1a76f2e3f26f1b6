/** What the service refuses, and what is too much at once: nothing runs hot, nothing is forgotten, nobody waits unseen. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const HEADERS = { authorization: 'Bearer k', 'openai-beta': 'agents=v1', 'content-type': 'application/json' };
const script = (steps: Step[]): string => `script: ${JSON.stringify(steps)}`;

describe('refusals and limits', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  it('a message that the running turn refuses waits for its end, and does not run hot', async () => {
    const parameters = { type: 'object' };
    const created = await fetch(`${stack.emulator.url}/agents/sessions`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({
        environment: { type: 'none' },
        agent: { model: 'm', tools: [{ type: 'function', name: 'note', description: 'd', parameters }] },
        input: script([{ call: { name: 'note', arguments: { text: 'x', hold_ms: 5000 } } }, { say: 'one' }]),
      }),
    });
    const { id } = (await created.json()) as { id: string };
    const task = await stack.tasks.start({
      agent: 'tester',
      session_id: id,
      input: script([{ say: 'two' }]),
    });
    assert.equal((await task.result()).output_text, 'two');
    const messages = stack.posts(id, 'message');
    assert.equal(messages.filter(({ effect }) => effect === 'applied').length, 1);
    assert.ok(messages.length >= 2 && messages.length <= 8, `${messages.length} posts`);
    const { historyLength } = await stack.handle(task).describe();
    assert.ok(historyLength < 250, `${historyLength} events`);
  });

  it('results of parallel tools that are too much for one activity are delivered all the same (scenario 18)', async () => {
    const task = await stack.start([
      { call: Array.from({ length: 24 }, () => ({ name: 'big', arguments: { bytes: 250_000 } })) },
      { say: 'ok' },
    ]);
    const record = await task.result();
    assert.equal(record.tool_calls_failed, 0);
    assert.equal(stack.counts(record.session_id).results_accepted, 24);
    assert.equal((await stack.handle(task).describe()).status.name, 'COMPLETED');
  });

  it('a cancellation that is refused is posted again, until the turn has ended', async () => {
    const task = await stack.start([{ wait_ms: 60_000 }, { say: 'never' }]);
    const session_id = await until('the session is open', async () => (await task.status()).session_id);
    const match = { input_type: 'cancel' };
    const body = {
      error: { type: 'conflict_error', code: 'conflict_error', message: 'not now', param: null },
    };
    stack.emulator.addFaults({ kind: 'status', session_id, match, status: 409, body });
    await task.cancel();
    await assert.rejects(
      task.result(),
      (error: unknown) => error instanceof AgentTaskError && error.reason === 'Cancelled',
    );
    const turns = await fetch(`${stack.emulator.url}/agents/sessions/${session_id}/turns`, {
      headers: HEADERS,
    });
    const { data } = (await turns.json()) as { data: { status: string }[] };
    assert.deepEqual(
      data.map(({ status }) => status),
      ['cancelled'],
    );
    const keys = stack.posts(session_id, 'cancel').map((post) => post.idempotency_key);
    assert.equal(keys.length, 2);
    assert.equal(new Set(keys).size, 2);
  });

  it('a result that is refused twice is shown to a person, who can give another', async () => {
    const call_id = 'refused-twice';
    const match = { input_type: 'tool_result' };
    const task = await stack.start([
      { call: { name: 'note', arguments: { text: 'x', hold_until: call_id }, call_id } },
      { say: '{{note}}' },
    ]);
    await until('the tool runs', () => stack.effects('note').some((effect) => effect.call_id === call_id));
    const session_id = await until('the session is open', async () => (await task.status()).session_id);
    const body = { error: { type: 'invalid_request_error', code: null, message: 'No.', param: null } };
    stack.emulator.addFaults({ kind: 'status', session_id, match, status: 400, body, times: 2 });
    stack.release(call_id);
    const [pending] = await until('a person is asked', async () => {
      const list = await task.pending();
      return list.length > 0 && list;
    });
    assert.match(pending?.reason ?? '', /the service refuses its result/);
    assert.equal(
      stack.posts(session_id, 'tool_result').filter(({ status }) => status === 400).length,
      2,
      'the fault struck',
    );
    await task.resolveCall({ call_id, action: 'result', output: 'by hand' });
    assert.equal((await task.result()).output_text, 'by hand');
  });

  it('a result that two old reads call unwanted goes out again when later ones ask for it (I4)', async () => {
    const task = await stack.start([
      { call: { name: 'pay', arguments: { amount: 2, hold_until: 'unwanted' }, call_id: 'unwanted' } },
      { say: '{{pay}}' },
    ]);
    const session_id = await until('the session is open', async () => (await task.status()).session_id);
    const body = { error: { type: 'conflict_error', code: 'conflict_error', message: 'later', param: null } };
    await until('the tool has paid', () =>
      stack.effects('pay').some((effect) => effect.call_id === 'unwanted'),
    );
    await until('nobody follows', () => stack.counts(session_id).streams_open === 0);
    const path = `/agents/sessions/${session_id}`;
    stack.emulator.addFaults(
      { kind: 'status', session_id, match: { input_type: 'tool_result' }, status: 409, body },
      {
        kind: 'patch_answer',
        session_id,
        match: { method: 'GET', path },
        patch: { required_actions: [] },
        times: 2,
      },
    );
    stack.release('unwanted');
    const record = await task.result();
    assert.equal(record.output_text, '{"paid":2}');
    assert.equal(stack.effects('pay').filter((effect) => effect.call_id === 'unwanted').length, 1);
    assert.deepEqual(
      stack.posts(session_id, 'tool_result').map(({ status }) => status),
      [409, 202],
      'the fault struck',
    );
  });

  it('one stray 404 does not end a task: a session is gone when a second read says so', async () => {
    const task = await stack.start([
      { wait_ms: 1500 },
      { call: { name: 'note', arguments: { text: 'x' } } },
      { say: 'ok' },
    ]);
    const session_id = await until('the session is open', async () => (await task.status()).session_id);
    const body = {
      error: {
        type: 'not_found_error',
        code: 'not_found_error',
        message: 'No managed agent resource found',
        param: null,
      },
    };
    stack.emulator.addFaults({
      kind: 'status',
      session_id,
      match: { method: 'GET', path: `/agents/sessions/${session_id}` },
      status: 404,
      body,
    });
    assert.equal((await task.result()).output_text, 'ok');
    const { data } = (await (await fetch(`${stack.emulator.origin}/__emulator/faults`)).json()) as {
      data: { session_id?: string; status?: number; struck?: number }[];
    };
    const text = JSON.stringify(data.filter((fault) => JSON.stringify(fault).includes(session_id)));
    assert.match(text, /"struck":1/, 'the fault struck');
  });

  it('a long name of an agent fits the search attribute', async () => {
    const task = await stack.start([{ say: 'ok' }], { agent: { model: 'm'.repeat(3000) } });
    const record = await task.result();
    assert.equal(record.output_text, 'ok');
    assert.ok(record.agent.length <= 100);
  });

  it('a session that a lost attempt created is removed when the task cannot be opened (I1)', async () => {
    // On an API of its own: what strikes here are the routes of every task.
    const own = await Stack.start();
    try {
      await own.worker();
      const refusal = {
        error: { type: 'billing_error', code: 'billing_not_active', message: 'Pay.', param: null },
      };
      own.emulator.addFaults(
        { kind: 'lost_reply', match: { method: 'POST', path: '/agents/sessions' } },
        { kind: 'status', match: { method: 'GET', path: '/agents/sessions' }, status: 402, body: refusal },
      );
      const task = await own.start([{ wait_ms: 60_000 }, { say: 'never' }]);
      await until('the orphan is removed', () => own.emulator.counters().totals.deletes === 1);
      assert.equal(own.emulator.counters().totals.creates, 1);
      await assert.rejects(task.result(), AgentTaskError);
    } finally {
      await own.stop();
    }
  });
});
