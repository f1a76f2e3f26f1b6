/** An emulator killed with SIGKILL and started again on the same data directory. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Bench, cancel, emulate, message, result, script, waitFor, type Json, LIMIT } from './support.ts';

const PROGRAM = fileURLToPath(new URL('emulator-process.ts', import.meta.url));

describe('after kill -9', { timeout: 180_000 }, () => {
  let dataDir = '';
  let child: ChildProcess | undefined;
  let bench: Bench;

  async function boot(): Promise<void> {
    const options = JSON.stringify({ dataDir, deltaMs: 1, stepMs: 1, usageDelayMs: 10 });
    child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, options], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.ok(child.stdout);
    const [origin] = (await once(createInterface(child.stdout), 'line')) as [string];
    bench = new Bench(origin);
  }

  async function kill(): Promise<void> {
    const ended = once(child ?? assert.fail('no process'), 'exit');
    child?.kill('SIGKILL');
    await ended;
  }

  async function killAndBoot(): Promise<void> {
    await kill();
    await boot();
  }

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'emulator-'));
    await boot();
  });
  beforeEach(() => assert.equal(child?.exitCode, null));
  after(async () => {
    await kill();
    await rm(dataDir, { recursive: true });
  });

  it('a pending call is still pending, and an answered one still answered', async () => {
    const id = await bench.start([{ call: [{ name: 'a' }, { name: 'b' }] }, { say: '{{a}}{{b}}' }], {
      metadata: { task: 'x' },
    });
    const [a, b] = await bench.pending(id);
    assert.ok(a && b);
    await bench.post(id, result(a, '1'), 'key-a');
    await killAndBoot();
    assert.deepEqual(await bench.pending(id), [b]);
    assert.equal((await bench.post(id, result(a, '1'), 'key-a')).status, 202);
    assert.equal((await bench.post(id, result(a, '9'), 'key-c')).status, 409);
    assert.equal((await bench.post(id, message('now'), 'key-a')).status, 409);
    await bench.post(id, result(b, '2'));
    const session = await bench.status(id, 'idle');
    assert.deepEqual(session['metadata'], { task: 'x' });
    assert.match(JSON.stringify((await bench.items(id)).at(-1)), /"12"/);
    const counters = (await bench.control('GET', `counters?session_id=${id}`)).body;
    assert.deepEqual(
      [
        counters['creates'],
        counters['results_accepted'],
        counters['results_repeated'],
        counters['results_refused'],
      ],
      [1, 2, 1, 1],
    );
    const posts = (await bench.control('GET', `posts?session_id=${id}`)).body['data'] as Json[];
    assert.deepEqual(
      posts.map((post) => [post['status'], post['effect']]),
      [
        [202, 'applied'],
        [202, 'repeat'],
        [409, 'refused'],
        [409, 'refused'],
        [202, 'applied'],
      ],
    );
  });

  it('a text in the middle is finished, once', async () => {
    const id = await bench.startIdle();
    const text = 'word '.repeat(400);
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ say: text, delta_ms: 50 }, { say: 'end' }])), 'key-m');
    await stream.until('turn.output_text.delta', 2);
    await killAndBoot();
    assert.equal(await stream.end(), 'broken');
    await bench.status(id, 'idle');
    const items = await bench.items(id);
    assert.deepEqual(
      items.slice(3).map((item) => [item['status'], (item['content'] as Json[])[0]?.['text']]),
      [
        ['completed', text],
        ['completed', 'end'],
      ],
    );
    assert.equal(
      (await bench.post(id, message(script([{ say: text, delta_ms: 50 }, { say: 'end' }])), 'key-m')).status,
      202,
    );
    assert.equal((await bench.turns(id)).length, 2);
  });

  it('a script in code goes on from its view, through several kills', async () => {
    const id = await bench.start([{ say: 'ready' }], { agent: { model: 'counting' } });
    await bench.status(id, 'idle');
    await bench.post(id, message('count'));
    for (const [index, name] of ['step_1', 'step_2', 'step_3'].entries()) {
      const [call] = await waitFor(name, async () => {
        const pending = await bench.pending(id);
        return pending[0]?.name === name ? pending : undefined;
      });
      if (index === 1) await bench.post(id, message('hurry'));
      await killAndBoot();
      assert.deepEqual(await bench.pending(id), [call]);
      assert.ok(call);
      await bench.post(id, result(call, String(index)));
    }
    await bench.status(id, 'idle');
    assert.match(JSON.stringify((await bench.items(id)).at(-1)), /0\+1\+2 after hurry/);
  });

  it('waits, budgets, subagents and cancels go on', async () => {
    const waiting = await bench.start([{ wait_ms: 400 }, { say: 'waited' }]);
    const paused = await bench.start([{ budget: true }, { say: 'paid' }], { spend_control: { limit: 1 } });
    const parent = await bench.start([
      { subagent: { name: 'kid', say: 'hey', work_ms: 400 } },
      { say: 'end' },
    ]);
    const held = await bench.start([{ wait_for: 'cancel' }]);
    await bench.status(paused, 'budget_reached');
    await waitFor('the subagent', async () =>
      (await bench.list(`/agents/sessions/${parent}/subagents`)).length === 1 ? true : undefined,
    );
    await killAndBoot();
    await bench.raw('POST', `/agents/sessions/${paused}`, { spend_control: null });
    await bench.post(held, cancel);
    for (const id of [waiting, paused, parent, held]) await bench.status(id, 'idle');
    assert.equal((await bench.list(`/agents/sessions/${parent}/subagents`)).length, 1);
    assert.equal((await bench.turns(held))[0]?.['status'], 'cancelled');
    assert.match(JSON.stringify(await bench.items(paused)), /paid/);
  });

  it('failed and deleted sessions and saved agents stay what they were', async () => {
    const failed = await bench.start([{ fail_session: { code: 'internal_error', message: 'broken' } }]);
    await bench.status(failed, 'failed');
    const gone = await bench.startIdle();
    await bench.raw('DELETE', `/agents/sessions/${gone}`);
    const agent = await bench.client.beta.agents.create({ model: 'm' });
    await killAndBoot();
    assert.equal((await bench.session(failed))['error'], 'broken');
    assert.equal((await bench.raw('GET', `/agents/sessions/${gone}`)).status, 404);
    assert.equal((await bench.raw('DELETE', `/agents/sessions/${gone}`)).status, 200);
    assert.equal((await bench.client.beta.agents.retrieve(agent.id)).model, 'm');
    const order = (await bench.list('/agents/sessions?limit=1'))[0];
    assert.equal(order?.['id'], failed);
    const later = await bench.startIdle();
    assert.equal((await bench.list('/agents/sessions?limit=1'))[0]?.['id'], later);
  });
});

describe('a data directory with a torn end', LIMIT, () => {
  it('loses only what was not finished', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'emulator-'));
    t.after(() => rm(dataDir, { recursive: true }));
    const first = await emulate(t, { dataDir });
    const id = await first.startIdle();
    await first.post(id, message(script([{ say: 'two' }])), 'k1');
    await first.status(id, 'idle');
    const items = await first.items(id);
    await first.emulator.close();
    await appendFile(join(dataDir, 'posts.jsonl'), '{"at":1,"sess');
    await appendFile(join(dataDir, 'sessions', `${id}.items.jsonl`), '{"index":0,"rec');
    await writeFile(join(dataDir, 'sessions', `${id}.json.new`), '{"id":');
    for (const key of ['k2', 'k3']) {
      const again = await emulate(t, { dataDir });
      assert.deepEqual((await again.items(id)).slice(0, items.length), items);
      await again.post(id, message(script([{ say: key }])), key);
      await again.status(id, 'idle');
      const posts = again.emulator.posts(id).map((post) => post.idempotency_key);
      assert.deepEqual(posts, ['k1', 'k2', 'k3'].slice(0, key === 'k2' ? 2 : 3));
      await again.emulator.close();
    }
  });
});
