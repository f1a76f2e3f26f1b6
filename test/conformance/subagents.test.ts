/** Subagents and approvals. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { emulate, message, script, type Json, LIMIT } from './support.ts';

describe('subagents', LIMIT, () => {
  it('have their own turns and items; the root shows only the coordination', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    const steps = script([{ subagent: { name: 'scout', say: 'found it' } }, { say: 'done' }]);
    await bench.post(id, message(steps));
    await stream.until('idle');
    const [child] = await bench.list(`/agents/sessions/${id}/subagents`);
    assert.deepEqual([child?.['name'], child?.['status']], ['scout', 'closed']);
    assert.ok(stream.types.indexOf('subagent.created') < stream.types.indexOf('subagent.closed'));
    assert.equal(stream.types.filter((type) => type === 'turn.completed').length, 1);
    const path = `/agents/sessions/${id}/subagents/${String(child?.['id'])}`;
    const [own] = await bench.list(`${path}/turns`);
    assert.deepEqual([own?.['subagent_id'], own?.['status']], [child?.['id'], 'completed']);
    const items = await bench.list(`${path}/items`);
    assert.match(JSON.stringify(items), /found it/);
    assert.deepEqual(await bench.list(`${path}/turns/${String(own?.['id'])}/items`), items);
    const root = await bench.items(id);
    assert.deepEqual(
      root.slice(2).map((item) => item['type']),
      ['message', 'create_subagent_call', 'agent_message', 'message'],
    );
    assert.equal((await bench.raw('GET', `/agents/sessions/${id}/turns/${String(own?.['id'])}`)).status, 404);
    await stream.cancel();
  });

  it('can show their turn on the stream, with whatever outcome, and end nothing of the root', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    for (const outcome of ['completed', 'failed', 'cancelled'] as const) {
      const plan = { name: outcome, say: 'child text', outcome, on_stream: true, work_ms: 1 };
      await bench.post(id, message(script([{ subagent: plan }, { say: `root after ${outcome}` }])));
      await bench.status(id, 'idle');
    }
    await stream.until('idle', 3);
    const ends = stream.events.filter((event) => /turn\.(completed|failed|cancelled)$/.test(event.type));
    assert.deepEqual(
      ends.map((event) => [
        (event['turn'] as Json)['subagent_id'] !== null,
        (event['turn'] as Json)['status'],
      ]),
      [
        [true, 'completed'],
        [false, 'completed'],
        [true, 'failed'],
        [false, 'completed'],
        [true, 'cancelled'],
        [false, 'completed'],
      ],
    );
    await stream.cancel();
  });
});

function signIn(response: Json): Json {
  return {
    type: 'agent.session.input.computer_use_approval_request_result',
    request_id: 'req_1',
    response: { type: 'browser_authentication', ...response },
  };
}

describe('approvals', LIMIT, () => {
  it('are required actions; the answer goes on with the turn', async (t) => {
    const bench = await emulate(t);
    const ask = {
      type: 'mcp_tool_call' as const,
      server_label: 'crm',
      name: 'delete',
      arguments: { id: 1 },
      message: 'May I?',
    };
    const id = await bench.start([{ ask, request_id: 'req_1' }, { say: 'person said {{approval}}' }]);
    const [action] = (await bench.status(id, 'requires_action'))['required_actions'] as Json[];
    assert.deepEqual(
      [action?.['type'], action?.['request_id'], action?.['request']],
      ['mcp_approval_request', 'req_1', ask],
    );
    const answer = {
      type: 'agent.session.input.mcp_approval_request_result',
      request_id: 'req_1',
      response: { type: 'mcp_tool_call', decision: 'deny' },
    };
    assert.equal((await bench.post(id, { ...answer, request_id: 'req_2' })).status, 400);
    assert.equal((await bench.post(id, answer)).status, 202);
    await bench.status(id, 'idle');
    assert.match(JSON.stringify(await bench.items(id)), /person said deny/);
    assert.equal((await bench.post(id, answer)).status, 400);
    assert.equal(bench.emulator.counters().totals.approvals_accepted, 1);
  });

  it('for a sign-in leave items without the values', async (t) => {
    const bench = await emulate(t);
    const ask = {
      type: 'browser_authentication' as const,
      credential_origin: 'https://example.com',
      fields: [{ id: 'pw', label: 'Password', required: true, type: 'password' }],
      options: [{ id: 'form', label: 'Form', field_ids: ['pw'] }],
      reason: null,
    };
    const id = await bench.start([{ ask, request_id: 'req_1' }, { say: 'ok' }]);
    await bench.status(id, 'requires_action');
    const fields = [{ field_id: 'pw', value: 'hunter2' }];
    assert.equal((await bench.post(id, signIn({ action: 'submit', fields }))).status, 400);
    const empty = [{ field_id: 'pw', value: '' }];
    assert.equal(
      (await bench.post(id, signIn({ action: 'submit', fields: empty, selected_option: 'form' }))).status,
      400,
    );
    assert.equal(
      (await bench.post(id, signIn({ action: 'submit', fields, selected_option: 'form' }))).status,
      202,
    );
    await bench.status(id, 'idle');
    const items = await bench.items(id);
    assert.deepEqual(
      items.map((item) => item['type']).filter((type) => String(type).startsWith('computer')),
      ['computer_use_approval_request', 'computer_use_approval_request_result'],
    );
    assert.doesNotMatch(JSON.stringify(items), /hunter2/);
  });
});
