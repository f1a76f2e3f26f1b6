/** Mistakes of the user's, tools that do not work at all, and crash tests that are left in the middle. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { findCli } from '../../src/crash-test/temporal.ts';
import { temporalCli } from '../support/dev-server.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { agentsFile, report, World } from './command.ts';

const ledger = agentsFile('ledger');
const trouble = agentsFile('trouble');

/** A busy machine takes its time. */
const PATIENCE_MS = 90_000;

let world: World;
before(() => {
  world = new World();
});
after(() => world.remove());

describe('holdfast crash-test refuses', { concurrency: 2 }, () => {
  const cases: [name: string, args: string[], says: RegExp, env?: NodeJS.ProcessEnv][] = [
    ['to run unasked', [ledger], /^holdfast: nobody can be asked here: give --yes/m],
    ['a file that is not there', ['./no.ts', '--yes'], /^holdfast: there is no file \.\/no\.ts$/m],
    ['no file', ['--yes'], /missing required argument 'agents-file'/],
    [
      'an unknown tool',
      [ledger, '--tool', 'x', '--yes'],
      /--tool: there is no "x"; there are: note, doubles/,
    ],
    ['an unknown point', [ledger, '--point', 'x', '--yes'], /--point: there is no "x"; there are: session\./],
    ['arguments that are no JSON', [ledger, '--arguments', '{', '--yes'], /--arguments: not JSON/],
    [
      'made-up arguments that do not fit',
      [trouble, '--tool', 'picky', '--yes'],
      /the made-up arguments do not do, give some with --arguments: picky: .*plate: /,
    ],
    [
      'a bad time limit',
      [ledger, '--timeout', 'soon', '--yes'],
      /--timeout: expected a duration such as "90s"/,
    ],
    [
      'to let results of a tool differ that is not tested',
      [ledger, '--tool', 'note', '--results-may-differ', 'pay', '--yes'],
      /--results-may-differ: pay is not tested/,
    ],
    ['a file without observe', [ledger, '--observe', trouble, '--yes'], /exports no function observe$/m],
    [
      'a snapshot that changes by itself',
      [ledger, '--observe', agentsFile('restless'), '--yes'],
      /observe\(\) gave two different snapshots while nothing ran/,
    ],
    [
      'a snapshot that cannot be taken',
      [ledger, '--observe', agentsFile('broken-observe'), '--yes'],
      /observe\(\) failed: the test database is not there$/m,
    ],
    [
      'a Temporal server elsewhere that does not answer',
      [ledger, '--yes'],
      /cannot reach the Temporal server at temporal\.invalid:7233/,
      { TEMPORAL_ADDRESS: 'temporal.invalid:7233' },
    ],
    [
      'to run without any Temporal server',
      [ledger, '--yes'],
      /no Temporal server at 127\.0\.0\.1:1, and no temporal command to start one with: install it/,
      { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_CLI: '', PATH: '/nowhere', XDG_CACHE_HOME: '/nowhere' },
    ],
  ];
  for (const [name, args, says, env] of cases) {
    it(`${name}: 2`, async () => {
      const { code, stdout, stderr } = await world.run(args, env);
      assert.match(stderr, says);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
    });
  }
  after(() => assert.deepEqual(world.left, []));
});

