/** Messages that show no effect, are refused or wait; and followers that are stopped (R19; scenarios 37, 41). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../src/emulator/index.ts';
import { until } from '../support/until.ts';
import { Bench } from './bench.ts';
import { follow, say } from './follower.ts';

const SESSION = { method: 'GET', path: '/agents/sessions/{session_id}' };

describe('a message', { concurrency: true }, () => {
  it('that was consumed without effect is posted once more, under a second key (agents-api.md 5.5)', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    bench.emulator.addFaults({ kind: 'lost_message' });
    const { output } = await follow(bench, {
      session_id: id,
      after_turn_id: turn.id,
      postings: [say('hello')],
    });
    assert.deepEqual([output.reason, output.landed], ['ended', ['hf_m1']]);
    assert.deepEqual(
      bench.posts(id, 'message').map((post) => post.idempotency_key),
      ['hf_m1', 'hf_m1-2'],
    );
    assert.equal(bench.log.with(/had no effect/).length, 1);
  });

  it('is not posted a third time, and a refusal of the second harms nothing', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    bench.emulator.addFaults({ kind: 'lost_message' });
    const sent = say('hello');
    await bench.api.postEvent(id, { type: 'agent.session.input.message', input: sent.input }, sent.key);
    bench.emulator.addFaults({ kind: 'status', status: 409, times: 0, match: { input_type: 'message' } });
    const { output } = await follow(
      bench,
      { session_id: id, after_turn_id: turn.id, messages: [sent] },
      { maxMs: 9000 },
    );
    assert.equal(output.reason, 'handover');
    assert.deepEqual(
      bench.posts(id, 'message').map((post) => post.idempotency_key),
      ['hf_m1', 'hf_m1-2'],
    );
  });

  it('that was accepted earlier is seen to land, and never sent again', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    const sent = say([{ wait_ms: 50 }, { say: 'done' }]);
    await bench.api.postEvent(id, { type: 'agent.session.input.message', input: sent.input }, sent.key);
    const { output } = await follow(bench, { session_id: id, after_turn_id: turn.id, messages: [sent] });
    assert.deepEqual([output.landed, bench.posts(id, 'message').length], [['hf_m1'], 1]);
  });

  it('that was refused while no turn runs is given back to be posted again', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    bench.emulator.addFaults({ kind: 'status', status: 409, match: { input_type: 'message' } });
    const { output } = await follow(bench, {
      session_id: id,
      after_turn_id: turn.id,
      postings: [say('hello')],
    });
    assert.deepEqual(
      [output.reason, output.posted[0]?.outcome, output.waiting],
      ['blocked', 'still_required', false],
    );
  });

  it('that the running turn refuses waits for its end (agents-api.md 12)', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ wait_for: 'cancel' }]);
    const following = follow(bench, { session_id: id, postings: [say('steer')] });
    await until('the refusal', () => bench.posts(id, 'message').length > 0);
    await bench.cancel(id);
    const { output } = await following;
    assert.deepEqual(
      [output.reason, output.posted[0]?.outcome, output.landed],
      ['ended', 'still_required', []],
    );
  });
});

describe('being stopped', { concurrency: true }, () => {
  const working: Step[] = [{ wait_for: 'cancel' }];

  it('hands over at the shutdown of the worker, with what it did', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    const handover = new AbortController();
    const following = follow(
      bench,
      { session_id: id, after_turn_id: turn.id, postings: [say(working)] },
      { handover: handover.signal },
    );
    await until('the turn is seen', async () => (await bench.api.newestTurns(id, 1))[0]?.id !== turn.id);
    await until('it listens', () => bench.posts(id, 'message').length === 1);
    handover.abort();
    const { output } = await following;
    assert.deepEqual([output.reason, output.posted.map((post) => post.outcome)], ['handover', ['accepted']]);
    await until('its stream is closed', () => bench.emulator.counters().totals.streams_open === 0);
  });

  it('hands over at once when the worker shuts down already, and posts nothing', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle();
    const { output } = await follow(
      bench,
      { session_id: id, postings: [say('hello')] },
      { handover: AbortSignal.abort() },
    );
    assert.deepEqual([output.reason, output.posted, bench.posts(id, 'message')], ['handover', [], []]);
  });

  it('hands over after its time', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session(working);
    const { output } = await follow(bench, { session_id: id }, { maxMs: 150 });
    assert.deepEqual([output.reason, output.turn], ['handover', null]);
    assert.notEqual(output.turn_id, null);
  });

  it('leaves with the reason of its cancellation, wherever it is (scenario 37)', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session(working);
    const reason = new Error('cancelled');
    bench.emulator.addFaults({ kind: 'delay', ms: 300, times: 0, match: SESSION });
    let reads = 0;
    let struck = 0;
    const places: [string, () => boolean][] = [
      ['before its stream', () => true],
      ['its stream is open', () => bench.emulator.counters().totals.streams_open === 1],
      ['it reads', () => (bench.emulator.faults()[0]?.struck ?? 0) > struck],
      ['it has read', () => reads > 0],
    ];
    for (const [place, isThere] of places) {
      await until('no stream is open', () => bench.emulator.counters().totals.streams_open === 0);
      reads = 0;
      struck = bench.emulator.faults()[0]?.struck ?? 0;
      const abort = new AbortController();
      const options = { signal: abort.signal, view: () => reads++ };
      const ended = assert.rejects(
        follow(bench, { session_id: id }, options),
        (error) => error === reason,
        place,
      );
      await until(place, isThere);
      abort.abort(reason);
      await ended;
    }
    await until('no stream is left open', () => bench.emulator.counters().totals.streams_open === 0);
  });
});
