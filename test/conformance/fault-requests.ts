/** What each fault on requests, results and calls has to do. */
import assert from 'node:assert/strict';
import { BODY, CREATE, called, types, type Proof } from './fault-bench.ts';
import { cancel, dig, errorOf, failure, message, result, script, waitFor } from './support.ts';

export const requestProofs = {
  delay: async (bench) => {
    const { id, call } = await called(bench);
    bench.emulator.addFaults({ kind: 'delay', ms: 60, when: 'after', match: { input_type: 'tool_result' } });
    const begun = Date.now();
    const answer = bench.post(id, result(call, 'r'));
    await waitFor('the effect before the answer', async () =>
      bench.emulator.counters().totals.results_accepted === 1 ? true : undefined,
    );
    assert.equal((await answer).status, 202);
    assert.ok(Date.now() - begun >= 59);
    bench.emulator.addFaults({ kind: 'delay', ms: 60 });
    const second = Date.now();
    await bench.session(id);
    assert.ok(Date.now() - second >= 59);
  },

  lost_reply: async (bench) => {
    bench.emulator.addFaults({ kind: 'lost_reply', match: CREATE });
    await assert.rejects(bench.raw('POST', '/agents/sessions', BODY));
    bench.emulator.addFaults({ kind: 'lost_reply', match: CREATE });
    await assert.rejects(bench.raw('POST', '/agents/sessions', { ...BODY, stream: true }));
    const made = await bench.list('/agents/sessions');
    assert.equal(made.length, 2);
    for (const session of made) await bench.status(String(session['id']), 'idle');
    const { id, call } = await called(bench);
    bench.emulator.addFaults({ kind: 'lost_reply', match: { input_type: 'tool_result' } });
    await assert.rejects(bench.post(id, result(call, 'r'), 'key'));
    assert.equal((await bench.post(id, result(call, 'r'), 'key')).status, 202);
    await bench.status(id, 'idle');
    const [first, second] = bench.emulator.posts(id);
    assert.deepEqual([first?.effect, first?.reply_lost], ['applied', true]);
    assert.deepEqual([second?.effect, second?.reply_lost], ['repeat', false]);
    assert.equal(first?.body_sha256, second?.body_sha256);
    assert.equal(bench.emulator.counters().sessions[id]?.results_accepted, 1);
  },

  lost_request: async (bench) => {
    const { id, call } = await called(bench);
    bench.emulator.addFaults({ kind: 'lost_request', match: { input_type: 'tool_result' } });
    await assert.rejects(bench.post(id, result(call, 'r')));
    assert.equal(bench.emulator.posts(id).length, 0);
    assert.equal((await bench.session(id))['status'], 'requires_action');
    assert.equal((await bench.post(id, result(call, 'r'))).status, 202);
  },

  status: async (bench) => {
    const { id, call } = await called(bench);
    bench.emulator.addFaults(
      { kind: 'status', status: 503, times: 2, match: { input_type: 'tool_result' } },
      {
        kind: 'status',
        status: 429,
        headers: { 'retry-after': '7' },
        match: { method: 'GET', path: '*/items' },
      },
    );
    assert.equal((await bench.post(id, result(call, 'r'))).status, 503);
    assert.equal((await bench.post(id, result(call, 'r'))).status, 503);
    assert.equal((await bench.post(id, result(call, 'r'))).status, 202);
    assert.deepEqual(
      bench.emulator.posts(id).map((post) => post.effect),
      ['refused', 'refused', 'applied'],
    );
    const limited = await bench.raw('GET', `/agents/sessions/${id}/items`);
    assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7']);
    assert.equal(bench.emulator.counters().totals.violations, 0);
  },

  patch_answer: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({
      kind: 'patch_answer',
      patch: { status: 'dreaming', agent: { mood: 'fine' } },
      match: { method: 'GET', path: '/agents/sessions/{session_id}' },
    });
    const session = await bench.session(id);
    assert.equal(session['status'], 'dreaming');
    assert.equal(dig(session, 'agent', 'mood'), 'fine');
    assert.equal(dig(session, 'agent', 'model'), 'scripted');
    assert.equal((await bench.session(id))['status'], 'idle');
  },

  no_content_status: async (bench) => {
    bench.emulator.addFaults({ kind: 'no_content_status', times: 2, match: { method: 'POST' } });
    const made = await bench.raw('POST', '/agents/sessions', BODY);
    assert.equal(made.status, 200);
    const id = String(made.body['id']);
    await bench.status(id, 'idle');
    const posted = await bench.post(id, cancel);
    assert.deepEqual([posted.status, posted.text], [204, '']);
    await bench.sessions.events.create(id, { events: [{ type: 'agent.session.input.cancel' }] });
  },

  not_found_code: async (bench) => {
    bench.emulator.addFaults({ kind: 'not_found_code' });
    const answer = await bench.raw('GET', '/agents/sessions/none');
    assert.deepEqual([answer.status, errorOf(answer)['code']], [404, 'not_found']);
  },

  strict_query: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({ kind: 'strict_query', times: 0 });
    const items = `/agents/sessions/${id}/items`;
    assert.equal((await bench.raw('GET', `${items}?limit=101`)).status, 400);
    assert.equal((await bench.raw('GET', `${items}?color=red`)).status, 400);
    assert.equal((await bench.raw('GET', `${items}?limit=100&order=asc`)).status, 200);
    assert.equal((await bench.raw('GET', '/agents/sessions?metadata[a]=b')).status, 200);
  },

  stale_session: async (bench) => {
    const { id } = await called(bench);
    bench.emulator.addFaults({ kind: 'stale_session', times: 2 });
    for (let read = 0; read < 2; read += 1) {
      const stale = await bench.session(id);
      assert.deepEqual([stale['status'], stale['required_actions']], ['in_progress', []]);
    }
    assert.equal((await bench.session(id))['status'], 'requires_action');
    bench.emulator.addFaults({ kind: 'stale_session', for_ms: 500 });
    assert.equal((await bench.session(id))['status'], 'in_progress');
    assert.equal((await bench.session(id))['status'], 'in_progress');
    await bench.status(id, 'requires_action');
  },

  hide_in_progress_items: async (bench) => {
    const { id } = await called(bench);
    bench.emulator.addFaults({ kind: 'hide_in_progress_items' });
    assert.deepEqual(types(await bench.items(id)), ['message']);
    assert.deepEqual(types(await bench.items(id)), ['message', 'function_call']);
  },

  list_lag: async (bench) => {
    bench.emulator.addFaults({ kind: 'list_lag', ms: 500, times: 0 });
    const id = await bench.start([], { metadata: { key: 'v' } });
    assert.deepEqual(await bench.list('/agents/sessions?metadata[key]=v'), []);
    assert.equal((await bench.list('/agents/sessions')).length, 1);
    const found = await waitFor('the filter', async () => {
      const [session] = await bench.list('/agents/sessions?metadata[key]=v');
      return session;
    });
    assert.equal(found['id'], id);
  },

  create_key_honoured: async (bench) => {
    bench.emulator.addFaults({ kind: 'create_key_honoured' });
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const headers = { 'openai-beta': 'agents=v1', authorization: 'Bearer k', 'idempotency-key': 'one' };
        const answer = await bench.raw('POST', '/agents/sessions', BODY, headers);
        return answer.body['id'];
      }),
    );
    assert.equal(ids[0], ids[1]);
    assert.equal(bench.emulator.counters().totals.creates, 1);
  },

  result_limit: async (bench) => {
    const { id, call } = await called(bench, { kind: 'result_limit', bytes: 1000, times: 0 });
    const large = await bench.post(id, result(call, 'x'.repeat(1000)));
    assert.equal(large.status, 400);
    assert.match(String(errorOf(large)['message']), /too large/);
    assert.equal((await bench.post(id, failure(call, 'too large'))).status, 202);
  },

  refuse_when_settled: async (bench) => {
    const { id, call } = await called(bench, { kind: 'refuse_when_settled' });
    await bench.post(id, result(call, 'r'));
    const repeat = await bench.post(id, result(call, 'r'));
    assert.equal(errorOf(repeat)['message'], 'Unknown pending tool call: c1');
    assert.equal((await bench.post(id, result(call, 'r'))).status, 202);
    assert.equal(bench.emulator.counters().totals.violations, 0);
  },

  reemit_result_item: async (bench) => {
    const { id, call } = await called(bench, { kind: 'reemit_result_item' });
    await bench.post(id, result(call, 'r'));
    await bench.status(id, 'idle');
    const stream = await bench.open(id);
    await bench.post(id, result(call, 'r'));
    await stream.until('turn.item.added');
    assert.equal(dig(stream.events[0], 'item', 'type'), 'function_call_output');
    assert.equal((await bench.items(id)).filter((item) => item['type'] === 'function_call_output').length, 1);
    await stream.cancel();
  },

  steering_refused: async (bench) => {
    const id = await bench.startIdle();
    await bench.post(id, message(script([{ wait_for: 'message' }])));
    bench.emulator.addFaults({ kind: 'steering_refused' });
    const refused = await bench.post(id, message('steer'));
    assert.deepEqual([refused.status, errorOf(refused)['code']], [409, 'active_turn_not_steerable']);
    assert.equal(refused.headers.get('x-should-retry'), 'false');
    assert.equal((await bench.post(id, message('steer'))).status, 202);
    await bench.status(id, 'idle');
  },

  lost_message: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({ kind: 'lost_message' });
    assert.equal((await bench.post(id, message('hello'), 'k1')).status, 202);
    assert.equal((await bench.post(id, message('hello'), 'k1')).status, 202);
    assert.equal((await bench.turns(id)).length, 1);
    assert.equal((await bench.post(id, message('hello'), 'k2')).status, 202);
    assert.equal((await bench.turns(id)).length, 2);
  },

  cancel_lag: async (bench) => {
    const { id, call } = await called(bench, { kind: 'cancel_lag', ms: 500 });
    await bench.post(id, cancel);
    const session = await bench.session(id);
    assert.deepEqual([session['status'], session['required_actions']], ['in_progress', []]);
    assert.equal((await bench.post(id, result(call, 'r'))).status, 409);
    assert.equal((await bench.post(id, cancel)).status, 202);
    await bench.status(id, 'idle');
    assert.equal((await bench.turns(id))[0]?.['status'], 'cancelled');
  },

  early_result: async (bench) => {
    const { id, call } = await called(bench, { kind: 'early_result', refusals: 2, match: { tool: 'look' } });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const early = await bench.post(id, result(call, 'r'));
      assert.deepEqual([early.status, errorOf(early)['message']], [400, 'Unknown pending tool call: c1']);
    }
    assert.equal((await bench.post(id, result(call, 'r'))).status, 202);
    const counts = bench.emulator.counters().sessions[id];
    assert.deepEqual([counts?.results_refused, counts?.results_accepted, counts?.violations], [2, 1, 0]);
  },

  late_registration: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({ kind: 'late_registration', ms: 300 });
    const handled: unknown[] = [];
    const stream = bench.sessions.stream(id, {
      input: script([{ call: { name: 'look' } }, { say: '{{look}}' }]),
      toolHandlers: {
        look: (args) => {
          handled.push(args);
          return 'seen';
        },
      },
    });
    assert.equal((await stream.finalResult()).output_text, 'seen');
    assert.equal(handled.length, 1);
    const posts = bench.emulator.posts(id).filter((post) => post.input_types[0] === 'tool_result');
    assert.deepEqual([posts[0]?.status, posts.at(-1)?.status], [400, 202]);
    assert.equal(bench.emulator.counters().totals.violations, 0);
  },

  arguments_as: async (bench) => {
    const { call } = await called(bench, { kind: 'arguments_as', as: 'string' });
    assert.equal(call.arguments, '{"a":1}');
  },

  calls_one_by_one: async (bench) => {
    bench.emulator.addFaults({ kind: 'calls_one_by_one', gap_ms: 5 });
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ call: [{ name: 'a' }, { name: 'b' }] }])));
    await stream.until('requires_action', 2);
    await stream.cancel();
  },
} satisfies Record<string, Proof>;