describe('holdfast crash-test', () => {
  it('says of a tool that never works that it was not tested, and shows nothing of its error: 1', async () => {
    const run = await world.run([trouble, '--tool', 'throws', 'quits', '--json', '--yes']);
    assert.equal(run.code, 1, run.stderr);
    const { tools, agents, observed } = report(run);
    assert.equal(observed, false);
    assert.deepEqual(agents, []);
    const [quits, throws] = tools;
    assert.deepEqual([throws?.verdict, throws?.points, throws?.agent], ['not_tested', [], null]);
    assert.equal(throws?.reason, 'without any crash it failed: RangeError');
    assert.match(throws?.advice[0] ?? '', /--arguments '{"throws":{}}'/);
    assert.equal(quits?.verdict, 'not_tested');
    assert.equal(quits?.reason, 'the worker process ended while it ran: exit code 7');
    assert.ok(!(run.stdout + run.stderr).includes('planted'));
  });

  it('starts a Temporal server by itself, and leaves nothing behind when it is killed', async (t) => {
    const env = { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`, TEMPORAL_CLI: temporalCli() };
    const known = world.lines.length;
    const child = world.launch([trouble, '--tool', 'hangs', '--yes'], env);
    t.after(() => child.kill('SIGKILL'));
    child.stdout?.resume();
    child.stderr?.resume();
    await until('the tool runs', () => world.lines.slice(known).some(isBegin), PATIENCE_MS);
    // One that describes and observes, one that works, one that waits.
    await until('all processes are there', () => pidsOf(world.lines.slice(known)).length === 3, PATIENCE_MS);
    const children = childrenOf(child.pid);
    assert.ok(children.some(({ args }) => args.includes('start-dev')));
    const pids = [...pidsOf(world.lines.slice(known)), ...children.map(({ pid }) => pid)];
    assert.ok(pids.every(runs));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await until('every process is gone', () => !pids.some(runs) && world.left.length === 0, PATIENCE_MS);
  });

  it('ends everything at a Ctrl-C', async (t) => {
    const known = world.lines.length;
    const child = world.launch([trouble, '--tool', 'hangs', '--yes']);
    t.after(() => child.kill('SIGKILL'));
    child.stdout?.resume();
    child.stderr?.resume();
    await until('the tool runs', () => world.lines.slice(known).some(isBegin), PATIENCE_MS);
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [130, null]);
    assert.ok(!pidsOf(world.lines).some(runs));
    assert.deepEqual(world.left, []);
  });

  it('gives a run that does not end up, and says so: 1', async () => {
    const run = await world.run([trouble, '--tool', 'hangs', '--timeout', '2s', '--yes']);
    assert.equal(run.code, 1, run.stderr);
    assert.match(run.stdout, /^hangs: effect "repeatable" NOT TESTED\n/);
    assert.match(run.stdout, /it did not come to an end: no end after 2 s\n/);
    assert.ok(!pidsOf(world.lines).some(runs));
  });
});

describe('the temporal command', () => {
  it('is found by TEMPORAL_CLI, on the PATH, and where temporal-dev.sh keeps it, in this order', () => {
    const program = (...path: string[]): string => {
      const folder = join(world.folder, ...path);
      mkdirSync(folder, { recursive: true });
      const file = join(folder, 'temporal');
      writeFileSync(file, '');
      chmodSync(file, 0o755);
      return file;
    };
    const named = program('named');
    const onPath = program('path');
    const cached = program('cache', 'holdfast', 'bin');
    const path = ['/nowhere', join(world.folder, 'path')].join(delimiter);
    const cache = join(world.folder, 'cache');
    assert.equal(findCli({ TEMPORAL_CLI: named, PATH: path, XDG_CACHE_HOME: cache }), named);
    assert.equal(findCli({ TEMPORAL_CLI: 'temporal', PATH: path }), onPath);
    assert.equal(findCli({ PATH: path, XDG_CACHE_HOME: cache }), onPath);
    assert.equal(findCli({ PATH: '/nowhere', XDG_CACHE_HOME: cache }), cached);
    assert.equal(findCli({ PATH: '/nowhere', XDG_CACHE_HOME: '/nowhere' }), null);
    assert.throws(() => findCli({ TEMPORAL_CLI: '/nowhere', PATH: path }), {
      message: 'TEMPORAL_CLI is /nowhere, which cannot be executed',
    });
    chmodSync(onPath, 0o644);
    assert.equal(findCli({ PATH: path, XDG_CACHE_HOME: cache }), cached);
  });
});

function isBegin(line: string): boolean {
  return line.startsWith('hangs ');
}

function pidsOf(lines: readonly string[]): number[] {
  return lines.filter((line) => line.startsWith('pid ')).map((line) => Number(line.slice(4)));
}

function childrenOf(parent: number | undefined): { pid: number; args: string }[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid, ...args] = line.trim().split(/\s+/);
    return Number(ppid) === parent ? [{ pid: Number(pid), args: args.join(' ') }] : [];
  });
}

/** Zombies do not run: where process 1 reaps late, an orphan stays one for a while. */
function runs(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}
