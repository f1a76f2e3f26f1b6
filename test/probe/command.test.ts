/** `holdfast probe` and `holdfast emulator --profile` as processes. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startEmulator } from '../../src/emulator/index.ts';
import type { ProbeReport, Profile } from '../../src/probe/index.ts';
import { finished, holdfast, launch, line } from '../cli/command.ts';
import { until } from '../support/until.ts';
import { always, KEY, LIMIT } from './bench.ts';
import { startFront } from './front.ts';

const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: '', HOLDFAST_MODEL: '' };

describe('holdfast probe', { ...LIMIT, concurrency: true }, () => {
  it('prints a table, saves a profile, and the emulator plays it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-probe-'));
    const server = await startEmulator({
      apiKey: KEY,
      faults: always({ kind: 'steering_refused' }, { kind: 'not_found_code' }),
    });
    try {
      const file = join(folder, 'profile.json');
      const only = ['--only', 's3,S14,q17', '--listen', '0'];
      const first = await holdfast(['probe', '--base-url', server.url, ...only, '--save', file], { env });
      assert.equal(first.code, 0, first.stderr);
      assert.match(first.stdout, /^127\.0\.0\.1:\d+, model gpt-5: \d+ requests, 1 session, 2 turns/);
      assert.match(first.stdout, /^S14 +differs, safe +How is an unknown session refused\?$/m);
      assert.match(first.stdout, /^ +404 not_found$/m);
      assert.match(first.stdout, /^1 session deleted\.$/m);
      assert.match(first.stderr, /^This makes 1 session at 127\.0\.0\.1:\d+, each limited to 25 cents/);
      const saved = JSON.parse(readFileSync(file, 'utf8')) as Profile;
      assert.deepEqual(Object.keys(saved.answers).toSorted(), ['Q17', 'S14', 'S3']);
      assert.doesNotMatch(readFileSync(file, 'utf8'), new RegExp(KEY));

      const player = launch(['emulator', '--port', '0', '--profile', file], env);
      const [, url = ''] = await line(player, /at (\S+):/);
      const second = await holdfast(['probe', '--base-url', url, ...only, '--json'], { env });
      assert.equal(second.code, 0, second.stderr);
      const report = JSON.parse(second.stdout) as ProbeReport;
      assert.deepEqual(
        Object.fromEntries(report.findings.map(({ id, values }) => [id, values])),
        Object.fromEntries(Object.entries(saved.answers).map(([id, { values }]) => [id, values])),
      );
      const end = finished(player);
      player.kill('SIGTERM');
      assert.equal((await end).code, 0);
    } finally {
      await server.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('exits with 1 when Holdfast does not work with an answer', async () => {
    const server = await startEmulator({
      faults: always({ kind: 'error_as', status: 404, as_status: 400 }),
    });
    try {
      const { code, stdout } = await holdfast(['probe', '--only', 'S14', '--json'], {
        env: { ...env, OPENAI_BASE_URL: server.url },
      });
      assert.equal(code, 1);
      const report = JSON.parse(stdout) as ProbeReport;
      assert.deepEqual([report.holdfast_probe, report.broken], [1, ['S14']]);
    } finally {
      await server.close();
    }
  });

  it('deletes what it made when it is interrupted', async () => {
    const server = await startEmulator({ scripts: [{ name: 'stuck', steps: [{ wait_ms: 600_000 }] }] });
    try {
      const child = launch(['probe', '--base-url', server.url], env);
      const end = finished(child);
      await until('a stream is open', () => server.counters().totals.streams_open > 0);
      child.kill('SIGINT');
      const { code, stdout, stderr } = await end;
      assert.equal(code, 130, stderr);
      assert.match(stderr, /^holdfast: stopping, and deleting what was created$/m);
      assert.match(stdout, /^1 session deleted\.$/m);
      const { creates, deletes } = server.counters().totals;
      assert.deepEqual([creates, deletes], [1, 1]);
    } finally {
      await server.close();
    }
  });

  it('ends at once at a second interrupt, having told what it made', async () => {
    const faults = always({ kind: 'delay', ms: 6000, match: { method: 'DELETE' } });
    const server = await startEmulator({
      faults,
      scripts: [{ name: 'stuck', steps: [{ wait_ms: 600_000 }] }],
    });
    try {
      const child = launch(['probe', '--base-url', server.url], env);
      const end = finished(child);
      let said = '';
      child.stderr?.on('data', (data: Buffer) => (said += data.toString()));
      await until('a stream is open', () => server.counters().totals.streams_open > 0);
      child.kill('SIGINT');
      await until('it deletes', () => said.includes('deleting the sessions'));
      child.kill('SIGINT');
      const { code, stderr } = await end;
      assert.equal(code, 130);
      assert.match(stderr, /^holdfast: session sess_\w+ is made$/m);
      assert.match(stderr, /^holdfast: stopped at once; sessions may be left behind$/m);
    } finally {
      await server.close();
    }
  });

  it('makes nothing at another host before somebody has agreed to pay', async () => {
    const server = await startEmulator();
    const front = await startFront(server.url, {});
    // Not written as a loopback address, and none the less here.
    const far = front.url.replace('127.0.0.1', '0.0.0.0');
    try {
      const args = ['probe', '--base-url', far, '--only', 'H4'];
      const asked = await holdfast(args, { env });
      assert.equal(asked.code, 2);
      assert.match(
        asked.stderr,
        /^This makes 1 session at 0\.0\.0\.0:\d+, each limited to 25 cents, runs 1 to 2 short/m,
      );
      assert.match(
        asked.stderr,
        /^holdfast: nobody can be asked here: give --yes if the turns may be paid for$/m,
      );
      assert.equal(server.counters().totals.creates, 0);
      const agreed = await holdfast([...args, '--yes'], { env });
      assert.equal(agreed.code, 0, agreed.stderr);
      assert.equal(server.counters().totals.creates, 1);
    } finally {
      await front.close();
      await server.close();
    }
  });

  it('exits with 2 when nothing could be asked', async () => {
    const server = await startEmulator();
    try {
      const { code, stdout } = await holdfast(['probe', '--base-url', server.url, '--only', 'Q8'], { env });
      assert.equal(code, 2);
      assert.match(stdout, /^Assumptions: 0 hold, 0 differ without harm, 0 break something, 1 not asked\.$/m);
    } finally {
      await server.close();
    }
  });

  it(
    'prints what was paid for also when the profile cannot be written',
    { skip: !existsSync('/dev/full') },
    async () => {
      const server = await startEmulator();
      try {
        const args = ['probe', '--base-url', server.url, '--only', 'S14', '--save', '/dev/full'];
        const { code, stdout, stderr } = await holdfast(args, { env });
        assert.equal(code, 2);
        assert.match(stdout, /^S14 +holds/m);
        assert.match(stderr, /^holdfast: \/dev\/full: cannot be written \(ENOSPC\)$/m);
      } finally {
        await server.close();
      }
    },
  );

  it('says in one line what is wrong, with exit code 2', async () => {
    const far = ['probe', '--base-url', 'https://agents.invalid/v1'];
    const local = ['probe', '--base-url', 'http://127.0.0.1:9/v1'];
    const rows: [string[], NodeJS.ProcessEnv, RegExp][] = [
      [['probe'], env, /give --base-url: https:\/\/api\.openai\.com\/v1 is the service, which costs money/],
      [['probe', '--base-url', 'ftp://x'], env, /--base-url: expected an http or https URL, got "ftp:\/\/x"/],
      [far, { ...env, OPENAI_API_KEY: '' }, /OPENAI_API_KEY is not set/],
      [[...far, '--yes'], env, /agents\.invalid did not answer \(E\w+\)/],
      [local, env, /127\.0\.0\.1:9 did not answer \(bad port\)/],
      [[...local, '--only', 'Q1,Q77'], env, /--only: there is no question "Q77"; there are Q1, Q2, /],
      [
        [...local, '--budget-cents', '-1'],
        env,
        /'--budget-cents <number>' .* expected a whole number from 0 to/,
      ],
      [[...local, '--timeout', '0'], env, /'--timeout <seconds>' .* expected a whole number from 1 to 3600/],
      [[...local, '--listen', '101'], env, /'--listen <seconds>' .* expected a whole number from 0 to 100/],
      [
        [...local, '--save', '/no/such/p.json'],
        env,
        /--save: \/no\/such\/p\.json cannot be written \(ENOENT\)/,
      ],
      [[...local, '--save', '/'], env, /--save: \/ cannot be written \(EISDIR\): give another place/],
      [
        ['probe', '--base-url', 'http://u:secret@127.0.0.1:9/v1'],
        env,
        /--base-url: leave user and password out/,
      ],
      [
        ['probe', '--base-url', 'http://127.0.0.1:9/v1?a=b'],
        env,
        /--base-url: .* leave out what follows \? or #/,
      ],
    ];
    const seen = await Promise.all(rows.map(async ([args, at]) => holdfast(args, { env: at })));
    for (const [index, { code, stdout, stderr }] of seen.entries()) {
      const [args, , words] = rows[index] ?? [[], {}, /$^/];
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, words);
      assert.match(stderr, /^holdfast: [^\n]*\n$/, stderr);
      assert.doesNotMatch(stderr, /secret/);
    }
  });
});

describe('holdfast emulator --profile', LIMIT, () => {
  it('says what is wrong with the file', async () => {
    const { code, stderr } = await holdfast(['emulator', '--port', '0', '--profile', './none.json']);
    assert.equal(code, 2);
    assert.match(stderr, /^holdfast: --profile: \.\/none\.json: cannot be read \(ENOENT\)\n$/);
  });
});
