import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bundleWorkflowCode } from '@temporalio/worker';

import { bundleOptions } from '../../src/worker/bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/holdfast-test');

/**
 * The path of the bundle of the present workflow code, made once for all test processes.
 * @param faults with the fault points of workflow code, for a worker that is armed with one.
 */
export async function workflowBundle(faults = false): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['workflows', 'src/protocol']) {
    for (const file of readdirSync(join(root, folder)).toSorted()) {
      if (!file.endsWith('.ts')) continue;
      hash.update(file).update(readFileSync(join(root, folder, file)));
    }
  }
  hash.update(readFileSync(join(root, 'package-lock.json')));
  const path = join(cache, `${hash.digest('hex').slice(0, 20)}${faults ? '-faults' : ''}.js`);
  if (existsSync(path)) return path;
  const quiet = (): void => {};
  const logger = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };
  const { code } = await bundleWorkflowCode({
    ...bundleOptions(faults),
    logger,
  });
  mkdirSync(cache, { recursive: true });
  // Test files run side by side: a reader never sees half a bundle.
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, code);
  renameSync(mine, path);
  return path;
}
