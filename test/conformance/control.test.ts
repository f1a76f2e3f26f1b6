/** The control path: counters, posts, streams, health. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BETA, emulate, message, result, waitFor, type Json, LIMIT } from './support.ts';

describe('the control path', LIMIT, () => {
  it('needs no key and tells what happened', async (t) => {
    const bench = await emulate(t);
    assert.deepEqual((await bench.control('GET', 'health')).body, { ok: true, sessions: 0 });
    const id = await bench.start([{ call: { name: 'look' } }]);
    const stream = await bench.open(id);
    assert.deepEqual((await bench.control('GET', 'streams')).body, { [id]: 1 });
    const [call] = await bench.pending(id);
    assert.ok(call);
    await bench.post(id, result(call, 'r'), 'key-1');
    await bench.status(id, 'idle');
    await bench.post(id, result(call, 'other'));
    await bench.raw('GET', '/agents/sessions', undefined, {});
    const { body } = await bench.control('GET', 'counters');
    const totals = body['totals'] as Json;
    assert.deepEqual(totals, {
      creates: 1,
      deletes: 0,
      streams_opened: 1,
      posts: 2,
      messages_accepted: 0,
      messages_repeated: 0,
      turns_started: 1,
      results_accepted: 1,
      results_repeated: 0,
      results_refused: 1,
      approvals_accepted: 0,
      cancels: 0,
      violations: 2,
      streams_open: 1,
    });
    const requests = body['requests'] as Json;
    assert.equal(requests['POST /agents/sessions'], 1);
    assert.equal(requests['POST /agents/sessions/{session_id}/events'], 2);
    const violations = body['violations'] as Json[];
    assert.deepEqual(
      violations.map((one) => [one['kind'], one['session_id']]),
      [
        ['second_result', id],
        ['invalid_beta', null],
      ],
    );
    assert.deepEqual(JSON.parse(JSON.stringify(bench.emulator.counters())), body);
    const own = await bench.control('GET', `counters?session_id=${id}`);
    assert.deepEqual(own.body, { ...totals, violations: 1 });
    assert.equal((await bench.control('GET', 'counters?session_id=sess_x')).status, 404);
    await stream.cancel();
    await waitFor('the stream to be gone', async () =>
      bench.emulator.counters().totals.streams_open === 0 ? true : undefined,
    );
  });

  it('counts no stream whose client has left before it was begun', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const route = `GET /agents/sessions/{session_id}/events`;
    bench.emulator.addFaults({ kind: 'delay', ms: 300, match: { method: 'GET', path: '*/events' } });
    const leave = new AbortController();
    const opening = fetch(`${bench.origin}/v1/agents/sessions/${id}/events`, {
      headers: { authorization: 'Bearer k', ...BETA },
      signal: leave.signal,
    });
    await waitFor('the request', async () => (bench.emulator.faults()[0]?.struck === 1 ? true : undefined));
    leave.abort();
    await assert.rejects(opening, { name: 'AbortError' });
    await waitFor('the stream to be opened', async () =>
      bench.emulator.counters().totals.streams_opened === 1 ? true : undefined,
    );
    assert.equal(bench.emulator.counters().requests[route], 1);
    assert.equal(bench.emulator.counters().totals.streams_open, 0);
  });

  it('lists every post with its key, body and effect', async (t) => {
    const bench = await emulate(t);
    const [one, two] = [await bench.startIdle(), await bench.startIdle()];
    const hello = message('hello');
    await bench.post(one, hello, 'k');
    await bench.post(two, hello);
    await bench.raw('POST', `/agents/sessions/${one}/events`, 'no json');
    const read = async (query: string): Promise<Json[]> =>
      (await bench.control('GET', `posts${query}`)).body['data'] as Json[];
    assert.equal((await read('')).length, 3);
    const [first, bad] = await read(`?session_id=${one}`);
    assert.deepEqual(first?.['body'], { events: [hello] });
    assert.deepEqual(
      [
        first?.['idempotency_key'],
        first?.['input_types'],
        first?.['status'],
        first?.['effect'],
        first?.['error'],
      ],
      ['k', ['message'], 202, 'applied', null],
    );
    assert.deepEqual([bad?.['body'], bad?.['status'], bad?.['effect']], ['no json', 400, 'refused']);
    assert.match(String(bad?.['error']), /could not parse/);
  });

  it('refuses what it does not know', async (t) => {
    const bench = await emulate(t);
    assert.equal((await bench.control('GET', 'nothing')).status, 404);
    assert.equal((await bench.control('PUT', 'faults')).status, 404);
  });
});
