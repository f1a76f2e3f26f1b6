/** Following over streams that break, fall silent, repeat, invent and lie (I6, I12; scenarios 24, 26, 32, 34, 37, 41). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import type { AgentsApi } from '../../src/openai/agents-api.ts';
import type { SessionEvent } from '../../src/protocol/wire.ts';
import { until } from '../support/until.ts';
import { Bench, refusal } from './bench.ts';
import { follow, resultOf, say, type Followed } from './follower.ts';

const SESSION = { method: 'GET', path: '/agents/sessions/{session_id}' };
const TURN = { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' };
const ANSWER = 'grün 😀 done';
const STEPS: Step[] = [{ wait_ms: 20 }, { say: 'one two' }, { wait_ms: 20 }, { say: ANSWER }];

/** A message on an idle session, followed to its end under faults. */
async function answered(
  t: Parameters<typeof Bench.start>[0],
  faults: FaultSpec[],
  options: Parameters<typeof follow>[2] = {},
): Promise<Followed & { bench: Bench; id: string }> {
  const bench = await Bench.start(t);
  const { id, turn } = await bench.idle();
  bench.emulator.addFaults(...faults);
  const input = { session_id: id, after_turn_id: turn.id, postings: [say(STEPS)] };
  const followed = await follow(bench, input, options);
  assert.equal(bench.posts(id, 'message').length, 1, 'no message is sent again');
  return { ...followed, bench, id };
}

describe('a stream that is cut', { concurrency: 4 }, () => {
  it('after any number of events gives the same answer', async (t) => {
    const bench = await Bench.start(t);
    const cut = async (after_events: number, mode: 'eof' | 'reset' | 'half_frame'): Promise<void> => {
      const { id, turn } = await bench.idle();
      bench.emulator.addFaults({ kind: 'cut_stream', session_id: id, after_events, mode });
      const input = { session_id: id, after_turn_id: turn.id, postings: [say(STEPS)] };
      const { output } = await follow(bench, input);
      const { reason, turn: report, landed } = output;
      assert.deepEqual(
        [reason, report?.output_text, landed],
        ['ended', ANSWER, ['hf_m1']],
        `${mode} ${after_events}`,
      );
      assert.equal(bench.posts(id, 'message').length, 1, 'no message is sent again');
    };
    for (const mode of ['eof', 'reset', 'half_frame'] as const)
      await Promise.all(Array.from({ length: 19 }, async (_, after_events) => cut(after_events, mode)));
  });

  it('again and again is opened again, later and later, and decides nothing', async (t) => {
    const bench = await Bench.start(t, { firstTurnSteering: true });
    const { id } = await bench.session([{ wait_for: 'message' }, { say: ANSWER }]);
    bench.emulator.addFaults({ kind: 'cut_stream', after_events: 0, times: 0 });
    const began = Date.now();
    const following = follow(bench, { session_id: id });
    await until('six streams', () => bench.emulator.counters().totals.streams_opened >= 6);
    // The pauses between them: 0.1, 0.25, 0.5, 1 and 2 seconds.
    assert.ok(Date.now() - began >= 3850, `six streams in ${Date.now() - began} ms`);
    await bench.say(id, 'go on');
    assert.equal((await following).output.turn?.output_text, ANSWER);
    assert.ok(bench.log.with(/stream ended, opening it again/).length >= 5);
  });

  it('between a call and its result loses neither', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    bench.emulator.addFaults({ kind: 'cut_stream', before_type: 'agent.session.requires_action' });
    const steps: Step[] = [{ call: { name: 'look' } }, { say: '{{look}}' }];
    const first = await follow(bench, { session_id: id, after_turn_id: turn.id, postings: [say(steps)] });
    assert.equal(first.output.reason, 'calls');
    const known = first.output.calls.map((call) => `${call.turn_id}/${call.call_id}`);
    bench.emulator.addFaults(
      { kind: 'cut_stream', after_events: 1 },
      { kind: 'reemit_on_reconnect', times: 0 },
    );
    const postings = known.map((key) => resultOf(key, 'sunny'));
    const second = await follow(bench, { session_id: id, turn_id: first.output.turn_id, postings, known });
    assert.deepEqual(
      [second.output.turn?.output_text, second.plans, second.output.confirmed],
      ['sunny', [], known],
    );
    assert.equal(bench.emulator.counters().totals.results_accepted, 1);
  });

  it('at malformed JSON is opened again (scenario 34)', async (t) => {
    for (const mode of ['bad_json', 'no_data'] as const) {
      const { output } = await answered(t, [
        { kind: 'malformed_frame', mode, match: { event_type: '*.turn.completed' } },
      ]);
      assert.equal(output.turn?.output_text, ANSWER);
    }
  });
});

