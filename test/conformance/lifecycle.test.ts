/** Cancel, steering, failure, budget, deletion. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cancel, emulate, errorOf, message, result, script, waitFor, type Json, LIMIT } from './support.ts';

describe('cancel', LIMIT, () => {
  it('ends the turn, drops its calls, closes its items, and leaves the session usable', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ call: [{ name: 'a' }, { name: 'b' }] }])));
    await bench.pending(id);
    assert.equal((await bench.post(id, cancel)).status, 202);
    await stream.until('idle');
    assert.deepEqual(stream.types.slice(-4), ['turn.item.done', 'turn.item.done', 'turn.cancelled', 'idle']);
    const [, turn] = await bench.turns(id);
    assert.deepEqual([turn?.['status'], turn?.['error']], ['cancelled', null]);
    const calls = (await bench.items(id)).filter((item) => item['type'] === 'function_call');
    assert.deepEqual(
      calls.map((item) => item['status']),
      ['incomplete', 'incomplete'],
    );
    await bench.post(id, message(script([{ say: 'still here' }])));
    await stream.until('idle', 2);
    assert.match(JSON.stringify((await bench.items(id)).at(-1)), /still here/);
    await stream.cancel();
  });

  it('of an idle session is accepted and does nothing', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    const answer = await bench.post(id, cancel);
    assert.deepEqual([answer.status, answer.text], [202, '']);
    await bench.post(id, message('hello'));
    await stream.until('idle');
    assert.equal(stream.types[0], 'turn.created');
    await stream.cancel();
  });

  it('in the middle of a text keeps an incomplete item', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ say: 'word '.repeat(1000), delta_ms: 20 }])));
    await stream.until('turn.output_text.delta', 2);
    await bench.post(id, cancel);
    await stream.until('idle');
    const types = stream.types.slice(stream.types.indexOf('turn.item.done'));
    assert.deepEqual(types, ['turn.item.done', 'turn.cancelled', 'idle']);
    const last = (await bench.items(id)).at(-1);
    assert.equal(last?.['status'], 'incomplete');
    await stream.cancel();
  });
});

describe('a message during a turn', LIMIT, () => {
  it('is refused in the first turn of a session', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ wait_for: 'cancel' }]);
    const answer = await bench.post(id, message('now?'));
    assert.equal(answer.status, 409);
    assert.deepEqual(errorOf(answer), {
      type: 'conflict_error',
      code: 'conflict_error',
      message: 'session initial input is still pending',
      param: null,
    });
    assert.equal(bench.emulator.counters().violations[0]?.kind, 'message_in_first_turn');
    assert.equal((await bench.post(id, cancel)).status, 202);
  });

  it('unless the emulator is told to take it', async (t) => {
    const bench = await emulate(t, { firstTurnSteering: true });
    const id = await bench.start([{ wait_for: 'message' }, { say: 'heard' }]);
    assert.equal((await bench.post(id, message('now'))).status, 202);
    await bench.status(id, 'idle');
    assert.equal((await bench.turns(id)).length, 1);
  });

  it('steers it at the next boundary between two steps', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    await bench.post(id, message(script([{ call: { name: 'look' } }, { say: 'first' }, { say: 'last' }])));
    const [call] = await bench.pending(id);
    assert.ok(call);
    assert.equal((await bench.post(id, message('also this'))).status, 202);
    assert.doesNotMatch(JSON.stringify(await bench.items(id)), /also this/);
    await bench.post(id, result(call, 'r'));
    await bench.status(id, 'idle');
    assert.equal((await bench.turns(id)).length, 2);
    const items = (await bench.items(id)).filter((item) => item['turn_id'] === call.turn_id);
    assert.deepEqual(
      items.map((item) => item['role'] ?? item['type']),
      ['user', 'function_call', 'function_call_output', 'user', 'assistant', 'assistant'],
    );
  });

  it('that comes after the last step begins the next turn', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ say: 'a b c d e f g h', delta_ms: 40 }])));
    await stream.until('turn.output_text.delta');
    await bench.post(id, message(script([{ say: 'second' }])));
    await stream.until('idle', 2);
    const turns = await bench.turns(id);
    assert.deepEqual(
      turns.map((turn) => turn['status']),
      ['completed', 'completed', 'completed'],
    );
    const at = stream.types.indexOf('idle');
    assert.deepEqual(stream.types.slice(at, at + 2), ['idle', 'turn.created']);
    await stream.cancel();
  });
});

describe('failure', LIMIT, () => {
  it('of a turn leaves the session idle', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ fail: { code: 'server_overloaded', message: 'busy' } }])));
    await stream.until('idle');
    assert.deepEqual(stream.types.slice(-3), ['error', 'turn.failed', 'idle']);
    assert.deepEqual(stream.events.at(-3)?.['error'], {
      type: 'session_error',
      code: 'server_overloaded',
      message: 'busy',
      param: null,
    });
    const [, turn] = await bench.turns(id);
    assert.deepEqual(turn?.['error'], { code: 'server_overloaded', message: 'busy' });
    assert.equal((await bench.session(id))['error'], null);
    await stream.cancel();
  });

  it('of a session closes its streams, and a new stream repeats it and closes', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ fail_session: { code: 'sandbox_error', message: 'gone' } }])));
    assert.equal(await stream.end(), 'eof');
    assert.deepEqual(stream.types.slice(-2), ['error', 'failed']);
    const session = await bench.status(id, 'failed');
    assert.equal(session['error'], 'gone');
    const again = await bench.open(id);
    assert.equal(await again.end(), 'eof');
    assert.deepEqual(again.types, ['error', 'failed']);
    assert.equal((await bench.post(id, message('hello?'))).status, 409);
    assert.equal((await bench.raw('DELETE', `/agents/sessions/${id}`)).status, 200);
  });

  it('of a script is a failed turn, not a dead emulator', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start('script:[{"say": 1}]');
    await bench.status(id, 'idle');
    const [turn] = await bench.turns(id);
    assert.deepEqual(turn?.['error'], {
      code: 'invalid_request',
      message: 'script[0].say: must be a string',
    });
    await bench.post(id, message('script:[{"say":'));
    const second = await waitFor('the second turn', async () => {
      const [, one] = await bench.turns(id);
      return one?.['status'] === 'failed' ? one : undefined;
    });
    assert.equal((second['error'] as Json)['code'], 'invalid_request');
    assert.match(String((second['error'] as Json)['message']), /JSON/);
  });
});

describe('the budget', LIMIT, () => {
  it('pauses the session in mid-turn until the limit is raised', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ budget: true }, { say: 'onwards' }], { spend_control: { limit: 100 } });
    const paused = await bench.status(id, 'budget_reached');
    assert.deepEqual(paused['spend_control'], { limit: 100, consumed: 100 });
    const [turn] = await bench.turns(id);
    assert.equal(turn?.['status'], 'in_progress');
    assert.equal((await bench.post(id, message('x'))).status, 409);
    await bench.raw('POST', `/agents/sessions/${id}`, { spend_control: { limit: 50 } });
    assert.equal((await bench.session(id))['status'], 'budget_reached');
    await bench.raw('POST', `/agents/sessions/${id}`, { spend_control: { limit: 200 } });
    await bench.status(id, 'idle');
    assert.match(JSON.stringify(await bench.items(id)), /onwards/);
  });
});

describe('usage', LIMIT, () => {
  it('is null at the end of a turn and readable later; the session has none while a turn runs', async (t) => {
    const bench = await emulate(t, { usageDelayMs: 500 });
    const id = await bench.start([{ say: 'hi' }]);
    await bench.status(id, 'idle');
    assert.equal((await bench.turns(id))[0]?.['usage'], null);
    assert.equal((await bench.session(id))['usage'], null);
    const turn = await waitFor('usage', async () => {
      const [one] = await bench.turns(id);
      return one?.['usage'] === null ? undefined : one;
    });
    assert.deepEqual((await bench.session(id))['usage'], turn['usage']);
    await bench.post(id, message(script([{ wait_for: 'cancel' }])));
    assert.equal((await bench.session(id))['usage'], null);
  });
});

describe('delete', LIMIT, () => {
  it('is refused while busy, then ends streams without an event and hides the session', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'look' } }]);
    await bench.pending(id);
    const busy = await bench.raw('DELETE', `/agents/sessions/${id}`);
    assert.equal(busy.status, 409);
    assert.equal(
      errorOf(busy)['message'],
      'session must be durably idle or failed without required actions before deletion',
    );
    await bench.post(id, cancel);
    const stream = await bench.open(id);
    const gone = await bench.raw('DELETE', `/agents/sessions/${id}`);
    assert.deepEqual(gone.body, { id, object: 'agent.session.deleted', deleted: true });
    assert.equal(await stream.end(), 'eof');
    assert.deepEqual(stream.events, []);
    assert.equal((await bench.raw('DELETE', `/agents/sessions/${id}`)).status, 200);
    assert.equal((await bench.raw('DELETE', '/agents/sessions/sess_never')).status, 404);
    const reads = ['', '/items', '/turns', '/events', '/subagents'];
    for (const read of reads) {
      assert.equal((await bench.raw('GET', `/agents/sessions/${id}${read}`)).status, 404);
    }
    assert.equal((await bench.post(id, message('x'))).status, 404);
    assert.deepEqual(await bench.list('/agents/sessions'), []);
    assert.equal(bench.emulator.counters().totals.deletes, 1);
  });
});
