/** The command line by itself: no server is needed, and none is asked. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { holdfast } from './command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('holdfast', () => {
  it('prints its version and its help', async () => {
    const [version, help, start] = await Promise.all([
      holdfast(['--version']),
      holdfast(['--help']),
      holdfast(['start', '--help']),
    ]);
    const { version: own } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    assert.deepEqual(version, { code: 0, stdout: `${own}\n`, stderr: '' });
    assert.equal(help.code, 0);
    assert.match(help.stdout, /holdfast start --agent trip-planner .*--wait/);
    for (const name of ['start', 'status', 'result', 'cancel', 'resolve', 'worker', 'emulator']) {
      assert.match(help.stdout, new RegExp(`^  ${name} `, 'm'));
    }
    assert.match(start.stdout, /--task-id <id>/);
  });

  it('does not load the Temporal client for its help', () => {
    const script = `
      import { createRequire } from 'node:module';
      const { program } = await import('./src/cli/program.ts');
      program().helpInformation();
      const loaded = Object.keys(createRequire(import.meta.url).cache);
      process.stdout.write(JSON.stringify(loaded.filter((path) => path.includes('@temporalio'))));
    `;
    const options = { cwd: root, encoding: 'utf8' } as const;
    const loaded = execFileSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', script],
      options,
    );
    assert.deepEqual(JSON.parse(loaded), []);
  });

  const mistakes: [args: string[], message: string][] = [
    [['strat'], "unknown command 'strat' (did you mean start?)"],
    [['start', '--agnet', 'x'], "unknown option '--agnet' (did you mean --agent?)"],
    [['status'], "missing required argument 'task-id'"],
    [['result'], "missing required argument 'task-id'"],
    [['cancel'], "missing required argument 'task-id'"],
    [['resolve', 't'], "missing required argument 'call-id'"],
    [['start', '--agent'], "option '--agent <name>' argument missing"],
    [['result', 't', '--josn'], "unknown option '--josn' (did you mean --json?)"],
    [['cancel', 't', '--force'], "unknown option '--force'"],
    [['status', 'a', 'b'], "too many arguments for 'status'. Expected 1 argument but got 2."],
    [
      ['start', '--json', '{}', '--input', 'x'],
      "option '--json <json>' cannot be used with option '--input <text>'",
    ],
    [['start', '--input', 'x'], 'start needs --agent, --session, --json or --json-file'],
    [['start', '--json-file', './none.json'], '--json-file: cannot read ./none.json (ENOENT)'],
    [
      ['resolve', 't', 'c'],
      'resolve needs exactly one of --result, --result-json, --run-again and --report-failure',
    ],
    [
      ['resolve', 't', 'c', '--run-again', '--result', 'x'],
      'resolve needs exactly one of --result, --result-json, --run-again and --report-failure',
    ],
    [['worker'], "required option '--agents <file>' not specified"],
    [
      ['emulator', '--port', '70000'],
      "option '--port <number>' argument '70000' is invalid. a port is a number up to 65535.",
    ],
  ];
  for (const [args, message] of mistakes) {
    it(`refuses ${args.join(' ')} in one line`, async () => {
      assert.deepEqual(await holdfast(args), { code: 2, stdout: '', stderr: `holdfast: ${message}\n` });
    });
  }

  it('tells JSON that the shell has broken from a wrong field', async () => {
    const broken = await holdfast(['start', '--json', '{agent:x}']);
    assert.equal(broken.code, 2);
    assert.match(
      broken.stderr,
      /^holdfast: --json: not JSON, .*; where the shell eats quotes \(PowerShell, cmd\) use --json-file\n$/,
    );
  });

  it('says the same of a result, with the remedy that there is', async () => {
    const broken = await holdfast(['resolve', 't', 'c', '--result-json', '{tea:green}']);
    assert.equal(broken.code, 2);
    assert.match(
      broken.stderr,
      /^holdfast: --result-json: not JSON, .*; where the shell eats quotes \(PowerShell, cmd\) write \\" for each\n$/,
    );
  });

  it('says within seconds that the server cannot be reached', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const began = Date.now();
    const { code, stderr } = await holdfast(['status', 'x'], { env: { TEMPORAL_ADDRESS: address } });
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `holdfast: cannot reach the Temporal server at ${address}: start one (./temporal-dev.sh) or set TEMPORAL_ADDRESS\n`,
    );
    assert.ok(Date.now() - began < 15_000);
  });

  it('names a settings file that cannot be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    try {
      const file = join(folder, 'temporal.toml');
      writeFileSync(file, 'this is = not toml [');
      const { code, stderr } = await holdfast(['status', 'x'], { env: { TEMPORAL_CONFIG_FILE: file } });
      assert.equal(code, 1);
      assert.match(stderr, /^holdfast: the Temporal settings cannot be used: .+\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
