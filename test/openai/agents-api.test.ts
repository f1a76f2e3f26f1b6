/** Our client of the API: pages, keys, any 2xx, and no retries of its own (agents-api.md 1.4, 5.5, 5.6, 12). */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import type { Step } from '../../src/emulator/index.ts';
import { Bench, json, message, never, oddServer, refusal } from './bench.ts';

describe('pages of items (scenario 29)', { concurrency: true }, () => {
  for (const count of [1, 100, 101, 350]) {
    it(`gives each of ${count} items once, in order`, async (t) => {
      const bench = await Bench.start(t);
      // One item is the user's message.
      const steps: Step[] = Array.from({ length: count - 1 }, (_, n) => ({ item: { type: 'note', n } }));
      const { id } = await bench.session(steps);
      await bench.status(id, 'idle');
      const [turn] = await bench.api.newestTurns(id, 1);
      const items = await bench.api.turnItems(id, turn?.id ?? '');
      assert.equal(items.length, count);
      assert.equal(new Set(items.map((item) => item.id)).size, count);
      assert.deepEqual(
        items.slice(1).map((item) => (item as unknown as { n: number }).n),
        Array.from({ length: count - 1 }, (_, n) => n),
      );
    });
  }

  /** A server with these pages, by cursor. */
  async function paged(
    t: Parameters<typeof oddServer>[0],
    pages: Record<string, unknown>,
  ): Promise<ReturnType<typeof oddServer>> {
    return oddServer(t, (request, response) => {
      const cursor = new URL(request.url ?? '', 'http://x').searchParams.get('after') ?? '';
      json(response, pages[cursor] ?? { data: [], has_more: false, last_id: null });
    });
  }

  it('goes on by last_id past an element without id, and merges no two of those (R7)', async (t) => {
    const one = { id: null, type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one' }] };
    const api = await paged(t, {
      '': { data: [{ id: 'a', type: 'note' }, one], has_more: true, last_id: 'cursor_1' },
      cursor_1: { data: [{ ...one }, { id: 'b', type: 'note' }], has_more: false, last_id: 'b' },
    });
    const items = await api.turnItems('s', 't');
    assert.deepEqual(
      items.map((item) => item.id),
      ['a', null, null, 'b'],
    );
  });

  it('keeps an item that stands on two pages once, in its latest form', async (t) => {
    const api = await paged(t, {
      '': { data: [{ id: 'a', status: 'in_progress' }, { id: 'b' }], has_more: true, last_id: 'b' },
      b: { data: [{ id: 'a', status: 'completed' }, { id: 'c' }], has_more: false, last_id: 'c' },
    });
    const items = await api.turnItems('s', 't');
    assert.deepEqual(
      items.map((item) => [item.id, item.status]),
      [
        ['a', 'completed'],
        ['b', undefined],
        ['c', undefined],
      ],
    );
  });

  it('does not turn in a circle, nor take half a list for the whole', async (t) => {
    const still = await paged(t, {
      '': { data: [{ id: 'a' }], has_more: true, last_id: 'a' },
      a: { data: [{ id: 'b' }], has_more: true, last_id: 'a' },
    });
    assert.match((await refusal(() => still.turnItems('s', 't'))).message, /has_more without a new last_id/);
    const lost = await paged(t, { '': { data: [{ id: 'a' }], has_more: true, last_id: null } });
    assert.match((await refusal(() => lost.turnItems('s', 't'))).message, /has_more without a new last_id/);
  });

  it('asks for nothing that is not documented', async (t) => {
    const bench = await Bench.start(t, { faults: [{ kind: 'strict_query', times: 0 }] });
    const { id, turn } = await bench.idle({ metadata: { k: 'v w&x' } });
    await bench.api.turnItems(id, turn.id);
    await bench.api.newestTurns(id, 20);
    const found = await bench.api.listSessions({ metadata: { k: 'v w&x' }, limit: 100, order: 'desc' });
    assert.deepEqual(
      found.data.map((session) => session.id),
      [id],
    );
  });
});

describe('posting', { concurrency: true }, () => {
  it('sends one event under its key', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle();
    await bench.api.postEvent(id, message('hello'), 'key-1', never);
    const [post] = bench.posts(id, 'message');
    assert.equal(post?.idempotency_key, 'key-1');
    assert.deepEqual(post?.body, { events: [message('hello')] });
  });

  it('takes any 2xx for success, whatever body comes with it (I12)', async (t) => {
    const bodies: [number, string, string | undefined][] = [
      [200, 'application/json', '{"ok":true}'],
      [201, 'text/plain', 'thanks'],
      [202, 'application/json', undefined],
      [202, 'application/json', 'no json'],
      [204, 'application/json', undefined],
    ];
    for (const [status, type, body] of bodies) {
      const api = await oddServer(t, (_, response) => {
        response.writeHead(status, { 'content-type': type });
        response.end(body);
      });
      await api.postEvent('s', { type: 'agent.session.input.cancel' }, 'k');
    }
    const unending = await oddServer(t, (_, response) => {
      response.writeHead(202);
      response.write('{');
    });
    await unending.postEvent('s', { type: 'agent.session.input.cancel' }, 'k');
  });

  it('retries nothing by itself: not 409, 429 or 503, not a lost connection', async (t) => {
    for (const status of [408, 409, 429, 500, 503, 0]) {
      let requests = 0;
      const api = await oddServer(t, (request, response) => {
        requests++;
        if (status === 0) request.socket.destroy();
        else json(response, { error: { message: 'no' } }, status, { 'x-should-retry': 'true' });
      });
      await refusal(() => api.postEvent('s', { type: 'agent.session.input.cancel' }, 'k'));
      await refusal(() => api.getSession('s'));
      assert.equal(requests, 2, `status ${status}`);
    }
  });
});

