/** What the probe makes of servers and models that do not do what it hopes for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judge } from '../../src/probe/catalogue.ts';
import { QUESTIONS, reportText } from '../../src/probe/index.ts';
import { always, finding, LIMIT, probed } from './bench.ts';

const left = { name: 'probe_left' };
const right = { name: 'probe_right' };

describe('a model', { ...LIMIT, concurrency: true }, () => {
  it('that writes only text leaves the questions about calls open, and says so', async () => {
    const seen = await probed({ scripts: [{ name: 'mute', steps: [{ say: 'done' }] }] });
    for (const id of ['Q3', 'Q5', 'Q6', 'Q13', 'Q14', 'Q19', 'S2', 'S3', 'S6', 'H4']) {
      const { verdict, reason, values } = finding(seen, id);
      assert.deepEqual([id, verdict, values], [id, 'not_asked', {}]);
      assert.match(reason ?? '', /did not call the tool/, id);
    }
    // What needs no call is answered all the same, and what of it is missing is said.
    for (const id of ['Q2', 'Q15', 'Q18', 'S7', 'S8', 'S10', 'S11', 'S12', 'S13', 'S14', 'H1', 'H5']) {
      const { verdict, reason } = finding(seen, id);
      assert.deepEqual([id, verdict, reason], [id, 'holds', null]);
    }
    const parts = {
      Q1: { same_message: 'no_effect' },
      Q4: { turn_after_end: 'fresh', session_after_end: 'fresh' },
      S1: { create: '201', events: '202' },
      H2: { read_after: '404', stream: 'ends', again: 'taken' },
      H3: { idle: 'taken' },
    };
    for (const [id, values] of Object.entries(parts)) {
      const seenOf = finding(seen, id);
      assert.deepEqual([id, seenOf.verdict, seenOf.values], [id, 'holds', values]);
      assert.match(seenOf.reason ?? '', /the model did not call the tool|the turn had ended before/, id);
    }
    assert.match(reportText(seen.report), /^ +Not asked in part: the model did not call the tool\.$/m);
    assert.deepEqual(seen.report.broken, []);
    assert.equal(seen.counters.totals.deletes, seen.counters.totals.creates);
  });

  it('whose turns fail is not blamed for calling nothing', async () => {
    const steps = [{ fail: { code: 'server_overloaded', message: 'no' } }];
    const seen = await probed({ scripts: [{ name: 'failing', steps }] }, { only: ['H4', 'Q14', 'H5'] });
    for (const id of ['H4', 'Q14']) {
      assert.equal(finding(seen, id).reason, 'the turn ended as failed (server_overloaded) without a call');
    }
    assert.equal(finding(seen, 'H5').verdict, 'holds');
  });

  it('that calls without end is not answered without end, which would cost without end', async () => {
    const steps = Array.from({ length: 200 }, () => ({ call: left }));
    const seen = await probed({ scripts: [{ name: 'endless', steps }] });
    const { results_accepted: results, cancels, posts } = seen.counters.totals;
    assert.ok(results <= 24, `${results} results`);
    assert.ok(cancels >= 3, 'each turn that goes on is cancelled');
    assert.ok(posts < 60, `${posts} posts`);
    assert.match(finding(seen, 'Q2').reason ?? '', /the model went on calling its tools/);
    assert.deepEqual(seen.report.sessions.left, []);
  });

  it('that does not end its turn, not even when cancelled, is not said to use nothing', async () => {
    const seen = await probed(
      {
        scripts: [{ name: 'stuck', steps: [{ call: [left, right] }, { wait_ms: 600_000 }] }],
        faults: always({ kind: 'cancel_lag', ms: 600_000 }),
      },
      { only: ['H5', 'Q4'], limits: { modelMs: 700, clearMs: 300 } },
    );
    assert.ok(seen.counters.totals.cancels >= 1, 'it was cancelled');
    const { verdict, reason } = finding(seen, 'H5');
    assert.equal(verdict, 'not_asked');
    assert.match(reason ?? '', /the turn did not end/);
    assert.match(finding(seen, 'Q4').reason ?? '', /the turn did not end in time/);
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
    const { verdict, safe, holdfast, values } = finding(seen, 'Q1');
    assert.deepEqual([verdict, safe], ['differs', false]);
    assert.deepEqual(values, { same_result: 'taken', same_message: 'second_turn' });
    assert.match(holdfast, /can be taken twice/);
    assert.deepEqual(seen.report.broken, ['Q1']);
    const text = reportText(seen.report);
    assert.match(text, /^Q1 +BREAKS +Is an input safe/m);
    assert.match(text, /^ +Harm: An input whose answer was lost can be taken twice/m);
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

  it('that refuses a result which comes twice takes it under its key', async () => {
    const faults = always({ kind: 'refuse_when_settled' });
    const seen = await probed({ faults }, { only: ['Q1', 'S6'] });
    assert.equal(finding(seen, 'Q1').values['same_result'], 'taken');
    assert.equal(finding(seen, 'S6').values['repeat'], 'refused 400 unknown_call');
    const neither = always({ kind: 'refuse_when_settled' }, { kind: 'key_handling', same_body: 'apply' });
    const other = await probed({ faults: neither }, { only: ['Q1'] });
    assert.equal(finding(other, 'Q1').values['same_result'], 'refused 400 unknown_call');
  });

  it('that ends its streams with the turn is listened to again', async () => {
    const faults = always({ kind: 'cut_stream', after_type: 'agent.session.idle', mode: 'eof' });
    const seen = await probed({ faults }, { limits: { listenMs: 1500 }, only: null });
    const asked = ['Q2', 'Q3', 'Q4', 'Q15', 'Q18', 'Q19', 'S2', 'S11', 'S12', 'H2', 'H5'];
    for (const id of asked) {
      const { verdict, reason } = finding(seen, id);
      assert.deepEqual([id, verdict, reason], [id, 'holds', null]);
    }
    assert.equal(finding(seen, 'S10').values['streams'], '64');
  });

  it('that breaks a stream off in mid-turn is not said to keep things from it', async () => {
    const before = 'agent.session.turn.completed';
    const faults = always({ kind: 'cut_stream', before_type: before, mode: 'reset' });
    const seen = await probed({ faults }, { only: ['Q2', 'Q19'] });
    assert.equal(finding(seen, 'Q2').reason, 'the stream was over before the turn');
    assert.deepEqual(finding(seen, 'Q19').values, { saved: 'once' });
  });

  it('that takes one stream only is asked everything that one stream tells', async () => {
    const seen = await probed({ maxListeners: 1 });
    for (const id of ['Q3', 'Q18']) {
      assert.equal(finding(seen, id).reason, 'the event stream was refused with 429');
    }
    for (const id of ['Q1', 'Q2', 'Q4', 'Q15', 'S2', 'S3', 'S7', 'S11', 'S12', 'S13']) {
      const { verdict, reason } = finding(seen, id);
      assert.deepEqual([id, verdict, reason], [id, 'holds', null]);
    }
    assert.deepEqual(seen.report.broken, ['S10']);
  });

  it('that does not name the calls in its events leaves open when they appear', async () => {
    const asking = { event_type: 'agent.session.requires_action' };
    const faults = always({ kind: 'patch_event', match: asking, patch: { session: null } });
    const seen = await probed({ faults }, { only: ['S2', 'Q4'] });
    assert.deepEqual(finding(seen, 'S2').values, { after_one_answer: 'requires_action' });
    assert.match(finding(seen, 'S2').reason ?? '', /did not show that both calls are pending/);
    assert.equal(finding(seen, 'Q4').values['session_after_call'], undefined);
    assert.match(finding(seen, 'Q4').reason ?? '', /did not say which calls are pending/);
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

  it('does what it takes: a result is repeated to see whether it appears twice', async () => {
    const seen = await probed({ faults: always({ kind: 'reemit_result_item' }) }, { only: ['Q19'] });
    assert.deepEqual(finding(seen, 'Q19').values, { saved: 'once', on_stream: 'again' });
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

describe('a verdict', () => {
  const verdict = (id: string, values: Record<string, string>, reasons: string[] = []) => {
    const question = QUESTIONS.find((one) => one.id === id);
    assert.ok(question);
    return judge(question, { values, measured: {}, seen: ['seen'], reasons }, 'the fallback');
  };

  it('says nothing of a part that was not asked', () => {
    const cancelled = verdict('S6', { after_cancel: 'refused 400 unknown_call' }, ['no call']);
    assert.deepEqual([cancelled.verdict, cancelled.safe], ['differs', true]);
    assert.equal(cancelled.reason, 'no call');
    assert.equal(verdict('S6', { repeat: 'taken' }).reason, 'the fallback');
    assert.equal(verdict('S6', {}).verdict, 'not_asked');
  });

  it('is safe where Holdfast reads what became of it, and not where it waits in vain', () => {
    const rows: [string, Record<string, string>, boolean][] = [
      ['H4', { unknown_call: 'taken' }, true],
      ['H4', { unknown_call: 'refused 409' }, true],
      ['H4', { unknown_call: 'refused 422' }, false],
      ['H3', { turn: 'failed' }, true],
      ['H3', { turn: 'still_running' }, false],
      ['Q6', { later_turn: 'next_turn' }, true],
      ['Q6', { later_turn: 'lost' }, false],
      ['Q6', { first_turn: 'refused 400' }, false],
    ];
    for (const [id, values, safe] of rows)
      assert.equal(verdict(id, values).safe, safe, JSON.stringify(values));
  });

  it('of a whole answer needs no reason', () => {
    const whole = verdict('S14', { status: '404', code: 'not_found_error' }, [
      'something else was not asked',
    ]);
    assert.deepEqual([whole.verdict, whole.reason], ['holds', null]);
  });

  it('can turn out either way, and never by itself, wherever a question is asked', () => {
    for (const { id, expects, unasked } of QUESTIONS) {
      assert.equal(unasked === undefined, Object.keys(expects).length > 0, id);
      if (unasked !== undefined) continue;
      assert.equal(verdict(id, expects).verdict, 'holds', id);
      for (const part of Object.keys(expects)) {
        assert.equal(
          verdict(id, { ...expects, [part]: 'something new' }).verdict,
          'differs',
          `${id}.${part}`,
        );
      }
    }
  });
});
