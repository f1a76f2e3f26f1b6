/** What each fault has to do that plays how another server of the same wire answers (agents-api.md 12, open questions). */
import assert from 'node:assert/strict';
import { BODY, called, play, type Proof } from './fault-bench.ts';
import { cancel, dig, errorOf, message, result, script, tool, waitFor } from './support.ts';

const HEADERS = { authorization: 'Bearer k', 'openai-beta': 'agents=v1' };
/** Shows its calls and answers them in one go, so that nothing else happens in the turn. */
const two = [{ call: ['a', 'b'].map((id) => ({ name: 'look', call_id: id })) }];

export const variantProofs = {
  success_status: async (bench) => {
    bench.emulator.addFaults({ kind: 'success_status', status: 203, match: { path: '/agents/sessions' } });
    assert.equal((await bench.raw('POST', '/agents/sessions', BODY)).status, 203);
    assert.equal((await bench.raw('POST', '/agents/sessions', BODY)).status, 201);
    bench.emulator.addFaults({ kind: 'success_status', status: 203, times: 0 });
    assert.equal((await bench.raw('GET', '/agents/sessions/none')).status, 404);
  },

  error_as: async (bench) => {
    const headers = { 'retry-after': '7' };
    bench.emulator.addFaults({
      kind: 'error_as',
      status: 404,
      as_status: 410,
      type: 'gone',
      code: null,
      headers,
    });
    assert.equal((await bench.raw('GET', '/agents/sessions?order=up')).status, 400);
    const gone = await bench.raw('GET', '/agents/sessions/none');
    assert.deepEqual([gone.status, errorOf(gone)['type'], errorOf(gone)['code']], [410, 'gone', null]);
    assert.equal(gone.headers.get('retry-after'), '7');
    assert.match(String(errorOf(gone)['message']), /none/);
    assert.equal((await bench.raw('GET', '/agents/sessions/none')).status, 404);
  },

  beta_ignored: async (bench) => {
    const headers = { authorization: 'Bearer k' };
    bench.emulator.addFaults({ kind: 'beta_ignored' });
    assert.equal((await bench.raw('GET', '/agents/sessions', undefined, headers)).status, 200);
    assert.equal((await bench.raw('GET', '/agents/sessions', undefined, headers)).status, 400);
  },

  lenient_limit: async (bench) => {
    const id = await bench.startIdle();
    const turns = `/agents/sessions/${id}/turns?limit=101`;
    bench.emulator.addFaults({ kind: 'lenient_limit' });
    assert.equal((await bench.raw('GET', turns)).status, 200);
    assert.equal((await bench.raw('GET', turns)).status, 400);
  },

  session_lag: async (bench) => {
    bench.emulator.addFaults({ kind: 'session_lag', ms: 700, times: 0 });
    const id = await bench.start([{ call: { name: 'look', call_id: 'c1' } }]);
    await waitFor('the turn to wait', async () =>
      (await bench.turns(id))[0]?.['status'] === 'waiting' ? true : undefined,
    );
    assert.deepEqual((await bench.session(id))['required_actions'], []);
    const waited = Date.now();
    await bench.status(id, 'requires_action');
    assert.ok(Date.now() - waited > 300);
    bench.emulator.clearFaults();
    const [call] = await bench.pending(id);
    assert.ok(call);
    await bench.post(id, result(call, 'r'));
    await bench.status(id, 'idle');
    bench.emulator.addFaults({ kind: 'session_lag', ms: 60_000 });
    assert.equal((await bench.session(id))['status'], 'in_progress');
  },

  turn_lag: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({ kind: 'turn_lag', ms: 60_000, times: 2 });
    const [listed] = await bench.turns(id);
    assert.deepEqual([listed?.['status'], listed?.['completed_at']], ['in_progress', null]);
    const turn = `/agents/sessions/${id}/turns/${String(listed?.['id'])}`;
    assert.equal((await bench.raw('GET', turn)).body['status'], 'in_progress');
    assert.equal((await bench.raw('GET', turn)).body['status'], 'completed');
  },

  unfiltered_list_lag: async (bench) => {
    bench.emulator.addFaults({ kind: 'unfiltered_list_lag', ms: 60_000 });
    await bench.start([], { metadata: { key: 'v' } });
    assert.equal((await bench.list('/agents/sessions?metadata[key]=v')).length, 1);
    assert.deepEqual(await bench.list('/agents/sessions'), []);
    assert.equal((await bench.list('/agents/sessions')).length, 1);
  },

  key_handling: async (bench) => {
    const id = await bench.startIdle();
    const say = (text: string) => message(script([{ say: text }]));
    const post = async (text: string): Promise<number> => {
      const { status } = await bench.post(id, say(text), 'key');
      await bench.status(id, 'idle');
      return status;
    };
    assert.deepEqual([await post('one'), (await bench.turns(id)).length], [202, 2]);
    bench.emulator.addFaults({ kind: 'key_handling', same_body: 'apply' });
    assert.deepEqual([await post('one'), (await bench.turns(id)).length], [202, 3]);
    bench.emulator.addFaults({ kind: 'key_handling', other_body: 'repeat' });
    assert.deepEqual([await post('two'), (await bench.turns(id)).length], [202, 3]);
    bench.emulator.addFaults({ kind: 'key_handling', other_body: 'apply' });
    assert.deepEqual([await post('three'), (await bench.turns(id)).length], [202, 4]);
    bench.emulator.addFaults({ kind: 'key_handling', status: 422, code: 'key_reused' });
    const refused = await bench.post(id, say('four'), 'key');
    assert.deepEqual([refused.status, errorOf(refused)['code']], [422, 'key_reused']);
    assert.equal((await bench.post(id, say('four'), 'key')).status, 409);
  },

  atomic_batch: async (bench) => {
    const id = await bench.start(two);
    const [call] = await bench.pending(id);
    assert.ok(call);
    const events = [result(call, 'r'), result({ ...call, call_id: 'nobody' }, 'r')];
    const path = `/agents/sessions/${id}/events`;
    bench.emulator.addFaults({ kind: 'atomic_batch' });
    assert.equal((await bench.raw('POST', path, { events }, HEADERS)).status, 400);
    assert.equal((await bench.pending(id)).length, 2);
    assert.equal((await bench.raw('POST', path, { events }, HEADERS)).status, 400);
    assert.equal((await bench.pending(id)).length, 1);
  },

  delete_once: async (bench) => {
    const id = await bench.startIdle();
    const path = `/agents/sessions/${id}`;
    bench.emulator.addFaults({ kind: 'delete_once' });
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await bench.raw('DELETE', path)).status);
    assert.deepEqual(statuses, [200, 404, 200]);
  },

  steering_queued: async (bench) => {
    const id = await bench.startIdle();
    for (const turns of [3, 4]) {
      await bench.post(id, message(script([{ call: { name: 'look' } }, { say: 'on' }])));
      const [call] = await bench.pending(id);
      assert.ok(call);
      if (turns === 3) bench.emulator.addFaults({ kind: 'steering_queued' });
      assert.equal((await bench.post(id, message(script([{ say: 'later' }])))).status, 202);
      await bench.post(id, result(call, 'r'));
      await waitFor('the turns to end', async () => {
        const { status } = await bench.session(id);
        return status === 'idle' && (await bench.turns(id)).length === turns ? true : undefined;
      });
    }
  },

  async_calls_run_on: async (bench) => {
    const tools = [{ ...tool('look'), async: true }, tool('wait')];
    const steps = [
      {
        call: [
          { name: 'look', call_id: 'c1' },
          { name: 'wait', call_id: 'c2' },
        ],
      },
      { say: 'on' },
    ];
    bench.emulator.addFaults({ kind: 'async_calls_run_on', times: 2 });
    const id = await bench.start(steps, { agent: { tools } });
    const [call, ...others] = await bench.pending(id);
    assert.ok(call);
    assert.deepEqual([call.name, others], ['wait', []]);
    assert.equal((await bench.post(id, result({ ...call, call_id: 'c1' }, 'r'))).status, 202);
    await bench.post(id, result(call, 'r'));
    await bench.status(id, 'idle');
    const shown = (await bench.items(id)).filter((item) => item['type'] === 'function_call');
    assert.deepEqual(
      shown.map((item) => item['status']),
      ['completed', 'completed'],
    );
    const late = await bench.start(steps.slice(0, 1), { agent: { tools: tools.slice(0, 1) } });
    await bench.pending(late);
    await bench.post(late, cancel);
    await bench.status(late, 'idle');
  },

  late_subscription: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({ kind: 'late_subscription', ms: 200 });
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ wait_ms: 400 }, { say: 'heard' }])));
    await stream.until('idle');
    assert.equal(stream.types.includes('turn.created'), false);
    assert.equal(stream.types.includes('turn.completed'), true);
    await stream.cancel();
  },
} satisfies Record<string, Proof>;

