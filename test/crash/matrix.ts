/**
 * The crash matrix: `npm run crash [-- options]`. Kills a real worker with SIGKILL at every fault point, in tasks of
 * every shape, and checks what came of it. Ends with 1 when a cell failed. Starts a dev server unless
 * TEMPORAL_ADDRESS names one.
 *
 *   --point POINT      only this point (may be given again)
 *   --shape SHAPE      only this shape of task (may be given again)
 *   --heartbeat 10s    the workers' heartbeat timeout; the default is the product's own
 *   --jobs 6           cells at a time
 *   --limit 15         seconds to the next progress; a cell that took longer has failed (0: no limit)
 *   --json             one JSON object instead of the table
 */
import { parseArgs } from 'node:util';

import { FAULT_POINTS } from '../../src/faults/fault-point.ts';
import { startDevServer } from '../support/dev-server.ts';
import type { CellResult } from './cell.ts';
import { cells, rowName, SHAPES, type Cell } from './cells.ts';
import { reportOf, tableOf } from './matrix-report.ts';

const CELL_TIMEOUT_MS = 90_000;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      point: { type: 'string', multiple: true, default: [] },
      shape: { type: 'string', multiple: true, default: [] },
      heartbeat: { type: 'string', default: '10s' },
      jobs: { type: 'string', default: '6' },
      limit: { type: 'string', default: '15' },
      json: { type: 'boolean', default: false },
    },
  });
  known('--point', values.point, FAULT_POINTS);
  known(
    '--shape',
    values.shape,
    SHAPES.map(({ name }) => name),
  );
  const jobs = whole('--jobs', values.jobs, 1);
  const limit = whole('--limit', values.limit, 0);
  const chosen = cells(values.point, values.shape);
  const server = process.env['TEMPORAL_ADDRESS'] ? null : await startDevServer();
  if (server) process.env['TEMPORAL_ADDRESS'] = server.address;
  try {
    process.stderr.write(`${chosen.length} cells, ${jobs} at a time\n`);
    const report = reportOf(await runAll(chosen, values.heartbeat, jobs, limit));
    process.stdout.write(`${values.json ? JSON.stringify(report, null, 2) : tableOf(report)}\n`);
    return report.failed === 0 ? 0 : 1;
  } finally {
    await server?.stop();
  }
}

async function runAll(
  chosen: readonly Cell[],
  heartbeat: string,
  jobs: number,
  limit: number,
): Promise<CellResult[]> {
  // Only now: it reads the server's address when it is loaded.
  const { runCell } = await import('./cell.ts');
  const results = new Map<Cell, CellResult>();
  const waiting = [...chosen];
  const work = async (): Promise<void> => {
    for (let cell = waiting.shift(); cell; cell = waiting.shift()) {
      const result = await runCell(cell, { heartbeat, timeoutMs: CELL_TIMEOUT_MS });
      const { recovery_seconds: took } = result;
      if (limit > 0 && took !== null && took > limit) {
        result.passed = false;
        result.problems.push(`the next progress came after ${took.toFixed(1)} s instead of ${limit} s`);
      }
      results.set(cell, result);
      const how = result.passed ? 'ok' : `FAILED: ${result.problems.join('; ')}`;
      process.stderr.write(`${results.size}/${chosen.length} ${rowName(cell)} ${cell.shape.name} ${how}\n`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return chosen.flatMap((cell) => results.get(cell) ?? []);
}

function known(option: string, given: readonly string[], names: readonly string[]): void {
  const unknown = given.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`${option}: there is no ${unknown}; there are ${names.join(', ')}`);
}

function whole(option: string, text: string, min: number): number {
  if (/^\d+$/.test(text) && Number(text) >= min) return Number(text);
  throw new Error(`${option}: expected a whole number from ${min}, got "${text}"`);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`crash matrix: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
