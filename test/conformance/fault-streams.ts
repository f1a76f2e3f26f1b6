/** What each fault on turns, streams and deliveries has to do. */
import assert from 'node:assert/strict';
import type { AgentSessionEvent } from 'openai/resources/beta/agents/agents';
import type { Step } from '../../src/emulator/index.ts';
import { called, play, type Proof } from './fault-bench.ts';
import { dig, message, script, typesOf, waitFor } from './support.ts';

export const streamProofs = {
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
} satisfies Record<string, Proof>;
