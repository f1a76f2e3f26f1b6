/** Whatever happens, what the probe has created is deleted, or named. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { startEmulator } from '../../src/emulator/index.ts';
import { CannotProbe, probe, reportText } from '../../src/probe/index.ts';
import { always, finding, KEY, LIMIT, probed } from './bench.ts';

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
    assert.equal(finding({ report, counters }, 'H1').verdict, 'holds');
    assert.equal(finding({ report, counters }, 'Q13').reason, 'the run was stopped');
  });

  it('are deleted when the model takes too long', async () => {
    const scripts = [{ name: 'stuck', steps: [{ wait_ms: 600_000 }] }];
    const { report, counters } = await probed({ scripts }, { limits: { modelMs: 700 }, only: ['S6', 'H1'] });
    assert.equal(counters.totals.creates, 2);
    assert.equal(counters.totals.deletes, 2);
    assert.match(finding({ report, counters }, 'S6').reason ?? '', /no call came in time/);
  });

  it('are found and deleted when the answer to a create was lost', async () => {
    const faults = [{ kind: 'lost_reply', match: CREATE }, ...always({ kind: 'list_lag', ms: 600 })] as const;
    const seen = await probed({ faults }, { only: ['S6'] });
    assert.equal(seen.counters.totals.creates, 1);
    assert.equal(seen.counters.totals.deletes, 1);
    assert.deepEqual(seen.report.sessions, { created: 1, deleted: 1, left: [] });
    assert.match(finding(seen, 'S6').reason ?? '', /did not answer|no session to ask in/);
  });

  it('are named when they cannot be deleted', async () => {
    const faults = always({ kind: 'status', status: 500, match: { method: 'DELETE' } });
    const said: string[] = [];
    const progress = (doing: string): void => void said.push(doing);
    const { report } = await probed({ faults }, { only: ['H1'], limits: { clearMs: 300 }, progress });
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

  it('or that is none', async () => {
    const server = createServer((_request, response) => response.writeHead(404).end('<html>'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const ask = { apiKey: KEY, model: 'm', only: null, budgetCents: null };
      await assert.rejects(
        probe({ ...ask, baseUrl: `http://127.0.0.1:${port}/v1` }),
        /knows no \/agents\/sessions/,
      );
      await assert.rejects(
        probe({ ...ask, baseUrl: 'http://127.0.0.1:1/v1' }),
        /did not answer \(bad port\)/,
      );
    } finally {
      server.close();
    }
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
