/** Every fault does what its name says. The table has one entry per kind; the compiler sees to it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentSessionEvent } from 'openai/resources/beta/agents/agents';
import type { FaultKind, FaultSpec, Step } from '../../src/emulator/index.ts';
import {
  cancel,
  dig,
  emulate,
  errorOf,
  failure,
  message,
  result,
  script,
  typesOf,
  waitFor,
  type Bench,
  type RawStream,
} from './support.ts';

type Proof = (bench: Bench) => Promise<void>;
const CREATE = { method: 'POST', path: '/agents/sessions' };
const BODY = { environment: { type: 'none' }, agent: { model: 'm' }, input: script([{ say: 'hi' }]) };

/** Plays a turn in a fresh idle session; answers its stream when the turn is over. */
async function play(
  bench: Bench,
  steps: Step[],
  ...faults: FaultSpec[]
): Promise<{ id: string; stream: RawStream }> {
  const id = await bench.startIdle();
  bench.emulator.addFaults(...faults);
  const stream = await bench.open(id);
  await bench.post(id, message(script(steps)));
  await bench.status(id, 'idle');
  return { id, stream };
}

const types = (items: { [key: string]: unknown }[]) => items.map((item) => item['type']);

/** A session with one pending call. */
async function called(bench: Bench, ...faults: FaultSpec[]) {
  bench.emulator.addFaults(...faults);
  const id = await bench.start([
    { call: { name: 'look', call_id: 'c1', arguments: { a: 1 } } },
    { say: '{{look}}' },
  ]);
  const [call] = await bench.pending(id);
  assert.ok(call);
  return { id, call };
}

