/** Calls and their results: the matrix of agents-api.md 5.4, keys (5.6), and calls side by side. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  dig,
  emulate,
  errorOf,
  failure,
  message,
  result,
  script,
  waitFor,
  type Json,
  LIMIT,
} from './support.ts';

describe('a result', LIMIT, () => {
  it('is taken once; the same again is a repeat without effect, even after the turn', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'look' } }, { say: 'got {{look}}' }]);
    const [call] = await bench.pending(id);
    assert.ok(call);
    const first = await bench.post(id, result(call, 'blue'), 'k1');
    assert.deepEqual([first.status, first.text], [202, '']);
    await bench.status(id, 'idle');
    const items = await bench.items(id);
    assert.equal((await bench.post(id, result(call, 'blue'), 'k2')).status, 202);
    assert.equal((await bench.post(id, result(call, 'blue'))).status, 202);
    assert.deepEqual(await bench.items(id), items);
    assert.equal((await bench.turns(id)).length, 1);
    const counts = bench.emulator.counters().sessions[id];
    assert.deepEqual([counts?.results_accepted, counts?.results_repeated, counts?.violations], [1, 2, 0]);
    assert.deepEqual(
      bench.emulator.posts(id).map((post) => [post.status, post.effect, post.idempotency_key]),
      [
        [202, 'applied', 'k1'],
        [202, 'repeat', 'k2'],
        [202, 'repeat', null],
      ],
    );
  });

  it('that differs from the first is a conflict and a violation', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'look' } }, { say: 'got {{look}}' }]);
    const [call] = await bench.pending(id);
    assert.ok(call);
    await bench.post(id, result(call, 'blue'));
    for (const other of [result(call, 'red'), failure(call, 'blue')]) {
      const answer = await bench.post(id, other);
      assert.equal(answer.status, 409);
      assert.equal(errorOf(answer)['code'], 'conflict_error');
    }
    assert.deepEqual(
      bench.emulator.counters().violations.map((one) => one.kind),
      ['second_result', 'second_result'],
    );
    assert.match(JSON.stringify(await bench.items(id)), /got blue/);
  });

  it('for an unknown call is refused in the exact words that the SDK retries', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const answer = await bench.post(id, result({ turn_id: 'turn_x', call_id: 'call_x' }, 'a'));
    assert.equal(answer.status, 400);
    assert.deepEqual(errorOf(answer), {
      type: 'invalid_request_error',
      code: 'invalid_request_error',
      message: 'Unknown pending tool call: call_x',
      param: null,
    });
    assert.equal(bench.emulator.counters().violations[0]?.kind, 'unknown_call');
  });

  it('under the wrong turn is refused, and the call stays pending', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    await bench.post(id, message(script([{ call: { name: 'look', call_id: 'c1' } }])));
    const [call] = await bench.pending(id);
    const [first] = await bench.turns(id);
    const answer = await bench.post(id, result({ turn_id: String(first?.['id']), call_id: 'c1' }, 'a'));
    assert.equal(answer.status, 400);
    assert.match(String(errorOf(answer)['message']), /belongs to a different managed agent turn$/);
    assert.deepEqual(await bench.pending(id), [call]);
  });

  it('after a cancel is a conflict but no violation: the client could not know', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'look' } }]);
    const [call] = await bench.pending(id);
    assert.ok(call);
    await bench.post(id, { type: 'agent.session.input.cancel' });
    const late = await bench.post(id, result(call, 'a'));
    assert.equal(late.status, 409);
    assert.equal(errorOf(late)['type'], 'conflict_error');
    assert.equal(bench.emulator.counters().totals.violations, 0);
  });

  it('may be text, content parts, null or an error; a failed one has no output', async (t) => {
    const bench = await emulate(t);
    const parts = [
      { type: 'input_text', text: 'see ' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
    ];
    const names = ['text', 'parts', 'nothing', 'broken'].map((name) => ({ name, call_id: name }));
    const id = await bench.start([{ call: names }, { say: '{{text}}|{{parts}}|{{nothing}}|{{broken}}' }]);
    const [call] = await bench.pending(id);
    const at = (callId: string) => ({ turn_id: String(call?.turn_id), call_id: callId });
    await bench.post(id, result(at('text'), 'T'));
    await bench.post(id, result(at('parts'), parts));
    await bench.post(id, result(at('nothing'), null));
    await bench.post(id, failure(at('broken'), 'no service'));
    await bench.status(id, 'idle');
    const items = await bench.items(id);
    const outputs = items.filter((item) => item['type'] === 'function_call_output');
    assert.deepEqual(
      outputs.map((item) => [item['output'], item['error'], item['status']]),
      [
        ['T', null, 'completed'],
        [parts, null, 'completed'],
        [null, null, 'completed'],
        [null, 'no service', 'failed'],
      ],
    );
    const calls = items.filter((item) => item['type'] === 'function_call');
    assert.deepEqual(
      calls.map((item) => item['status']),
      ['completed', 'completed', 'completed', 'failed'],
    );
    assert.match(JSON.stringify(items.at(-1)), /T\|see \[image\]\|\|no service/);
  });

  it('that is too large is a 400', async (t) => {
    const bench = await emulate(t, { maxResultBytes: 100 });
    const id = await bench.start([{ call: { name: 'look' } }]);
    const [call] = await bench.pending(id);
    assert.ok(call);
    assert.equal((await bench.post(id, result(call, 'x'.repeat(200)))).status, 400);
    assert.equal((await bench.post(id, result(call, 'short'))).status, 202);
  });
});

describe('calls side by side', LIMIT, () => {
  it('appear together: one list; the session works on when the last is answered', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ call: [{ name: 'a' }, { name: 'b' }] }, { say: '{{b}}{{a}}' }])));
    const calls = await bench.pending(id);
    assert.deepEqual(
      calls.map((call) => call.name),
      ['a', 'b'],
    );
    const [a, b] = calls;
    assert.ok(a && b);
    await bench.post(id, result(b, '2'));
    assert.equal((await bench.session(id))['status'], 'requires_action');
    assert.deepEqual(await bench.pending(id), [a]);
    await bench.post(id, result(a, '1'));
    await stream.until('idle');
    assert.equal(stream.types.filter((type) => type === 'requires_action').length, 1);
    assert.match(JSON.stringify((await bench.items(id)).at(-1)), /"21"/);
    await stream.cancel();
  });

  it('appear one by one: a growing list', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(
      id,
      message(
        script([{ call: [{ name: 'a' }, { name: 'b' }, { name: 'c' }], appear: 'one_by_one', gap_ms: 5 }]),
      ),
    );
    await stream.until('requires_action', 3);
    const lists = stream.events
      .filter((event) => event.type === 'agent.session.requires_action')
      .map((event) =>
        ((event['session'] as Json)['required_actions'] as Json[]).map((action) => action['name']),
      );
    assert.deepEqual(lists, [['a'], ['a', 'b'], ['a', 'b', 'c']]);
    await stream.cancel();
  });

  it('fail the turn when nobody answers in time; a late result is a conflict', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'slow' }, timeout_ms: 400 }]);
    const [call] = await bench.pending(id);
    assert.ok(call);
    const session = await bench.status(id, 'idle');
    assert.deepEqual(session['required_actions'], []);
    const [turn] = await bench.turns(id);
    assert.equal(turn?.['status'], 'failed');
    assert.equal(dig(turn, 'error', 'code'), 'request_timeout');
    assert.equal((await bench.post(id, result(call, 'late'))).status, 409);
  });

  it('may carry their arguments as text', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'look', arguments: { a: [1] } }, arguments_as: 'string' }]);
    const [call] = await bench.pending(id);
    assert.equal(call?.arguments, '{"a":[1]}');
  });
});

describe('idempotency keys', LIMIT, () => {
  it('make a repeated message one turn, and refuse another body', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const text = message(script([{ say: 'once' }]));
    assert.equal((await bench.post(id, text, 'key-1')).status, 202);
    assert.equal((await bench.post(id, text, 'key-1')).status, 202);
    const other = await bench.post(id, message('different'), 'key-1');
    assert.equal(other.status, 409);
    assert.equal(errorOf(other)['code'], 'idempotency_conflict');
    await bench.status(id, 'idle');
    assert.equal((await bench.turns(id)).length, 2);
    const counts = bench.emulator.counters().sessions[id];
    assert.deepEqual([counts?.messages_accepted, counts?.messages_repeated], [1, 1]);
    assert.deepEqual(
      bench.emulator.posts(id).map((post) => post.effect),
      ['applied', 'repeat', 'refused'],
    );
  });

  it('belong to one session, and a refused request does not use them up', async (t) => {
    const bench = await emulate(t);
    const [one, two] = [await bench.startIdle(), await bench.startIdle()];
    await bench.post(one, message(script([{ call: { name: 'look', call_id: 'c' } }])), 'key');
    assert.equal((await bench.post(two, message('x'), 'key')).status, 202);
    const [call] = await bench.pending(one);
    assert.ok(call);
    bench.emulator.addFaults({ kind: 'early_result' });
    assert.equal((await bench.post(one, result(call, 'r'), 'key-2')).status, 400);
    assert.equal((await bench.post(one, result(call, 'r'), 'key-2')).status, 202);
    await bench.status(one, 'idle');
    assert.equal(bench.emulator.counters().sessions[one]?.results_accepted, 1);
  });

  it('have 1 to 256 characters', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    assert.equal((await bench.post(id, message('x'), 'k'.repeat(257))).status, 400);
    assert.equal((await bench.post(id, message('x'), 'k'.repeat(256))).status, 202);
  });

  it('do not keep a create from making a second session', async (t) => {
    const bench = await emulate(t);
    const body = { environment: { type: 'none' }, agent: { model: 'm' }, input: 'hi' };
    const headers = {
      'openai-beta': 'agents=v1',
      authorization: 'Bearer k',
      'idempotency-key': 'same',
    };
    const [a, b] = await Promise.all([
      bench.raw('POST', '/agents/sessions', body, headers),
      bench.raw('POST', '/agents/sessions', body, headers),
    ]);
    assert.deepEqual([a?.status, b?.status], [201, 201]);
    assert.notEqual(a?.body['id'], b?.body['id']);
    await waitFor('two creates', async () =>
      bench.emulator.counters().totals.creates === 2 ? true : undefined,
    );
  });
});
