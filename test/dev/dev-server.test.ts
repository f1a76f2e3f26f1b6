import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { startDevServer } from '../support/dev-server.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { processes } from './sandbox.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'holdfast-server-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function runs(pid: number): boolean {
  return processes().some((each) => each.pid === pid);
}

/** Runs test/run.ts on one generated test file. */
async function runner(
  source: string,
  signal?: NodeJS.Signals,
): Promise<{ code: number | null; out: string }> {
  const file = join(mkdtempSync(join(folder, 'run-')), 'x.test.ts');
  writeFileSync(file, source);
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/run.ts', file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, OPENAI_API_KEY: 'never to be used' },
  });
  let out = '';
  const ended = once(child, 'close');
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (signal !== undefined && out.includes('begun')) child.kill(signal);
    });
  }
  const [code] = (await ended) as [number | null];
  return { code, out };
}

describe('the dev server of the tests', () => {
  it('has the search attributes, and comes back after a kill with what its database file holds', async () => {
    const dbFile = join(folder, 'temporal.db');
    const first = await startDevServer({ dbFile });
    const connection = await Connection.connect({ address: first.address });
    try {
      const client = new Client({ connection });
      await client.workflow.start('nobodyRunsThis', {
        workflowId: 'kept',
        taskQueue: 'nobody',
        searchAttributes: { HoldfastState: ['working'] },
      });
      await first.kill();
      assert.ok(!runs(first.pid));
      const second = await startDevServer({ dbFile, port: first.port });
      try {
        assert.equal(second.address, first.address);
        const kept = await client.workflow.getHandle('kept').describe();
        assert.deepEqual(
          [kept.status.name, kept.searchAttributes['HoldfastState']],
          ['RUNNING', ['working']],
        );
      } finally {
        await second.stop();
      }
      assert.ok(!runs(second.pid));
    } finally {
      await connection.close();
      await first.stop();
    }
  });

  it('says why it cannot start', async () => {
    const dbFile = join(folder, 'no/such/folder/temporal.db');
    await assert.rejects(
      startDevServer({ dbFile, port: await freePort() }),
      /the dev server ended \(1\):\n.*no\/such/s,
    );
  });

  it('goes with the process that started it, also when that one is killed', async () => {
    const starter = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        `import { startDevServer } from './test/support/dev-server.ts';
         process.stdout.write(String((await startDevServer()).pid));`,
      ],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [pid] = (await once(starter.stdout, 'data')).map(Number);
    assert.ok(pid !== undefined && runs(pid));
    starter.kill('SIGKILL');
    await until('the server goes', () => !runs(pid));
  });
});

describe('the test runner', () => {
  it('passes a success on, with a server, and without the API key of the caller', async () => {
    const { code, out } = await runner(`
      import { test } from 'node:test';
      import { equal, match } from 'node:assert';
      test('environment', () => {
        match(process.env.TEMPORAL_ADDRESS, /^127\\.0\\.0\\.1:/);
        match(process.env.HOLDFAST_TEST_TEMPORAL_CLI, /temporal/);
        equal(process.env.OPENAI_API_KEY, undefined);
      });`);
    assert.equal(code, 0, out);
    assert.match(out, /^ℹ pass 1$/m);
  });

  it('passes a failure on', async () => {
    const { code, out } = await runner(
      `import { test } from 'node:test'; test('x', () => { throw new Error(); });`,
    );
    assert.equal(code, 1, out);
    assert.match(out, /^ℹ fail 1$/m);
  });

  it('names and stops what a test leaves behind', async () => {
    const { code, out } = await runner(`
      import { test } from 'node:test';
      import { spawn } from 'node:child_process';
      test('x', () => { spawn('sleep', ['600'], { stdio: 'ignore' }).unref(); });`);
    assert.equal(code, 0, out);
    const [, pid] = /Left behind by some test, and killed:\n {2}(\d+) sleep 600/.exec(out) ?? [];
    assert.ok(pid !== undefined, out);
    await until('the sleep goes', () => !runs(Number(pid)));
  });

  it('stops everything at SIGTERM', async () => {
    const { code, out } = await runner(
      `import { test } from 'node:test';
       test('x', async () => { console.log('begun ' + process.pid); await new Promise((r) => setTimeout(r, 600000)); });`,
      'SIGTERM',
    );
    assert.equal(code, 143, out);
    const [, pid] = /begun (\d+)/.exec(out) ?? [];
    await until('the test goes', () => !runs(Number(pid)));
  });
});
