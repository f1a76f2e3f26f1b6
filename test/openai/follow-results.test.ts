/** Results on their way, and sessions that are over (I3, I4; R23; scenario 26). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../support/until.ts';
import { Bench, refusal } from './bench.ts';
import { follow, resultOf, say } from './follower.ts';

const SESSION = { method: 'GET', path: '/agents/sessions/{session_id}' };
const TURN = { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' };

describe('results', { concurrency: true }, () => {
  it('are posted, and confirmed by a read after the post', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look', 'read');
    const [look = '', read = ''] = calls;
    const { output } = await follow(bench, {
      session_id: id,
      turn_id: turn,
      postings: [resultOf(look, 'sunny')],
      known: calls,
    });
    assert.deepEqual(output.posted, [{ kind: 'tool_result', key: look, outcome: 'accepted' }]);
    assert.deepEqual([output.reason, output.confirmed, output.required_again], ['blocked', [look], []]);
    const rest = await follow(bench, {
      session_id: id,
      turn_id: turn,
      postings: [resultOf(read, 'so')],
      known: calls,
    });
    assert.deepEqual(
      [rest.output.reason, rest.output.confirmed, rest.output.turn?.output_text],
      ['ended', [read], 'done'],
    );
  });

  it('that were accepted and not taken are required again, after two reads (I4)', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look');
    bench.emulator.addFaults({ kind: 'status', status: 202, match: { input_type: 'tool_result' } });
    const begun = Date.now();
    const { output } = await follow(bench, {
      session_id: id,
      turn_id: turn,
      postings: calls.map((key) => resultOf(key, 'x')),
      known: calls,
    });
    assert.deepEqual([output.reason, output.required_again, output.confirmed], ['blocked', calls, []]);
    assert.ok(Date.now() - begun >= 2900);
  });

  it('that were settled and are asked for all the same are required again, after two reads (I4)', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look');
    const begun = Date.now();
    const { output, plans } = await follow(bench, { session_id: id, turn_id: turn, settled: calls });
    assert.deepEqual([output.reason, output.required_again, output.calls], ['blocked', calls, []]);
    assert.deepEqual(plans, [], 'it is not a new call');
    assert.ok(Date.now() - begun >= 2900);
  });

  it('that were settled are not required again for one old read', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look', 'read');
    const [look = '', read = ''] = calls;
    const { required_actions } = await bench.api.getSession(id);
    await bench.answer(id, turn, 'call_look', 'sunny');
    bench.emulator.addFaults({ kind: 'patch_answer', patch: { required_actions }, match: SESSION });
    const { output } = await follow(bench, { session_id: id, turn_id: turn, known: [read], settled: [look] });
    assert.deepEqual([output.reason, output.required_again], ['blocked', []]);
    assert.equal(bench.emulator.faults()[0]?.struck, 1);
  });

  it('are not taken for confirmed by a snapshot that is older than the turn', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look');
    bench.emulator.addFaults({
      kind: 'patch_answer',
      patch: { status: 'in_progress', required_actions: [] },
      match: SESSION,
    });
    const { output } = await follow(bench, {
      session_id: id,
      turn_id: turn,
      known: calls,
      unconfirmed: calls,
    });
    assert.deepEqual([output.confirmed, output.required_again], [[], calls]);
  });

  it('are posted once each, in order, however often the stream breaks', async (t) => {
    const bench = await Bench.start(t, { firstTurnSteering: true });
    const call = ['look', 'read'].map((name) => ({ name }));
    const { id } = await bench.session([{ call }, { wait_for: 'message' }, { say: 'done' }]);
    const { required_actions } = await bench.status(id, 'requires_action');
    const calls = required_actions.map(({ turn_id, call_id }) => `${turn_id}/${call_id}`);
    bench.emulator.addFaults({ kind: 'cut_stream', after_events: 0, times: 3 });
    const postings = calls.map((key) => resultOf(key, 'x'));
    const following = follow(bench, { session_id: id, postings, known: calls });
    await until('four streams', () => bench.emulator.counters().totals.streams_opened === 4);
    await bench.say(id, 'go on');
    assert.equal((await following).output.reason, 'ended');
    assert.deepEqual(
      bench.posts(id, 'tool_result').map((post) => post.effect),
      ['applied', 'applied'],
    );
  });

  it('that are refused for what they are come back as such', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look');
    bench.emulator.addFaults({ kind: 'result_limit', bytes: 10 });
    const { output } = await follow(bench, {
      session_id: id,
      turn_id: turn,
      postings: calls.map((key) => resultOf(key, 'x'.repeat(50))),
      known: calls,
    });
    assert.deepEqual([output.reason, output.posted[0]?.outcome], ['blocked', 'refused']);
  });
});

describe('a session that is over', { concurrency: true }, () => {
  it('is gone when it was deleted, before or meanwhile (scenario 26 d)', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    const following = follow(bench, { session_id: id, after_turn_id: turn.id });
    await until('it listens', () => bench.emulator.counters().totals.streams_open === 1);
    await bench.api.deleteSession(id);
    for (const output of [(await following).output, (await follow(bench, { session_id: id })).output]) {
      assert.equal(output.reason, 'session_gone');
      assert.match(output.error?.message ?? '', /HTTP 404/);
    }
    const posting = await follow(bench, { session_id: id, postings: [say('hello')] });
    assert.deepEqual([posting.output.reason, posting.output.posted], ['session_gone', []]);
  });

  it('failed, with its error', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ wait_for: 'cancel' }]);
    const patch = { status: 'failed', error: `sandbox broke, key sk-abcdefgh ${'x'.repeat(100_000)}` };
    bench.emulator.addFaults({ kind: 'patch_answer', patch, match: SESSION });
    const { output } = await follow(bench, { session_id: id });
    assert.equal(output.reason, 'session_failed');
    assert.match(output.error?.message ?? '', /^sandbox broke, key \[redacted\] x+/);
    assert.ok(Buffer.byteLength(JSON.stringify(output)) < 10_000, 'I10');
  });

  it('that failed together with its turn reports the turn (I7)', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([
      { wait_ms: 50 },
      { fail_session: { code: 'sandbox_error', message: 'gone' } },
    ]);
    const { output } = await follow(bench, { session_id: id });
    assert.deepEqual(
      [output.reason, output.turn?.status, output.turn?.error?.code],
      ['ended', 'failed', 'sandbox_error'],
    );
  });

  it('reached its budget in the middle of a turn (R23)', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ wait_ms: 50 }, { budget: true }, { say: 'never' }], {
      spend_control: { limit: 5 },
    });
    assert.equal((await follow(bench, { session_id: id })).output.reason, 'budget_reached');
  });

  it('did not reach it for one stale read', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ wait_ms: 1000 }, { say: 'done' }]);
    bench.emulator.addFaults({ kind: 'patch_answer', patch: { status: 'budget_reached' }, match: SESSION });
    assert.equal((await follow(bench, { session_id: id })).output.reason, 'ended');
  });

  it('lost its environment', async (t) => {
    const bench = await Bench.start(t, { firstTurnSteering: true });
    for (const [status, error, expected] of [
      [
        'failed',
        { code: 'sandbox_error', message: 'no room, sk-abcdefgh', type: 'x' },
        { code: 'sandbox_error', message: 'no room, [redacted]' },
      ],
      ['expired', null, { code: 'expired', message: 'environment expired' }],
    ] as const) {
      const environment = { id: 'env', type: 'openai_hosted', status, error };
      const event = { type: `agent.session.environment.${status}`, environment };
      const { id } = await bench.session([{ wait_for: 'message' }, { event }, { wait_for: 'cancel' }]);
      const following = follow(bench, { session_id: id });
      await bench.listened(id);
      await bench.say(id, 'go on');
      const { output } = await following;
      assert.deepEqual([output.reason, output.error], ['environment_failed', expected]);
    }
  });
});

it('leaves as an ApiError what this attempt cannot mend', async (t) => {
  const bench = await Bench.start(t);
  const { id } = await bench.session([{ wait_for: 'cancel' }]);
  for (const [status, kind] of [
    [503, 'unavailable'],
    [429, 'unavailable'],
    [401, 'unauthorized'],
  ] as const) {
    for (const path of [SESSION.path, TURN.path.replace('/{turn_id}', ''), '*/events']) {
      bench.emulator.clearFaults();
      bench.emulator.addFaults({ kind: 'status', status, times: 0, match: { method: 'GET', path } });
      assert.equal((await refusal(() => follow(bench, { session_id: id }))).kind, kind);
    }
  }
  await until('no stream is left open', () => bench.emulator.counters().totals.streams_open === 0);
  bench.emulator.clearFaults();
});