describe('a stream that is silent (scenario 24)', { concurrency: true }, () => {
  it('is replaced within its limit, and the end is found', async (t) => {
    const { output, views } = await answered(t, [{ kind: 'silent_stream' }], { silenceMs: 300 });
    assert.equal(output.turn?.output_text, ANSWER);
    assert.notEqual(views.at(-1)?.reconnects, 0);
  });

  it('is replaced again and again without ever longer pauses', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ wait_for: 'cancel' }]);
    bench.emulator.addFaults({ kind: 'silent_stream', times: 0 });
    const following = follow(bench, { session_id: id }, { silenceMs: 50, maxMs: 60_000 });
    // With the pauses after failures this would take half a minute.
    await until('a dozen streams', () => bench.emulator.counters().totals.streams_opened >= 12, 25_000);
    await bench.cancel(id);
    assert.equal((await following).output.turn?.status, 'cancelled');
  });
});

describe('a stream that is strange', { concurrency: true }, () => {
  const harmless: [string, FaultSpec[]][] = [
    ['without deltas (R1)', [{ kind: 'suppress_deltas' }]],
    ['with every event twice, by id and by content (R8, R9)', [{ kind: 'duplicate_events', times: 0 }]],
    ['with every event twice, under new ids (R9)', [{ kind: 'duplicate_events', new_id: true, times: 0 }]],
    ['out of order at its start', [{ kind: 'out_of_order_start' }]],
    ['that drops its first events', [{ kind: 'drop_events', times: 6 }]],
    ['with an unknown item', [{ kind: 'unknown_item', item: { shade: 'green', status: 'blooming' } }]],
    ['with a null id (R7)', [{ kind: 'null_id_item' }]],
    ['with an empty part', [{ kind: 'empty_part' }]],
    [
      'in odd bytes (scenario 35)',
      [{ kind: 'odd_bytes', chunk_bytes: 3, newline: 'cr', space: false, noise: true }],
    ],
    [
      'of another server (agents-api.md 12)',
      [{ kind: 'no_content_status', times: 0, match: { method: 'POST' } }],
    ],
    ['that begins with an idle event (scenario 32)', [{ kind: 'initial_status_event' }]],
    ['with slow reads', [{ kind: 'delay', ms: 60, times: 0, match: { method: 'GET' } }]],
  ];
  for (const [name, faults] of harmless) {
    it(`${name} gives the same answer`, async (t) => {
      const { output } = await answered(t, faults);
      assert.deepEqual(
        [output.reason, output.turn?.output_text, output.landed],
        ['ended', ANSWER, ['hf_m1']],
      );
    });
  }

  it('whose message lost its answer gives the same answer at the next attempt (R19)', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    bench.emulator.addFaults({ kind: 'lost_reply', match: { input_type: 'message' } });
    const input = { session_id: id, after_turn_id: turn.id, postings: [say(STEPS)] };
    assert.equal((await refusal(() => follow(bench, input))).kind, 'unavailable');
    const { output } = await follow(bench, input);
    assert.deepEqual([output.turn?.output_text, output.landed], [ANSWER, ['hf_m1']]);
    assert.deepEqual(
      bench.posts(id, 'message').map(({ effect }) => effect),
      ['applied', 'repeat'],
    );
  });

  it('that says idle in the middle of the turn ends nothing (scenario 32)', async (t) => {
    const bench = await Bench.start(t);
    const session = { id: 's', status: 'idle', required_actions: [], created_at: 1 };
    const idle: Step = { event: { type: 'agent.session.idle', session } };
    const { id } = await bench.session([
      { wait_ms: 30 },
      idle,
      { wait_ms: 600 },
      idle,
      { wait_ms: 30 },
      { say: 'done' },
    ]);
    bench.emulator.addFaults({ kind: 'patch_answer', patch: { status: 'idle' }, match: SESSION, times: 3 });
    const { output } = await follow(bench, { session_id: id });
    assert.deepEqual([output.reason, output.turn?.output_text], ['ended', 'done']);
  });

  it('with an error event is followed on (F5)', async (t) => {
    const bench = await Bench.start(t);
    const error = { type: 'x', code: 'server_error', message: 'a hiccup', param: null };
    const { id } = await bench.session([
      { wait_ms: 30 },
      { event: { type: 'error', error } },
      { wait_ms: 50 },
      { say: 'done' },
    ]);
    assert.equal((await follow(bench, { session_id: id })).output.turn?.output_text, 'done');
  });

  it('with unknown events, items and states is followed on, each noted once (I12)', async (t) => {
    const bench = await Bench.start(t, { firstTurnSteering: true });
    const odd: Step[] = [
      { event: { type: 'agent.session.moon.risen', phase: 3 } },
      { event: { type: 'agent.session.moon.risen', phase: 4 } },
      { event: { type: 'comet' } },
      { item: { type: 'hologram', status: 'blooming' } },
    ];
    const { id } = await bench.session([{ wait_for: 'message' }, ...odd, { wait_for: 'cancel' }]);
    const [turn] = await bench.api.newestTurns(id, 1);
    const action = { type: 'retina_scan', request_id: 'r' };
    bench.emulator.addFaults(
      {
        kind: 'patch_answer',
        patch: { status: 'dreaming', required_actions: [action] },
        match: SESSION,
        times: 2,
      },
      { kind: 'patch_answer', patch: { status: 'hibernating' }, match: TURN, times: 2 },
    );
    const following = follow(bench, { session_id: id, turn_id: turn?.id ?? null });
    await bench.listened(id);
    await bench.say(id, 'go on');
    await until('everything is noted', () => bench.log.with(/unknown/).length >= 6);
    await bench.cancel(id);
    assert.equal((await following).output.turn?.status, 'cancelled');
    const noted = bench.log
      .with(/unknown/)
      .map(({ fields }) => `${String(fields['kind'])} ${String(fields['value'])}`);
    assert.deepEqual(noted.toSorted(), [
      'action retina_scan',
      'event agent.session.moon.risen',
      'event comet',
      'item hologram',
      'session_status dreaming',
      'turn_status hibernating',
    ]);
  });

  it('that never pauses does not keep the follower from its time limit', async () => {
    // Events without end, one in each turn of the event loop: no timer would ever win against them.
    async function* dense(signal: AbortSignal): AsyncGenerator<SessionEvent> {
      for (let n = 0; !signal.aborted; n++) {
        await new Promise(setImmediate);
        yield { type: 'agent.session.turn.output_text.delta', event_id: `e${n}`, item_id: 'm', delta: 'x' };
      }
    }
    let reads = 0;
    const session = { id: 's', status: 'idle', required_actions: [], created_at: 1 };
    const turn = { id: 't', status: 'in_progress', subagent_id: null, session_id: 's', created_at: 1 };
    const api = {
      openStream: async (_: string, signal: AbortSignal) => Promise.resolve(dense(signal)),
      getSession: async () => Promise.resolve({ ...session, reads: reads++ }),
      findTurn: async () => Promise.resolve(turn),
    } as unknown as AgentsApi;
    const bench = { api, log: { info: () => undefined, warn: () => undefined } } as unknown as Bench;
    const { output } = await follow(bench, { session_id: 's', turn_id: 't' }, { maxMs: 1000 });
    assert.equal(output.reason, 'handover');
    assert.ok(reads >= 2, 'idle beside a running turn is read again (R14)');
  });
});
