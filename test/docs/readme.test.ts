/** What the README shows is what the project does: its snippets are files that compile and run, its table is read. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { startEmulator } from '../../src/emulator/index.ts';
import { FAULT_POINTS } from '../../src/faults/fault-point.ts';
import { readConfig } from '../../src/worker/config.ts';
import { unique } from '../client/temporal.ts';
import { holdChild } from '../support/leash.ts';
import { WorkerProcess } from '../support/stack.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const pages = ['README.md', 'CHANGELOG.md', 'docs/crash-test.md', 'docs/design.md', 'docs/probe.md'];

/** A file of the examples as somebody would write it who has installed the package. */
function asInstalled(path: string): string {
  return readFileSync(join(root, path), 'utf8')
    .trimEnd()
    .replaceAll("'../index.ts'", "'holdfast'")
    .replaceAll("'../client/index.ts'", "'holdfast/client'");
}

function run(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  return child;
}

/** The rows of the configuration table: variable, default. A default that is no value but words is undefined. */
function table(): [name: string, fallback: string | undefined][] {
  return [...readme.matchAll(/^\| `([A-Z_]+)` *\| *([^|]*?) *\|/gm)].map(([, name = '', fallback = '']) => [
    name,
    /^`(.*)`$/.exec(fallback)?.[1],
  ]);
}

describe('the README', () => {
  it('shows files of this project, word for word', () => {
    const snippets = [...readme.matchAll(/^```ts\n(.*?)\n```$/gms)].map(([, code]) => code);
    assert.deepEqual(snippets, [
      asInstalled('src/examples/readme-agents.ts'),
      asInstalled('src/examples/readme-client.ts'),
    ]);
  });

  it('shows agents and a client that work together', async () => {
    const emulator = await startEmulator({ deltaMs: 1 });
    const env = {
      OPENAI_BASE_URL: emulator.url,
      OPENAI_API_KEY: 'test-key',
      HOLDFAST_TASK_QUEUE: unique('readme'),
    };
    const command = ['src/cli/main.ts', 'worker', '--agents', 'src/examples/readme-agents.ts'];
    const worker = new WorkerProcess(run(command, env));
    try {
      await worker.ready();
      const client = run(['src/examples/readme-client.ts'], env);
      holdChild(client);
      let output = '';
      client.stdout.on('data', (data: Buffer) => (output += data.toString()));
      client.stderr.on('data', (data: Buffer) => (output += data.toString()));
      const [code] = (await once(client, 'close')) as [number | null];
      assert.equal(code, 0, output);
      assert.match(
        output,
        /^I called (find_order and refund_order|refund_order and find_order)\. .*"receipt":"hf_[0-9a-f]{40}"/,
      );
    } finally {
      await worker.kill();
      await emulator.close();
    }
  });

  it('lists every variable of a worker, with its default', () => {
    const config = readFileSync(join(root, 'src/worker/config.ts'), 'utf8');
    const read = [...config.matchAll(/^ {2}([A-Z]+_[A-Z_]+): /gm)].map(([, name]) => name);
    assert.ok(read.length > 10);
    assert.deepEqual(new Set(table().map(([name]) => name)), new Set(read));
    const base = { OPENAI_API_KEY: 'k' };
    for (const [name, fallback] of table()) {
      if (fallback === undefined) continue;
      assert.deepEqual(readConfig({ ...base, [name]: fallback }), readConfig(base), `the default of ${name}`);
    }
  });
});

describe('the pages', () => {
  for (const page of pages) {
    it(`${page} links to files that are there`, () => {
      const text = readFileSync(join(root, page), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, link = '']) => link);
      const missing = links.filter((link) => !existsSync(join(root, page, '..', link)));
      assert.deepEqual(missing, []);
    });
  }

  it('docs/design.md says of every crash point what is found after it', () => {
    const text = readFileSync(join(root, 'docs/design.md'), 'utf8');
    assert.deepEqual(
      FAULT_POINTS.filter((point) => !text.includes(`\`${point}\``)),
      [],
    );
  });

  it('docs/design.md names files that are there', () => {
    const text = readFileSync(join(root, 'docs/design.md'), 'utf8');
    const paths = [...text.matchAll(/`((?:src|workflows|activities|test|docs)\/[\w./-]*)`/g)].map(
      ([, path = '']) => path,
    );
    assert.ok(paths.length > 20);
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    );
  });
});
