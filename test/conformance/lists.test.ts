/** Paging, filters and saved agents. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../src/emulator/index.ts';
import { emulate, errorOf, message, script, waitFor, type Bench, type Json, LIMIT } from './support.ts';

const many = (count: number): Step[] =>
  Array.from({ length: count }, (_, index) => ({
    item: {
      type: 'message',
      role: 'assistant',
      id: `i${index}`,
      status: 'completed',
      phase: null,
      content: [],
    },
  }));

/** All ids of a list, read page by page with `last_id`. */
async function walk(bench: Bench, path: string, query: string): Promise<{ ids: unknown[]; pages: number }> {
  const ids: unknown[] = [];
  let after = '';
  for (let pages = 1; ; pages += 1) {
    const { body } = await bench.raw('GET', `${path}?${query}${after}`);
    ids.push(...(body['data'] as Json[]).map((row) => row['id']));
    if (body['has_more'] !== true) return { ids, pages };
    after = `&after=${String(body['last_id'])}`;
  }
}

describe('lists', LIMIT, () => {
  it('are newest first by default, hold cursors, and can be walked both ways', async (t) => {
    const bench = await emulate(t, { stepMs: 0 });
    const id = await bench.start(many(101));
    await bench.status(id, 'idle');
    const path = `/agents/sessions/${id}/items`;
    const first = await bench.raw('GET', path);
    const rows = first.body['data'] as Json[];
    assert.equal(rows.length, 20);
    assert.deepEqual(
      [first.body['object'], first.body['first_id'], first.body['last_id'], first.body['has_more']],
      ['list', 'i100', 'i81', true],
    );
    const up = await walk(bench, path, 'order=asc&limit=100');
    assert.deepEqual([up.ids.length, up.pages], [102, 2]);
    assert.deepEqual(up.ids.slice(1, 4), ['i0', 'i1', 'i2']);
    const down = await walk(bench, path, 'limit=25');
    assert.deepEqual(down.ids, up.ids.toReversed());
    const sdk: unknown[] = [];
    for await (const item of bench.sessions.items.list(id, { order: 'asc', limit: 7 })) sdk.push(item.id);
    assert.deepEqual(sdk, up.ids);
  });

  it('give a cursor even where the last item has no id', async (t) => {
    const bench = await emulate(t, { faults: [{ kind: 'null_id_item' }] });
    const id = await bench.start([{ say: 'one' }]);
    await bench.status(id, 'idle');
    const { body } = await bench.raw('GET', `/agents/sessions/${id}/items?order=asc&limit=1`);
    assert.equal((body['data'] as Json[])[0]?.['id'], null);
    assert.equal(body['has_more'], true);
    const rest = await bench.raw(
      'GET',
      `/agents/sessions/${id}/items?order=asc&after=${String(body['last_id'])}`,
    );
    assert.equal((rest.body['data'] as Json[]).length, 1);
    const turn = String((await bench.turns(id))[0]?.['id']);
    const sdk: unknown[] = [];
    for await (const item of bench.sessions.turns.items.list(turn, {
      session_id: id,
      order: 'asc',
      limit: 1,
    }))
      sdk.push(item.type);
    assert.equal(sdk.length, 2);
  });

  it('treat bad limits, orders and cursors as each list of the service does', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const at = `/agents/sessions/${id}`;
    const statuses = async (query: string): Promise<number[]> => {
      const paths = ['/agents/sessions', `${at}/items`, `${at}/turns`, `${at}/subagents`];
      const answers = await Promise.all(paths.map((path) => bench.raw('GET', `${path}?${query}`)));
      return answers.map((answer) => answer.status);
    };
    assert.deepEqual(await statuses('limit=0'), [200, 200, 400, 400]);
    assert.deepEqual(await statuses('limit=101'), [200, 200, 400, 400]);
    assert.deepEqual(await statuses('limit=x'), [400, 400, 400, 400]);
    assert.deepEqual(await statuses('order=up'), [400, 400, 400, 400]);
    assert.deepEqual(await statuses('after=zzz'), [404, 400, 404, 400]);
    assert.deepEqual(await statuses('color=red'), [200, 200, 200, 200]);
    const limit = await bench.raw('GET', `${at}/turns?limit=500`);
    assert.equal(errorOf(limit)['message'], 'limit must be between 1 and 100');
    const items = await bench.raw('GET', `${at}/items?after=zzz`);
    assert.equal(errorOf(items)['message'], 'Invalid session item ID in `after`');
    const children = await bench.raw('GET', `${at}/subagents?after=zzz`);
    assert.equal(errorOf(children)['message'], 'Invalid resource ID in `after`');
  });

  it('separate turns and their items', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    await bench.post(id, message(script([{ say: 'second' }])));
    await waitFor('two ended turns', async () =>
      (await bench.turns(id)).filter((turn) => turn['status'] === 'completed').length === 2
        ? true
        : undefined,
    );
    const [newest, oldest] = await bench.list(`/agents/sessions/${id}/turns`);
    const items = await bench.list(`/agents/sessions/${id}/turns/${String(newest?.['id'])}/items?order=asc`);
    assert.match(JSON.stringify(items[1]), /second/);
    assert.ok(items.every((item) => item['turn_id'] === newest?.['id']));
    const one = await bench.raw('GET', `/agents/sessions/${id}/turns/${String(oldest?.['id'])}`);
    assert.equal(one.body['subagent_id'], null);
    assert.equal((await bench.raw('GET', `/agents/sessions/${id}/turns/turn_x`)).status, 404);
  });

  it('find sessions by metadata and by agent', async (t) => {
    const bench = await emulate(t);
    const one = await bench.startIdle({ metadata: { key: 'a b&c', shared: 'yes' } });
    const two = await bench.startIdle({ metadata: { shared: 'yes' } });
    const find = async (metadata: Record<string, string>): Promise<string[]> =>
      (await bench.sessions.list({ metadata })).data.map((session) => session.id);
    assert.deepEqual(await find({ key: 'a b&c' }), [one]);
    assert.deepEqual(await find({ shared: 'yes' }), [two, one]);
    assert.deepEqual(await find({ shared: 'yes', key: 'other' }), []);
    const agent = (await bench.session(two))['agent'] as Json;
    const byAgent = await bench.sessions.list({ agent_id: String(agent['id']) });
    assert.deepEqual(
      byAgent.data.map((session) => session.id),
      [two],
    );
  });

  it('of traces and artifacts are empty', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    assert.deepEqual(await bench.list(`/agents/sessions/${id}/traces`), []);
    assert.deepEqual(await bench.list(`/agents/sessions/${id}/artifacts`), []);
  });
});

