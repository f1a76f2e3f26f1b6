import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { temporalCli } from '../support/dev-server.ts';
import { until } from '../support/until.ts';
import { assertOneLine, familyOf, Sandbox, stillRunning } from './sandbox.ts';

const cli = temporalCli();
// All that the script may use before it has a CLI: no curl, so no network, and no Go.
const basics = [
  'bash',
  'node',
  'dirname',
  'mkdir',
  'ln',
  'readlink',
  'find',
  'uname',
  'tar',
  'gzip',
  'env',
  'sleep',
];
const system = [...basics, 'rm', 'mv', 'cat', 'mktemp', 'mkfifo', 'grep', 'ps'];
const goodCli = `case "$*" in
  --version) echo "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)" ;;
  *) echo "--dynamic-config-value KEY --search-attribute KEY" ;;
esac`;

let box: Sandbox;
before(() => {
  box = new Sandbox();
});
after(() => box.remove());

describe('temporal-dev.sh: the temporal CLI', () => {
  it('takes TEMPORAL_CLI, and prints nothing but its path', async () => {
    const { code, out } = await box.run(['cli-path'], { TEMPORAL_CLI: cli });
    assert.deepEqual([code, out], [0, `${cli}\n`]);
  });

  it('takes a relative TEMPORAL_CLI as the caller means it', async () => {
    const path = box.program('good', goodCli);
    const { code, out } = await box.run(['cli-path'], { TEMPORAL_CLI: './bin/good' });
    assert.deepEqual([code, join(out.trim())], [0, path]);
  });

  it('refuses a TEMPORAL_CLI that is not there', async () => {
    for (const path of ['/nowhere/temporal', 'no-such-program', join(box.folder, 'package.json')]) {
      const { code, out, err } = await box.run(['cli-path'], { TEMPORAL_CLI: path });
      assert.deepEqual([code, out], [1, '']);
      assertOneLine(err, /TEMPORAL_CLI is .* correct or unset it/);
      assert.ok(err.includes(path));
    }
  });

  const unfit = {
    'an old version': [
      'echo "temporal version 1.2.4 (Server 1.26.2, UI 2.34.0)"',
      /is too old \(1\.2\.4, 1\.3 or newer/,
    ],
    'a build without the flags': [
      'echo "temporal version 0.0.0-DEV (Server 1.20)"',
      /is too old \(0\.0\.0-DEV, /,
    ],
    'another program': ['echo "tctl version 1.18"', /is not the Temporal CLI/],
    'one that fails': ['exit 1', /does not run/],
  } satisfies Record<string, [string, RegExp]>;
  for (const [what, [body, pattern]] of Object.entries(unfit)) {
    it(`refuses ${what}, from TEMPORAL_CLI and from PATH`, async () => {
      const own = new Sandbox();
      try {
        const path = own.program('temporal', body);
        for (const env of [{ TEMPORAL_CLI: path }, { PATH: own.pathWith(...system) }]) {
          const { code, out, err } = await own.run(['cli-path'], env);
          assert.deepEqual([code, out], [1, '']);
          assertOneLine(err, pattern);
          assert.match(err, /set TEMPORAL_CLI to /);
        }
      } finally {
        own.remove();
      }
    });
  }
});

describe('temporal-dev.sh: getting the CLI', () => {
  let own: Sandbox;
  const builds = (): number => readFileSync(join(own.folder, 'builds'), 'utf8').length;
  /** A `go` that takes its time and leaves a CLI in GOBIN, counting its runs. */
  const fakeGo = (): string =>
    own.program(
      'go',
      `printf x >>"${own.folder}/builds"; until [ -e "${own.folder}/go-on" ]; do sleep 0.05; done
cat >"$GOBIN/temporal" <<'CLI'
#!/usr/bin/env bash
${goodCli}
CLI
chmod +x "$GOBIN/temporal"`,
    );

  before(() => {
    own = new Sandbox();
  });
  after(() => own.remove());

  it('without Go and network: one line that says what to do', async () => {
    const { code, out, err } = await own.run(['cli-path'], { PATH: own.pathWith(...system) });
    assert.deepEqual([code, out], [1, '']);
    assertOneLine(err, /Go is not installed: install it \(https:.*TEMPORAL_CLI/);
    assert.ok(!existsSync(join(own.cache, 'lock')));
  });

  it('says that building failed, and where the log is', async () => {
    own.program('go', 'echo no route to the proxy; exit 1');
    const { code, err } = await own.run(['cli-path'], { PATH: own.pathWith(...system) });
    assert.equal(code, 1);
    const lines = err.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /takes about 3 to 4 minutes, once/);
    assertOneLine(`${lines.slice(1).join('\n')}\n`, /building the temporal CLI failed/);
    assert.match(readFileSync(join(own.cache, 'build.log'), 'utf8'), /no route to the proxy/);
  });

  it('builds once for two runs at the same time, past the lock of a dead one', async () => {
    fakeGo();
    const env = { PATH: own.pathWith(...system, 'chmod') };
    mkdirSync(own.cache, { recursive: true });
    symlinkSync(String(await deadProcess()), join(own.cache, 'lock'));
    const first = own.start(['cli-path'], env);
    await until('the build begins', () => existsSync(join(own.folder, 'builds')));
    const second = own.start(['cli-path'], env);
    await until('the second waits', () => second.err().includes('waiting for it'));
    await until('there is a sign of life', () => first.err().includes('s so far'));
    writeFileSync(join(own.folder, 'go-on'), '');
    assert.deepEqual([await first.ended, await second.ended], [0, 0]);
    const path = join(own.cache, 'temporal');
    assert.deepEqual([first.out(), second.out(), builds()], [`${path}\n`, `${path}\n`, 1]);
    assert.ok(!existsSync(join(own.cache, 'lock')));
  });

  it('takes the cached one the next time', async () => {
    own.program('go', 'exit 1');
    const { code, out, err } = await own.run(['cli-path'], { PATH: own.pathWith(...system) });
    assert.deepEqual([code, out, err], [0, `${join(own.cache, 'temporal')}\n`, '']);
  });

  it('replaces a cached one that does not run, from the official archive', async () => {
    writeFileSync(join(own.cache, 'temporal'), 'half a file', { mode: 0o755 });
    own.program('go', 'exit 1');
    own.program(
      'curl',
      `while [ "$1" != -o ]; do shift; done
case $3 in https://temporal.download/cli/archive/latest\\?platform=*\\&arch=*) ;; *) exit 22 ;; esac
mkdir -p "${own.folder}/archive"
cp "${own.program('released', goodCli)}" "${own.folder}/archive/temporal"
tar -czf "$2" -C "${own.folder}/archive" temporal`,
    );
    const { code, out, err } = await own.run(['cli-path'], { PATH: own.pathWith(...system, 'cp') });
    assert.deepEqual([code, out, err], [0, `${join(own.cache, 'temporal')}\n`, '']);
    assert.match(readFileSync(join(own.cache, 'temporal'), 'utf8'), /1\.5\.1/);
  });

  it('stops the build when it is stopped, and leaves no lock', async () => {
    writeFileSync(join(own.cache, 'temporal'), '', { mode: 0o644 });
    own.program('curl', 'exit 6');
    own.program('go', `printf x >>"${own.folder}/builds"; exec sleep 600`);
    const earlier = builds();
    const run = own.start(['cli-path'], { PATH: own.pathWith(...system) });
    await until('the build begins', () => builds() > earlier);
    const family = familyOf(run);
    assert.ok(family.some((each) => each.command === 'sleep 600'));
    run.child.kill('SIGTERM');
    assert.equal(await run.ended, 143);
    assert.deepEqual(stillRunning(family), []);
    assert.ok(!existsSync(join(own.cache, 'lock')));
  });
});

/** The id of a process that has ended. */
async function deadProcess(): Promise<number> {
  const run = box.start(['--help']);
  await run.ended;
  return run.child.pid ?? 0;
}
