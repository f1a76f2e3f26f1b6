/** Following a turn to the calls that it waits for: `required_actions` decides (I5, I9; R14–R16). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlannedCall, RequiredCall } from '../../src/protocol/calls.ts';
import { until } from '../support/until.ts';
import { Bench } from './bench.ts';
import { follow, keys, planned, type Followed } from './follower.ts';

const SESSION = { method: 'GET', path: '/agents/sessions/{session_id}' };
const TURN = { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' };

/** A follower that has read a session and hears of a call at the next message. */
async function listening(
  t: Parameters<typeof Bench.start>[0],
): Promise<{ bench: Bench; id: string; following: Promise<Followed> }> {
  const bench = await Bench.start(t, { firstTurnSteering: true });
  const { id } = await bench.session([{ wait_for: 'message' }, { call: { name: 'look' } }]);
  let reads = 0;
  const following = follow(bench, { session_id: id }, { view: () => reads++ });
  await until('it has read', () => reads > 0);
  return { bench, id, following };
}

describe('calls', { concurrency: true }, () => {
  it('are handed on together, planned once each, and the turn waits', async (t) => {
    const bench = await Bench.start(t);
    const call = ['look', 'read'].map((name) => ({ name, call_id: `call_${name}` }));
    const { id } = await bench.session([{ wait_ms: 30 }, { call }, { say: 'done' }]);
    const { output, plans } = await follow(bench, { session_id: id });
    assert.equal(output.reason, 'calls');
    assert.deepEqual(
      output.calls.map(({ name }) => name),
      ['look', 'read'],
    );
    assert.ok(output.waiting);
    assert.deepEqual(plans, keys(output));
    await until('nothing is held (I9)', () => bench.emulator.counters().totals.streams_open === 0);
  });

  it('that appear one by one are gathered, while the turn is not said to wait', async (t) => {
    const bench = await Bench.start(t);
    bench.emulator.addFaults({
      kind: 'patch_answer',
      patch: { status: 'in_progress' },
      match: TURN,
      times: 0,
    });
    const call = ['a', 'b', 'c'].map((name) => ({ name, call_id: `call_${name}` }));
    const { id } = await bench.session([
      { wait_ms: 30 },
      { call, appear: 'one_by_one', gap_ms: 400 },
      { say: 'done' },
    ]);
    const [turn] = await bench.api.newestTurns(id, 1);
    const { output } = await follow(bench, { session_id: id, turn_id: turn?.id ?? null });
    assert.deepEqual([output.reason, output.calls.map(({ name }) => name)], ['calls', ['a', 'b', 'c']]);
  });

  it('are handed on at once when the turn waits for them; a late one is found later', async (t) => {
    const bench = await Bench.start(t);
    const call = ['a', 'b'].map((name) => ({ name, call_id: `call_${name}` }));
    const { id } = await bench.session([
      { wait_ms: 30 },
      { call, appear: 'one_by_one', gap_ms: 1500 },
      { say: 'done' },
    ]);
    const first = await follow(bench, { session_id: id });
    await until(
      'the second call',
      async () => (await bench.api.getSession(id)).required_actions.length === 2,
    );
    const second = await follow(bench, { session_id: id, known: keys(first.output) });
    assert.deepEqual(
      [...first.output.calls, ...second.output.calls].map(({ name }) => name),
      ['a', 'b'],
    );
  });

  it('that became pending while nobody listened are found without any event (R15, scenario 28)', async (t) => {
    const bench = await Bench.start(t);
    const { id, calls } = await bench.calling('look');
    const { output, views } = await follow(bench, { session_id: id });
    assert.deepEqual([output.reason, keys(output), views.at(-1)?.events], ['calls', calls, 0]);
  });

  it('are found when the event that tells of them is lost', async (t) => {
    const { bench, id, following } = await listening(t);
    bench.emulator.addFaults({
      kind: 'drop_events',
      match: { event_type: 'agent.session.requires_action' },
    });
    await bench.say(id, 'call it');
    assert.equal((await following).output.reason, 'calls');
  });

  it('are found behind a stale snapshot after their event (R14)', async (t) => {
    const { bench, id, following } = await listening(t);
    bench.emulator.addFaults({
      kind: 'patch_answer',
      patch: { status: 'in_progress', required_actions: [] },
      match: SESSION,
      times: 3,
    });
    await bench.say(id, 'call it');
    assert.equal((await following).output.reason, 'calls');
  });

  it('are found behind a stale snapshot without any event', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.calling('look');
    bench.emulator.addFaults({
      kind: 'patch_answer',
      patch: { status: 'in_progress', required_actions: [] },
      match: SESSION,
    });
    // Not only after a silence, which would be too late here.
    const { output } = await follow(bench, { session_id: id }, { silenceMs: 60_000 });
    assert.equal(output.reason, 'calls');
  });

  it('that are in the history and not required are left alone (I5, R16)', async (t) => {
    const bench = await Bench.start(t);
    const item = {
      type: 'function_call',
      call_id: 'old',
      name: 'look',
      arguments: {},
      status: 'in_progress',
    };
    const { id } = await bench.session([{ wait_ms: 30 }, { item }, { wait_ms: 700 }, { say: 'done' }]);
    const { output, plans } = await follow(bench, { session_id: id });
    assert.deepEqual([output.reason, output.turn?.output_text, plans], ['ended', 'done', []]);
  });

  it('of a turn that was cancelled meanwhile are not handed on', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.calling('look');
    // The turn is not said to wait, so the follower gathers; before it looks again, the turn is cancelled.
    bench.emulator.addFaults({ kind: 'patch_answer', patch: { status: 'in_progress' }, match: TURN });
    const cancelling: Promise<void>[] = [];
    const plan: typeof planned = (call) => {
      cancelling.push(bench.cancel(id));
      return planned(call);
    };
    const { output } = await follow(bench, { session_id: id, turn_id: turn }, { plan });
    assert.deepEqual([output.reason, output.turn?.status, cancelling.length], ['ended', 'cancelled', 1]);
    assert.deepEqual(output.calls, []);
    await Promise.all(cancelling);
  });

  it("of a turn that the session's routes do not know are handed on, not the session given up (agents-api.md 9)", async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    const call = {
      type: 'function_call',
      turn_id: 'turn_child',
      call_id: 'c',
      name: 'look',
      arguments: {},
    };
    const patch = { status: 'requires_action', required_actions: [call] };
    bench.emulator.addFaults({ kind: 'patch_answer', patch, match: SESSION, times: 0 });
    const { output } = await follow(bench, { session_id: id, after_turn_id: turn.id });
    assert.deepEqual([output.reason, keys(output)], ['calls', ['turn_child/c']]);
  });
});

