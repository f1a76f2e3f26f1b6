/** Whatever happens, what the probe has created is deleted, or named. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startEmulator, type FaultSpec } from '../../src/emulator/index.ts';
import { CannotProbe, probe, reportText } from '../../src/probe/index.ts';
import { always, finding, KEY, LIMIT, probed } from './bench.ts';
import { startFront } from './front.ts';

const CREATE = { method: 'POST', path: '/agents/sessions' };

describe('the sessions of a probe', { ...LIMIT, concurrency: true }, () => {
  it('are deleted when it is stopped in the middle of a turn', async () => {
    const stop = new AbortController();
    const progress = (doing: string): void => {
      if (doing === 'a second turn') stop.abort();
    };
    const { report, counters } = await probed({}, { signal: stop.signal, progress });
    assert.equal(report.stopped, true);
    assert.equal(counters.totals.creates, 1);
    assert.equal(counters.totals.deletes, 1);
    assert.equal(counters.totals.streams_open, 0);
    assert.deepEqual(report.sessions, { created: 1, deleted: 1, left: [] });
    assert.equal(finding({ report }, 'H1').verdict, 'holds');
    assert.equal(finding({ report }, 'Q13').reason, 'the run was stopped');
  });

  it('are deleted when the model takes too long', async () => {
    const scripts = [{ name: 'stuck', steps: [{ wait_ms: 600_000 }] }];
    const { report, counters } = await probed({ scripts }, { limits: { modelMs: 700 }, only: ['S6', 'H1'] });
    assert.equal(counters.totals.creates, 2);
    assert.equal(counters.totals.deletes, 2);
    assert.match(finding({ report }, 'S6').reason ?? '', /no call came in time/);
  });

  it('are found and deleted when the answer to a create was lost', async () => {
    const faults = [{ kind: 'lost_reply', match: CREATE }, ...always({ kind: 'list_lag', ms: 600 })] as const;
    const seen = await probed({ faults }, { only: ['S6'] });
    assert.equal(seen.counters.totals.creates, 1);
    assert.equal(seen.counters.totals.deletes, 1);
    assert.deepEqual(seen.report.sessions, { created: 1, deleted: 1, left: [] });
    assert.match(finding(seen, 'S6').reason ?? '', /did not answer|no session to ask in/);
  });

  it('are named when they may be there and are not to be found', async () => {
    const faults = [
      { kind: 'lost_reply', match: CREATE },
      ...always({ kind: 'list_lag', ms: 600_000 }, { kind: 'unfiltered_list_lag', ms: 600_000 }),
    ] as const;
    const seen = await probed({ faults }, { only: ['S6'] });
    const { created, deleted, left } = seen.report.sessions;
    assert.deepEqual([seen.counters.totals.creates, created, deleted, left.length], [1, 0, 0, 1]);
    assert.match(
      left[0]?.why ?? '',
      /no list shows its session; if it is there, it has metadata holdfast_probe=/,
    );
    assert.match(reportText(seen.report), /^Left behind: session unknown \(a create got no clear answer/m);
  });

  it('are looked for after an answer that may hide a created one', async () => {
    // A gateway's word: the session was made behind it.
    const emulator = await startEmulator({ deltaMs: 1, stepMs: 1 });
    const front = await startFront(emulator.url, { status: (status) => (status === 201 ? 502 : status) });
    const said: string[] = [];
    try {
      const ask = { baseUrl: front.url, apiKey: KEY, model: 'm', only: ['H1'], budgetCents: null };
      const progress = (doing: string): void => void said.push(doing);
      await assert.rejects(probe({ ...ask, progress }), /made no session: 502/);
      const { creates, deletes } = emulator.counters().totals;
      assert.deepEqual([creates, deletes], [1, 1]);
      assert.ok(said.some((line) => /^session sess_\w+ is made$/.test(line)));
    } finally {
      await front.close();
      await emulator.close();
    }
  });

  it('are deleted though the lists do not answer, when one of them is lost', async () => {
    const list = { method: 'GET', path: '/agents/sessions' };
    const faults: FaultSpec[] = [
      { kind: 'lost_reply', match: CREATE, after: 1 },
      { kind: 'delay', ms: 6000, match: list, after: 1, times: 0 },
    ];
    const seen = await probed({ faults }, { only: ['S6'], limits: { clearMs: 1500 } });
    const { created, deleted, left } = seen.report.sessions;
    assert.deepEqual([seen.counters.totals.creates, created, deleted], [2, 1, 1]);
    assert.deepEqual(
      left.map(({ id }) => id),
      ['unknown'],
    );
    assert.match(left[0]?.why ?? '', /the lists gave no answer in time/);
  });

  it('are named when nothing answers any more', async () => {
    const faults = always({ kind: 'delay', ms: 6000, match: { method: 'DELETE' } });
    const { report } = await probed({ faults }, { only: ['H4'], limits: { clearMs: 400 } });
    assert.match(
      report.sessions.left[0]?.why ?? '',
      /^deleting it gave no answer; the time for it was over$/,
    );
  });

  it('are tried again after a request that broke off', async () => {
    const faults: FaultSpec[] = [{ kind: 'lost_request', match: { method: 'DELETE' } }];
    const { report, counters } = await probed({ faults }, { only: ['H4'] });
    assert.deepEqual([counters.totals.deletes, report.sessions.left], [1, []]);
  });

  it('have all the time of the run, however long the one who pays thinks about it', async () => {
    const confirm = async (): Promise<void> => {
      await wait(3200);
    };
    const seen = await probed({}, { only: ['S14', 'H4'], confirm, limits: { totalMs: 3000 } });
    assert.equal(finding(seen, 'S14').verdict, 'holds');
  });

  it('are named when they cannot be deleted', async () => {
    const faults = always({ kind: 'status', status: 500, match: { method: 'DELETE' } });
    const said: string[] = [];
    const progress = (doing: string): void => void said.push(doing);
    const { report } = await probed({ faults }, { only: ['H1'], limits: { clearMs: 4000 }, progress });
    const { created, deleted, left } = report.sessions;
    assert.deepEqual([created, deleted, left.length], [1, 0, 1]);
    assert.match(left[0]?.why ?? '', /deleting it gave 500/);
    assert.ok(said.some((line) => /session sess_\w+ is left behind/.test(line)));
    assert.match(reportText(report), /^Left behind: session sess_\w+ \(deleting it gave 500/m);
  });

  it('carry the limit of spending, which is left out where there is none', async () => {
    for (const [budgetCents, limit] of [
      [7, 7],
      [null, null],
    ] as const) {
      const emulator = await startEmulator({
        faults: always({ kind: 'status', status: 500, match: { method: 'DELETE' } }),
      });
      try {
        const limits = { quietMs: 100, clearMs: 100, modelMs: 5000 };
        const ask = { apiKey: KEY, model: 'm', only: ['H1'], budgetCents, limits };
        await probe({ ...ask, baseUrl: emulator.url });
        const headers = { authorization: `Bearer ${KEY}`, 'openai-beta': 'agents=v1' };
        const listed = await fetch(`${emulator.url}/agents/sessions`, { headers });
        const { data } = (await listed.json()) as { data: { spend_control: { limit: number | null } }[] };
        assert.deepEqual(
          data.map((session) => session.spend_control.limit),
          [limit],
        );
      } finally {
        await emulator.close();
      }
    }
  });
});

describe('a server that cannot be probed', LIMIT, () => {
  const cannot = async (emulator: Parameters<typeof probed>[0], words: RegExp): Promise<void> => {
    await assert.rejects(probed(emulator), (error) => {
      assert.ok(error instanceof CannotProbe);
      assert.match(error.message, words);
      assert.doesNotMatch(error.message, new RegExp(KEY));
      return true;
    });
  };

  it('is told in one line', async () => {
    await cannot({ apiKey: 'another-key' }, /refused the API key/);
    const quota = { error: { code: 'insufficient_quota', message: `no money for Bearer ${KEY}` } };
    await cannot(
      { faults: always({ kind: 'status', status: 429, body: quota, match: CREATE }) },
      /made no session: 429 insufficient_quota no money for Bearer \[redacted\]/,
    );
    const unknown = { error: { message: "Unknown parameter: 'spend_control'." } };
    await cannot(
      { faults: always({ kind: 'status', status: 400, body: unknown, match: CREATE }) },
      /'spend_control'\. \(--budget-cents 0 sends no limit\)$/,
    );
    await cannot({ faults: always({ kind: 'status', status: 500 }) }, /answered a list of sessions with 500/);
  });

  it('or is not there', async () => {
    const ask = { apiKey: KEY, model: 'm', only: null, budgetCents: null };
    await assert.rejects(probe({ ...ask, baseUrl: 'http://127.0.0.1:1/v1' }), /did not answer \(bad port\)/);
  });

  it('is not asked when the one who pays says no', async () => {
    const confirm = async (): Promise<void> => {
      throw new Error('no');
    };
    const emulator = await startEmulator();
    try {
      const ask = { baseUrl: emulator.url, apiKey: KEY, model: 'm', only: null, budgetCents: 1, confirm };
      await assert.rejects(probe(ask), /^Error: no$/);
      assert.equal(emulator.counters().totals.creates, 0);
    } finally {
      await emulator.close();
    }
  });
});