describe('saved agents', LIMIT, () => {
  it('can be made, changed, listed and deleted; a session keeps what it started with', async (t) => {
    const bench = await emulate(t);
    const { agents } = bench.client.beta;
    const made = await agents.create({
      model: 'm1',
      name: 'Ada',
      instructions: 'be kind',
      metadata: { a: '1' },
    });
    assert.equal(made.object, 'agent');
    const session = await bench.sessions.create({
      environment: { type: 'none' },
      agent_id: made.id,
      agent: { instructions: 'be brief' },
      input: 'hi',
    });
    assert.deepEqual(
      [session.agent.id, session.agent.name, session.agent.model, session.agent.instructions],
      [made.id, 'Ada', 'm1', 'be brief'],
    );
    const changed = await agents.update(made.id, { model: 'm2', name: null });
    assert.deepEqual([changed.model, changed.name, changed.metadata], ['m2', null, { a: '1' }]);
    assert.equal((await bench.sessions.retrieve(session.id)).agent.model, 'm1');
    assert.equal((await agents.list()).data.length, 1);
    assert.equal((await agents.retrieve(made.id)).instructions, 'be kind');
    await agents.delete(made.id);
    assert.equal((await bench.raw('GET', `/agents/${made.id}`)).status, 404);
  });

  it('are not the agents of sessions', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const agent = (await bench.session(id))['agent'] as Json;
    const create = (agentId: unknown) =>
      bench.raw('POST', '/agents/sessions', { environment: { type: 'none' }, agent_id: agentId, input: 'x' });
    const local = await create(agent['id']);
    assert.deepEqual([local.status, errorOf(local)['code']], [400, 'agent_not_persisted']);
    assert.equal((await create('agent_none')).status, 404);
  });
});
