import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { temporalCli } from '../support/dev-server.ts';
import { until } from '../support/until.ts';
import { familyOf, root, Sandbox, somePorts, stillRunning, type Run } from './sandbox.ts';

const cli = temporalCli();
let box: Sandbox;
before(() => {
  box = new Sandbox();
});
after(() => box.remove());

async function start(command: string, env: Record<string, string> = {}): Promise<Run> {
  return box.start([command], { TEMPORAL_CLI: cli, ...(await somePorts()), ...env });
}

async function running(run: Run): Promise<void> {
  await until(
    'everything runs',
    () => run.child.exitCode !== null || run.out().includes('Ctrl-C stops'),
    180_000,
  );
  assert.equal(run.child.exitCode, null, run.err());
}

function member(run: Run, pattern: RegExp): number {
  const found = familyOf(run).find((each) => pattern.test(each.command));
  assert.ok(found, `no process like ${pattern}`);
  return found.pid;
}

describe('temporal-dev.sh: up and demo', () => {
  it('starts the three, says how to use them, and SIGTERM leaves no process', async () => {
    const ports = await somePorts();
    const run = box.start([], { TEMPORAL_CLI: cli, ...ports, HOLDFAST_TEMPORAL_DB: 'kept.db' });
    await running(run);
    const address = `127.0.0.1:${ports['HOLDFAST_TEMPORAL_PORT']}`;
    const ui = `http://127.0.0.1:${ports['HOLDFAST_UI_PORT']}`;
    assert.match(run.out(), new RegExp(`Web UI +${ui}\n`));
    assert.match(
      run.out(),
      new RegExp(`\n  \\S+ workflow start --address ${address} --type agentTask .*--input '{`),
    );
    assert.equal((await fetch(ui)).status, 200);
    const family = familyOf(run);
    const db = join(box.folder, 'kept.db');
    for (const text of [
      `--db-filename ${db} `,
      `emulator .*--data ${db}.sessions `,
      'main.ts worker',
      'setInterval',
    ])
      member(run, new RegExp(text));
    run.child.kill('SIGTERM');
    assert.equal(await run.ended, 0);
    assert.deepEqual(stillRunning(family), []);
    assert.equal(run.err(), 'The server runs; starting a worker\n');
  });

  it('runs a task with the command that it prints, with the project as it is', async () => {
    const ports = await somePorts();
    const env = { TEMPORAL_CLI: cli, ...ports, HOLDFAST_LOG_DIR: join(box.folder, 'logs') };
    const run = box.start([], env, root);
    await running(run);
    const family = familyOf(run);
    const [, command = ''] = /^ {2}(.* workflow start .*)$/m.exec(run.out()) ?? [];
    const result = `${cli} workflow result --address 127.0.0.1:${ports['HOLDFAST_TEMPORAL_PORT']} --workflow-id trip-1`;
    const told = spawnSync('bash', ['-ec', `${command}; ${result}`], { encoding: 'utf8', timeout: 60_000 });
    assert.equal(told.status, 0, told.stderr);
    assert.match(told.stdout, /COMPLETED/);
    assert.match(told.stdout, /"output_text":"Lisbon it is/);
    run.child.kill('SIGTERM');
    assert.equal(await run.ended, 0);
    assert.deepEqual(stillRunning(family), []);
  });

  it('stops everything at two Ctrl-C in a row, also a worker that will not go', async () => {
    const run = await start('up', { STAND_IN: 'worker:stays' });
    await running(run);
    const family = familyOf(run);
    const group = -(run.child.pid ?? Number.NaN);
    const began = Date.now();
    process.kill(group, 'SIGINT');
    await until(
      'the stop begins',
      () => !stillRunning(family).some((each) => /setInterval/.test(each.command)),
    );
    process.kill(group, 'SIGINT');
    assert.equal(await run.ended, 0);
    assert.ok(Date.now() - began < 9_000, 'the second Ctrl-C did not make it hurry');
    assert.deepEqual(stillRunning(family), []);
  });

  it('takes everything along when the script itself is killed', async () => {
    const run = await start('up');
    await running(run);
    const family = familyOf(run);
    run.child.kill('SIGKILL');
    await run.ended;
    await until('the rest goes', () => stillRunning(family).length === 0);
  });

  for (const [part, pattern] of [
    ['server', /start-dev/],
    ['emulator', /main\.ts emulator/],
    ['worker', /main\.ts worker/],
  ] as const) {
    it(`stops the rest when the ${part} is killed`, async () => {
      const run = await start('up');
      await running(run);
      const family = familyOf(run);
      process.kill(member(run, pattern), 'SIGKILL');
      assert.equal(await run.ended, 1);
      assert.match(run.err(), new RegExp(`^temporal-dev.sh: the ${part} has ended \\(signal 9\\)`, 'm'));
      assert.deepEqual(stillRunning(family), []);
    });
  }

  it('shows the last words of a part that cannot start', async () => {
    for (const part of ['worker', 'emulator']) {
      const run = await start('up', { STAND_IN: `${part}:dies` });
      assert.equal(await run.ended, 1);
      assert.match(run.err(), new RegExp(`^temporal-dev.sh: the ${part} has ended \\(exit code 3\\)`, 'm'));
      assert.match(run.err(), new RegExp(`\n  \\| the ${part} cannot go on\n$`));
      assert.equal(run.out(), '');
    }
  });

  it('runs the demo against the local server, whatever the caller has configured, and passes its exit code on', async () => {
    const ports = await somePorts();
    const foreign = { TEMPORAL_TLS: 'true', TEMPORAL_API_KEY: 'k', TEMPORAL_PROFILE: 'cloud' };
    const run = box.start(['demo'], { TEMPORAL_CLI: cli, ...ports, ...foreign, STAND_IN: 'demo:fails' });
    await until('the server is there', () => familyOf(run).some((each) => /start-dev/.test(each.command)));
    const family = familyOf(run);
    assert.equal(await run.ended, 7);
    assert.deepEqual(stillRunning(family), []);
    const seen = JSON.parse(run.out()) as Record<string, string>;
    assert.equal(seen['TEMPORAL_ADDRESS'], `127.0.0.1:${ports['HOLDFAST_TEMPORAL_PORT']}`);
    assert.equal(seen['TEMPORAL_NAMESPACE'], 'default');
    assert.equal(seen['HOLDFAST_UI_URL'], `http://127.0.0.1:${ports['HOLDFAST_UI_PORT']}`);
    assert.equal(seen['OPENAI_BASE_URL'], `http://127.0.0.1:${ports['HOLDFAST_EMULATOR_PORT']}/v1`);
    assert.equal(seen['OPENAI_API_KEY'], 'local');
    for (const name of Object.keys(foreign)) assert.equal(seen[name], undefined);
  });

  it('leaves the real service alone: no local Agents API with OPENAI_API_KEY', async () => {
    const run = await start('demo', { OPENAI_API_KEY: 'k' });
    assert.equal(await run.ended, 0, run.err());
    const seen = JSON.parse(run.out()) as Record<string, string>;
    assert.deepEqual([seen['OPENAI_API_KEY'], seen['OPENAI_BASE_URL']], ['k', undefined]);
  });

  it('demo --stay leaves the Web UI up after the demo, keeps its exit code, and ends at a signal', async () => {
    const ports = await somePorts();
    const run = box.start(['demo', '--stay'], { TEMPORAL_CLI: cli, ...ports, STAND_IN: 'demo:fails' });
    await until('the demo is over', () => run.err().includes('stays up') || run.out().includes('stays up'));
    assert.equal((await fetch(`http://127.0.0.1:${ports['HOLDFAST_UI_PORT']}`)).status, 200);
    const family = familyOf(run);
    run.child.kill('SIGTERM');
    assert.equal(await run.ended, 7);
    assert.deepEqual(stillRunning(family), []);
  });

  it('runs the demo on free ports when the default ones are taken', async () => {
    // Ours, or somebody's who has them already: taken either way.
    const taken = [7233, 8233, 8788].map((port) =>
      createServer()
        .on('error', () => {})
        .listen(port, '127.0.0.1'),
    );
    try {
      const { code, out, err } = await box.run(['demo'], { TEMPORAL_CLI: cli });
      assert.equal(code, 0, err);
      const seen = JSON.parse(out) as Record<string, string>;
      assert.notEqual(seen['TEMPORAL_ADDRESS'], '127.0.0.1:7233');
      assert.notEqual(seen['HOLDFAST_UI_URL'], 'http://127.0.0.1:8233');
      assert.notEqual(seen['OPENAI_BASE_URL'], 'http://127.0.0.1:8788/v1');
    } finally {
      for (const server of taken) server.close();
    }
  });
});