/** Beyond one proof per kind: parameters that this table of variants brought. */
export const parameterProofs: Record<string, Proof> = {
  'strict_query looks at limits or at keys alone': async (bench) => {
    const id = await bench.startIdle();
    const status = async (query: string): Promise<number> =>
      (await bench.raw('GET', `/agents/sessions/${id}/items?${query}`)).status;
    bench.emulator.addFaults({ kind: 'strict_query', keys: false, times: 2 });
    assert.deepEqual([await status('color=red'), await status('limit=0')], [200, 400]);
    bench.emulator.addFaults({ kind: 'strict_query', limits: false, times: 2 });
    assert.deepEqual([await status('color=red'), await status('limit=0')], [400, 200]);
  },

  'refuse_when_settled knows three cases': async (bench) => {
    const { id, call } = await called(bench);
    bench.emulator.addFaults({ kind: 'refuse_when_settled', of: 'repeat', status: 409, times: 0 });
    bench.emulator.addFaults({ kind: 'refuse_when_settled', of: 'other', times: 0 });
    await bench.post(id, result(call, 'r'));
    assert.equal((await bench.post(id, result(call, 'r'))).status, 409);
    assert.equal((await bench.post(id, result(call, 'other'))).status, 400);
    const { id: second, call: dropped } = await called(bench);
    await bench.post(second, cancel);
    assert.equal((await bench.post(second, result(dropped, 'r'))).status, 409);
  },

  'reemit_on_reconnect shows an item under the id of its first event': async (bench) => {
    const id = await bench.startIdle();
    const first = await bench.open(id);
    await bench.post(id, message(script([{ call: { name: 'look' } }])));
    await first.until('requires_action');
    for (const [sameId, same] of [
      [true, true],
      [false, false],
    ] as const) {
      bench.emulator.addFaults({ kind: 'reemit_on_reconnect', same_id: sameId });
      const second = await bench.open(id);
      await second.until('turn.item.added', 2);
      const ids = new Set(first.events.map((event) => event['event_id']));
      assert.deepEqual(
        second.events.map((event) => ids.has(event['event_id'])),
        [same, same],
      );
      await second.cancel();
    }
    await first.cancel();
  },

  'an event has one id on every stream': async (bench) => {
    const { id, stream } = await play(bench, [{ say: 'one' }]);
    const second = await bench.open(id);
    await bench.post(id, message(script([{ say: 'two' }])));
    await second.until('idle');
    await stream.until('idle', 2);
    const ids = stream.events.map((event) => event['event_id']);
    const seen = second.events.map((event) => event['event_id']);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids.slice(-seen.length), seen);
    assert.equal(dig(second.events[0], 'type'), 'agent.session.turn.created');
    await stream.cancel();
    await second.cancel();
  },
};