describe('many calls at once', { concurrency: true }, () => {
  const LIMIT = 512 * 1024;

  /** The plan of a call, as long as this in history. */
  function sized(call: RequiredCall, length: number): PlannedCall {
    const plan = { ...planned(call), arguments: { text: '' } };
    const rest = length - JSON.stringify(plan).length;
    return { ...plan, arguments: { text: 'x'.repeat(rest) } };
  }

  for (const [what, over, first] of [
    ['as much as one follower may give, are handed on together', 0, 4],
    ['more than that, are handed on in two parts', 1, 3],
  ] as const) {
    it(`that are ${what} (I10)`, async (t) => {
      const bench = await Bench.start(t);
      const { id, calls } = await bench.calling('a', 'b', 'c', 'd');
      const plan = (call: RequiredCall): PlannedCall =>
        sized(call, LIMIT / 4 + (call.name === 'd' ? over : 0));
      const { output } = await follow(bench, { session_id: id }, { plan });
      assert.deepEqual([output.reason, keys(output)], ['calls', calls.slice(0, first)]);
      assert.equal(output.waiting, first === 4, 'who has not heard of all calls has something to learn');
      const rest = await follow(bench, { session_id: id, known: keys(output) }, { plan });
      const reason = first === 4 ? 'blocked' : 'calls';
      assert.deepEqual([rest.output.reason, keys(rest.output)], [reason, calls.slice(first)]);
    });
  }

  it('are handed on one by one when each is more than that: none is left for ever', async (t) => {
    const bench = await Bench.start(t);
    const { id, calls } = await bench.calling('a', 'b');
    const plan = (call: RequiredCall): PlannedCall => sized(call, LIMIT + 1);
    const first = keys((await follow(bench, { session_id: id }, { plan })).output);
    const second = keys((await follow(bench, { session_id: id, known: first }, { plan })).output);
    assert.deepEqual([first, second], [calls.slice(0, 1), calls.slice(1)]);
  });
});

describe('something to wait for', { concurrency: true }, () => {
  it('is known calls: nothing is held for them (I9)', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look', 'read');
    const { output, plans } = await follow(bench, { session_id: id, turn_id: turn, known: calls });
    assert.deepEqual([output.reason, output.waiting, output.calls, plans], ['blocked', true, [], []]);
  });

  it('is a person: the request is named (scenario 16)', async (t) => {
    const bench = await Bench.start(t);
    const ask = {
      type: 'mcp_tool_call',
      server_label: 'mail',
      name: 'send',
      arguments: null,
      message: 'Send?',
    } as const;
    const { id } = await bench.session([{ ask: ask as never, request_id: 'req_1' }, { say: 'sent' }]);
    const { output } = await follow(bench, { session_id: id });
    assert.deepEqual(
      [output.reason, output.others],
      ['blocked', [{ type: 'mcp_approval_request', id: 'req_1' }]],
    );
  });

  it('is not there while the service goes on by itself', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn, calls } = await bench.calling('look');
    await bench.answer(id, turn, 'call_look', 'sunny');
    const { output } = await follow(bench, {
      session_id: id,
      turn_id: turn,
      known: calls,
      unconfirmed: calls,
    });
    assert.deepEqual([output.reason, output.confirmed], ['ended', calls]);
  });
});
