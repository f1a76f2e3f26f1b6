/** Workflow code stays deterministic: Temporal's bundler refuses Node's modules, lint refuses forbidden imports. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the boundary of workflow code', () => {
  const made: string[] = [];
  after(() => made.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

  /** A file in a folder of its own inside `parent`, removed afterwards. */
  function file(parent: string, code: string): string {
    const folder = mkdtempSync(join(root, parent, 'forbidden-'));
    made.push(folder);
    const path = join(folder, 'probe.ts');
    writeFileSync(path, code);
    return path;
  }

  it('a Node module in workflow code is refused by the bundler', async () => {
    const workflowsPath = file(
      'node_modules',
      `import { readFileSync } from 'node:fs';\nexport const w = async () => readFileSync('x');\n`,
    );
    const told: string[] = [];
    const logger = new DefaultLogger('ERROR', ({ message }) => told.push(message));
    await assert.rejects(bundleWorkflowCode({ workflowsPath, logger }), /Webpack finished with errors/);
    assert.match(told.join(), /'node:fs'|node:fs/);
  });

  const forbidden: [string, string][] = [
    ['workflows', 'node:fs/promises'],
    ['workflows', 'zod'],
    ['workflows', '../../src/openai/keys.ts'],
    ['src/protocol', '@temporalio/common'],
    ['src/protocol', 'node:crypto'],
    ['src/openai', '@temporalio/activity'],
    ['src/openai', '../../tools/plan.ts'],
    ['src/tools', '../../openai/keys.ts'],
    ['src/emulator', '../../protocol/calls.ts'],
    ['src/emulator', '../../openai/deliver.ts'],
    ['src/client', '../../worker/config.ts'],
    ['src/schema', '../../client/index.ts'],
    ['activities', '../../workflows/index.ts'],
  ];
  it('every forbidden arrow is refused by lint', () => {
    const paths = forbidden.map(([parent, module]) =>
      file(parent, `import * as probe from '${module}';\nexport const used = probe;\n`),
    );
    const oxlint = join(root, 'node_modules/.bin/oxlint');
    const { stdout } = spawnSync(oxlint, ['--format=unix', ...paths], { cwd: root, encoding: 'utf8' });
    for (const [index, path] of paths.entries()) {
      const short = path.slice(root.length);
      const caught = stdout
        .split('\n')
        .some((line) => line.includes(short) && line.includes('no-restricted-imports'));
      assert.ok(caught, `${forbidden[index]?.join(' → ')} is not refused:\n${stdout}`);
    }
  });

  it('the bundle holds neither zod nor the API client', async () => {
    const { workflowBundle } = await import('../support/workflow-bundle.ts');
    const bundle = readFileSync(await workflowBundle(), 'utf8');
    assert.match(bundle, /node_modules\/@temporalio\/workflow\//);
    assert.doesNotMatch(bundle, /node_modules\/(zod|openai|pino)\//);
  });
});
