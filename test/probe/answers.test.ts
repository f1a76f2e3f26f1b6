/** What the probe makes of servers and models that do not do what it hopes for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reportText } from '../../src/probe/index.ts';
import { always, finding, LIMIT, probed } from './bench.ts';

const left = { name: 'probe_left' };
const right = { name: 'probe_right' };

describe('a model', { ...LIMIT, concurrency: true }, () => {
  it('that calls nothing leaves the questions about calls open, and says so', async () => {
    const seen = await probed({ scripts: [{ name: 'mute', steps: [{ say: 'done' }] }] });
    for (const id of ['Q4', 'Q5', 'Q6', 'Q13', 'Q14', 'Q19', 'S2', 'S6', 'H4']) {
      const { verdict, reason, values } = finding(seen, id);
      assert.deepEqual([id, verdict, values], [id, 'not_asked', {}]);
      assert.match(reason ?? '', /did not call the tool/, id);
    }
    // What needs no call is answered all the same.
    for (const id of ['Q17', 'S8', 'S10', 'S13', 'S14', 'H1', 'H2']) {
      assert.notEqual(finding(seen, id).verdict, 'not_asked', id);
    }
    assert.deepEqual(seen.report.broken, []);
    assert.equal(seen.counters.totals.deletes, seen.counters.totals.creates);
  });

  it('that makes one call after the other answers nothing about parallel calls', async () => {
    const steps = [{ call: left }, { call: right }, { say: 'done' }];
    const seen = await probed({ scripts: [{ name: 'slow', steps }] });
    for (const id of ['Q5', 'S2']) {
      assert.deepEqual([id, finding(seen, id).values], [id, {}]);
      assert.match(finding(seen, id).reason ?? '', /two calls at once/);
    }
    assert.match(finding(seen, 'Q13').reason ?? '', /one call only/);
    const large = seen.counters.totals.results_refused;
    assert.ok(large < 6, 'nothing large was posted');
    for (const id of ['Q3', 'Q4', 'Q6', 'Q19', 'S6', 'H3', 'H5']) {
      assert.equal(finding(seen, id).verdict, 'holds', id);
    }
  });

  it('that goes on calling is answered until it ends', async () => {
    const steps = [{ call: [left, right] }, { call: left }, { call: right }, { say: 'done' }];
    const seen = await probed({ scripts: [{ name: 'eager', steps }] }, { only: ['S2', 'H5', 'S6'] });
    assert.deepEqual(
      seen.report.findings.map(({ verdict }) => verdict),
      ['holds', 'holds', 'holds'],
    );
  });
});

describe('a server', { ...LIMIT, concurrency: true }, () => {
  it('that begins a second turn for a repeated message breaks something', async () => {
    const faults = always({ kind: 'key_handling', same_body: 'apply' });
    const seen = await probed({ faults }, { only: ['Q1', 'S7'] });
    const { verdict, safe, holdfast } = finding(seen, 'Q1');
    assert.deepEqual([verdict, safe], ['differs', false]);
    assert.match(holdfast, /can be taken twice/);
    assert.deepEqual(seen.report.broken, ['Q1']);
    const text = reportText(seen.report);
    assert.match(text, /^Q1 +BREAKS +Is a message safe/m);
    assert.match(text, /^ +Harm: A message whose answer was lost can be taken twice/m);
    assert.match(text, /^Holdfast does not work well with this server: Q1\.$/m);
  });

  it('whose reads lag for longer than Holdfast waits breaks something', async () => {
    const faults = always({ kind: 'session_lag', ms: 2600 });
    const seen = await probed({ faults }, { only: ['Q4'], limits: { quietMs: 3500 } });
    assert.equal(finding(seen, 'Q4').values['session_after_result'], 'too_late');
    assert.deepEqual(seen.report.broken, ['Q4']);
  });

  it('that shows new sessions in no list in time breaks something', async () => {
    const faults = always({ kind: 'list_lag', ms: 4500 }, { kind: 'unfiltered_list_lag', ms: 4500 });
    const seen = await probed({ faults }, { only: ['H1'] });
    assert.deepEqual(finding(seen, 'H1').values, { by_metadata: 'too_late', newest: 'too_late' });
    assert.deepEqual(seen.report.broken, ['H1']);
  });

  it('that refuses results breaks everything', async () => {
    const refusal = { kind: 'status', status: 422, match: { input_type: 'tool_result' } } as const;
    const seen = await probed({ faults: always(refusal) }, { only: ['S1', 'S6'] });
    assert.deepEqual(finding(seen, 'S1').values, { create: '201', result: 'refused 422', events: '202' });
    assert.deepEqual(seen.report.broken, ['S1', 'S6']);
    assert.ok(seen.counters.totals.posts < 40, 'no hammering');
    assert.match(finding(seen, 'S6').reason ?? '', /a result was refused with 422/);
  });

  it('that writes its stream in odd bytes is read all the same', async () => {
    const only = ['Q2', 'Q15', 'Q18', 'S2', 'S11', 'S12'];
    for (const newline of ['cr', 'crlf'] as const) {
      const odd = { kind: 'odd_bytes', newline, chunk_bytes: 7, space: false, noise: true } as const;
      const seen = await probed({ faults: always(odd) }, { only });
      assert.deepEqual(
        seen.report.findings.map(({ id, verdict }) => [id, verdict]),
        only.map((id) => [id, 'holds']),
      );
    }
  });

  it('that tells nothing on its stream leaves what only a stream tells open', async () => {
    const faults = always({ kind: 'silent_stream' });
    const seen = await probed({ faults }, { only: ['Q2', 'Q4', 'Q18', 'S2', 'S11', 'S12', 'S6'] });
    assert.deepEqual(finding(seen, 'Q18').values, { first_event: 'missed' });
    assert.deepEqual(finding(seen, 'Q2').values, { missing: 'something' });
    assert.deepEqual(finding(seen, 'Q4').values, { session_after_result: 'fresh' });
    assert.match(finding(seen, 'Q4').reason ?? '', /the stream did not show that calls are pending/);
    assert.deepEqual(finding(seen, 'S2').values, { after_one_answer: 'requires_action' });
    assert.equal(finding(seen, 'S11').verdict, 'not_asked');
    assert.equal(finding(seen, 'S6').verdict, 'holds');
  });

  it('that repeats event ids is told from one that shows events anew', async () => {
    const duplicate = { kind: 'duplicate_events' } as const;
    const twice = await probed({ faults: always(duplicate) }, { only: ['Q15'] });
    assert.deepEqual(finding(twice, 'Q15').values, { event_ids: 'repeated' });
    const anew = await probed({ faults: always({ ...duplicate, new_id: true }) }, { only: ['Q15'] });
    assert.deepEqual(finding(anew, 'Q15').values, { event_ids: 'unique' });
  });
});

describe('a question that is asked alone', LIMIT, () => {
  it('makes no session where none is needed', async () => {
    const seen = await probed({}, { only: ['Q17', 'S14'] });
    assert.deepEqual(
      seen.report.findings.map(({ id }) => id),
      ['Q17', 'S14'],
    );
    assert.deepEqual([seen.counters.totals.creates, seen.report.sessions.created], [0, 0]);
  });

  it('gets the session of the first turn where it goes on in it', async () => {
    const seen = await probed({}, { only: ['Q13'] });
    assert.deepEqual(
      seen.report.findings.map(({ id, verdict }) => [id, verdict]),
      [['Q13', 'holds']],
    );
    assert.equal(seen.counters.totals.creates, 1);
  });
});