const PROOFS: Record<FaultKind, Proof> = {
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
    assert.equal((await bench.list('/agents/sessions')).length, 1);
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
    bench.emulator.addFaults({ kind: 'stale_session', for_ms: 80 });
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
    bench.emulator.addFaults({ kind: 'list_lag', ms: 100, times: 0 });
    const id = await bench.startIdle({ metadata: { key: 'v' } });
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
    const { id, call } = await called(bench, { kind: 'cancel_lag', ms: 80 });
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
    bench.emulator.addFaults({ kind: 'late_registration', ms: 60 });
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

  out_of_order_start: async (bench) => {
    const { stream } = await play(bench, [], { kind: 'out_of_order_start' });
    assert.deepEqual(stream.types.slice(0, 4), [
      'turn.created',
      'in_progress',
      'turn.item.added',
      'turn.in_progress',
    ]);
    await stream.cancel();
  },

  keep_turn_error: async (bench) => {
    const fail: Step[] = [{ fail: { code: 'server_error', message: 'oops' } }];
    const { id, stream } = await play(bench, fail, { kind: 'keep_turn_error' });
    assert.deepEqual(
      [dig(stream.events.at(-1), 'session', 'error'), (await bench.session(id))['error']],
      ['oops', 'oops'],
    );
    await bench.post(id, message('again'));
    assert.equal((await bench.status(id, 'idle'))['error'], null);
    await stream.cancel();
  },

  unknown_item: async (bench) => {
    const { id, stream } = await play(bench, [{ say: 'x' }], {
      kind: 'unknown_item',
      item: { shade: 'green' },
    });
    const odd = (await bench.items(id)).find((item) => item['type'] === 'local_unknown_item');
    assert.equal(odd?.['shade'], 'green');
    assert.ok(stream.events.some((event) => dig(event, 'item', 'type') === 'local_unknown_item'));
    await stream.cancel();
  },

  null_id_item: async (bench) => {
    const { id, stream } = await play(bench, [], { kind: 'null_id_item' });
    assert.equal(dig(stream.events[1], 'item', 'id'), null);
    assert.equal((await bench.items(id)).at(-1)?.['id'], null);
    await stream.cancel();
  },

  empty_part: async (bench) => {
    const { stream } = await play(bench, [{ say: 'x' }], { kind: 'empty_part' });
    const added = stream.events.findLast((event) => event.type.endsWith('item.added'));
    assert.deepEqual(dig(added, 'item', 'content'), [{ type: 'output_text', text: '' }]);
    await stream.cancel();
  },

  cut_stream: async (bench) => {
    const first = await play(bench, [{ say: 'a b c' }], { kind: 'cut_stream', after_events: 3 });
    assert.equal(await first.stream.end(), 'eof');
    assert.equal(first.stream.events.length, 3);
    const none = await play(bench, [], { kind: 'cut_stream', after_events: 0 });
    assert.equal(await none.stream.end(), 'eof');
    assert.equal(none.stream.text, '');
    const typed = await play(bench, [{ say: 'a' }], {
      kind: 'cut_stream',
      before_type: 'agent.session.turn.completed',
    });
    assert.equal(await typed.stream.end(), 'eof');
    assert.equal(typed.stream.types.at(-1), 'turn.item.done');
    const reset = await play(bench, [{ say: 'a' }], {
      kind: 'cut_stream',
      mode: 'reset',
      after_type: 'agent.session.turn.in_progress',
    });
    assert.equal(await reset.stream.end(), 'broken');
    assert.equal(reset.stream.types.at(-1), 'turn.in_progress');
    const half = await play(bench, [{ say: 'a' }], {
      kind: 'cut_stream',
      mode: 'half_frame',
      after_events: 2,
    });
    assert.equal(await half.stream.end(), 'eof');
    assert.equal(half.stream.events.length, 2);
    assert.match(half.stream.text, /\n\nevent: agent\.session\.in_progress\ndata: \{[^\n]+$/);
    assert.equal(bench.emulator.counters().totals.streams_open, 0);
  },

  silent_stream: async (bench) => {
    const { id, stream } = await play(bench, [{ say: 'x' }], { kind: 'silent_stream' });
    const other = await bench.open(id);
    await bench.post(id, message('next'));
    await other.until('idle');
    assert.deepEqual([stream.response.status, stream.text, stream.ended], [200, '', 'open']);
    await Promise.all([stream.cancel(), other.cancel()]);
  },

  suppress_deltas: async (bench) => {
    const { stream } = await play(bench, [{ say: 'a b c' }], { kind: 'suppress_deltas' });
    await stream.until('idle');
    assert.ok(stream.types.includes('turn.output_text.done'));
    assert.ok(!stream.types.some((type) => type.endsWith('.delta')));
    await stream.cancel();
  },

  reemit_on_reconnect: async (bench) => {
    const { id } = await called(bench, { kind: 'reemit_on_reconnect' });
    const stream = await bench.open(id);
    await stream.until('turn.item.added', 2);
    assert.deepEqual(
      stream.events.map((event) => [dig(event, 'item', 'type'), dig(event, 'item', 'call_id')]),
      [
        ['message', undefined],
        ['function_call', 'c1'],
      ],
    );
    await stream.cancel();
  },

  initial_status_event: async (bench) => {
    const id = await bench.startIdle();
    bench.emulator.addFaults({ kind: 'initial_status_event' });
    const stream = bench.sessions.stream(id, { input: script([{ say: 'ok' }]) });
    const seen = await typesOf(stream);
    assert.deepEqual([seen[0], seen.at(-2), seen.at(-1)], ['idle', 'turn.completed', 'idle']);
  },

  odd_bytes: async (bench) => {
    for (const newline of ['lf', 'cr', 'crlf'] as const) {
      const id = await bench.startIdle();
      bench.emulator.addFaults({ kind: 'odd_bytes', newline, chunk_bytes: 3, space: false, noise: true });
      const events: AgentSessionEvent[] = [];
      const stream = await bench.sessions.events.stream(id);
      await bench.post(id, message(script([{ say: 'grün 😀 done' }])));
      for await (const event of stream) {
        events.push(event);
        if (event.type === 'agent.session.idle') break;
      }
      const done = events.find((event) => event.type === 'agent.session.turn.output_text.done');
      assert.equal(done?.text, 'grün 😀 done', newline);
      assert.equal(events.length, 14, newline);
    }
  },

  duplicate_events: async (bench) => {
    const match = { event_type: 'agent.session.turn.completed' };
    const same = await play(bench, [], { kind: 'duplicate_events', match });
    const ends = same.stream.events.filter((event) => event.type.endsWith('turn.completed'));
    assert.deepEqual([ends.length, ends[0]?.['event_id'] === ends[1]?.['event_id']], [2, true]);
    const other = await play(bench, [], { kind: 'duplicate_events', match, new_id: true });
    const twice = other.stream.events.filter((event) => event.type.endsWith('turn.completed'));
    assert.deepEqual([twice.length, twice[0]?.['event_id'] === twice[1]?.['event_id']], [2, false]);
    await Promise.all([same.stream.cancel(), other.stream.cancel()]);
  },

  drop_events: async (bench) => {
    const { stream } = await play(
      bench,
      [{ say: 'x' }],
      { kind: 'drop_events', match: { event_type: 'agent.session.turn.completed' } },
      { kind: 'drop_events', match: { event_type: '*.content_part.*' }, times: 0 },
    );
    await stream.until('idle');
    assert.ok(!stream.types.includes('turn.completed'));
    assert.ok(!stream.types.some((type) => type.includes('content_part')));
    await stream.cancel();
  },

  unknown_event: async (bench) => {
    const { stream } = await play(bench, [], {
      kind: 'unknown_event',
      match: { event_type: 'agent.session.turn.in_progress' },
      event: { type: 'agent.session.moon.risen', phase: 3 },
    });
    await stream.until('idle');
    const at = stream.types.indexOf('moon.risen');
    assert.equal(stream.types[at + 1], 'turn.in_progress');
    assert.equal(stream.events[at]?.['phase'], 3);
    await stream.cancel();
  },

  malformed_frame: async (bench) => {
    for (const mode of ['bad_json', 'no_data'] as const) {
      const id = await bench.startIdle();
      bench.emulator.addFaults({
        kind: 'malformed_frame',
        mode,
        match: { event_type: 'agent.session.turn.in_progress' },
      });
      const stream = await bench.open(id);
      await bench.post(id, message(script([])));
      const wanted =
        mode === 'no_data' ? 'event: agent.session.turn.in_progress\n\n' : '\ndata: {"type":\n\n';
      await waitFor(mode, async () => (stream.text.includes(wanted) ? true : undefined));
      await stream.cancel();
    }
  },

  patch_event: async (bench) => {
    const { stream } = await play(bench, [], {
      kind: 'patch_event',
      match: { event_type: 'agent.session.idle' },
      patch: { session: { status: 'napping' }, extra: true },
    });
    await stream.until('idle');
    const last = stream.events.at(-1);
    assert.deepEqual([dig(last, 'session', 'status'), last?.['extra']], ['napping', true]);
    await stream.cancel();
  },
};

describe('each fault', () => {
  for (const [kind, proof] of Object.entries(PROOFS)) {
    it(kind, async (t) => proof(await emulate(t)));
  }
});

describe('the switchboard', () => {
  it('counts strikes, lets the first ones pass, and keeps to one session', async (t) => {
    const bench = await emulate(t);
    const [one, two] = [await bench.startIdle(), await bench.startIdle()];
    bench.emulator.addFaults({ kind: 'status', status: 500, session_id: one, after: 1, times: 2 });
    const statuses: number[] = [];
    for (const id of [one, two, one, one, one]) {
      statuses.push((await bench.raw('GET', `/agents/sessions/${id}`)).status);
    }
    assert.deepEqual(statuses, [200, 200, 500, 500, 200]);
  });

  it('draws the same luck from the same seed', async (t) => {
    const rolls = async (seed: number): Promise<string> => {
      const bench = await emulate(t, {
        faults: [{ kind: 'status', status: 500, times: 0, probability: 0.5, seed }],
      });
      let line = '';
      for (let roll = 0; roll < 24; roll += 1) {
        line += (await bench.raw('GET', '/agents/sessions')).status === 500 ? 'x' : '.';
      }
      return line;
    };
    const [a, b, c] = [await rolls(7), await rolls(7), await rolls(8)];
    assert.equal(a, b);
    assert.notEqual(a, c);
    assert.match(a, /x/);
    assert.match(a, /\./);
  });

  it('is reached over the control path, and says what is wrong', async (t) => {
    const bench = await emulate(t);
    const added = await bench.control('POST', 'faults', [
      { kind: 'status', status: 418 },
      { kind: 'lost_reply', times: 0 },
    ]);
    assert.equal(added.status, 201);
    assert.equal((await bench.raw('GET', '/agents/sessions').catch(() => undefined))?.status, undefined);
    const { data } = (await bench.control('GET', 'faults')).body as {
      data: { id: string; struck: number; left: unknown }[];
    };
    assert.deepEqual(
      data.map((fault) => [fault.struck, fault.left]),
      [
        [1, 0],
        [1, null],
      ],
    );
    await bench.control('DELETE', `faults?id=${String(data[1]?.id)}`);
    assert.equal((await bench.raw('GET', '/agents/sessions')).status, 200);
    assert.deepEqual((await bench.control('DELETE', 'faults')).body, { removed: 1 });
    const bad: [unknown, RegExp][] = [
      [{ kind: 'earthquake' }, /unknown fault kind 'earthquake'; known: .*lost_reply/],
      [{ kind: 'delay' }, /fault 'delay' needs 'ms'/],
      [{ kind: 'delay', ms: 'long' }, /bad value for 'ms'/],
      [{ kind: 'delay', ms: 1, speed: 2 }, /no parameter 'speed'/],
      [{ kind: 'cut_stream', mode: 'gently' }, /bad value for 'mode'/],
      [{ kind: 'early_result', match: { path: '/x' } }, /cannot match on 'path'; it can on tool, call_id/],
      [{ kind: 'lost_reply', probability: 2 }, /bad value for 'probability'/],
      ['lost_reply', /must be a JSON object/],
    ];
    for (const [spec, words] of bad) {
      const refused = await bench.control('POST', 'faults', [{ kind: 'lost_reply' }, spec]);
      assert.equal(refused.status, 400);
      assert.match(String(errorOf(refused)['message']), words);
    }
    assert.deepEqual((await bench.control('GET', 'faults')).body, { data: [] });
  });
});