describe('requests', { concurrency: true }, () => {
  it('carry the beta header and the key', async (t) => {
    const seen: IncomingMessage[] = [];
    const api = await oddServer(t, (request, response) => {
      seen.push(request);
      json(response, { id: 'sess_1' });
    });
    await api.getSession('sess/1 ?');
    assert.equal(seen[0]?.headers['openai-beta'], 'agents=v1');
    assert.equal(seen[0]?.headers.authorization, 'Bearer emulator-key');
    assert.equal(seen[0]?.url, '/v1/agents/sessions/sess%2F1%20%3F');
  });

  it('end with the reason of the signal that stopped them', async (t) => {
    const api = await oddServer(t, () => undefined);
    const reason = new Error('stop');
    const before = AbortSignal.abort(reason);
    for (const ask of [
      (signal: AbortSignal) => api.getSession('s', signal),
      (signal: AbortSignal) => api.newestTurns('s', 1, signal),
      (signal: AbortSignal) => api.postEvent('s', message('x'), 'k', signal),
      (signal: AbortSignal) => api.openStream('s', signal),
    ]) {
      await assert.rejects(ask(before), (error) => error === reason);
      const during = new AbortController();
      const asked = ask(during.signal);
      setImmediate(() => during.abort(reason));
      await assert.rejects(asked, (error) => error === reason);
    }
  });

  it('delete what is deleted already, and read a session as it is', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle({ metadata: { a: 'b' } });
    assert.deepEqual((await bench.api.getSession(id)).metadata, { a: 'b' });
    await bench.api.deleteSession(id);
    await bench.api.deleteSession(id);
    assert.equal((await refusal(() => bench.api.getSession(id))).kind, 'not_found');
    assert.equal((await refusal(() => bench.api.openStream(id, never))).kind, 'not_found');
    const conflict = await refusal(() =>
      bench.calling('look').then((call) => bench.api.deleteSession(call.id)),
    );
    assert.equal(conflict.kind, 'conflict');
  });
});
