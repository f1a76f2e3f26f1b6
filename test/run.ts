/**
 * The test runner behind `npm test`: `tsx test/run.ts [--concurrency N] [--test-… options of node] [files, folders]`.
 * Starts one dev server for the whole run, runs the test files, each in a process of its own, and passes node's exit
 * code on. Tests find the server in TEMPORAL_ADDRESS and the CLI in HOLDFAST_TEST_TEMPORAL_CLI. Whatever the run
 * started ends with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startDevServer, temporalCli } from './support/dev-server.ts';
import { groupMembers, holdChild, signalGroup, stopChild } from './support/leash.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `node --test` expands no patterns on Node 20, so the files are found here. */
function testFiles(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => {
      if (entry.isDirectory()) return testFiles(join(path, entry.name));
      return entry.name.endsWith('.test.ts') ? [join(path, entry.name)] : [];
    })
    .toSorted();
}

function readArguments(args: string[]): { files: string[]; nodeOptions: string[] } {
  const paths: string[] = [];
  const passed: string[] = [];
  let concurrency = '3';
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--concurrency') concurrency = args[++i] ?? '';
    else if (arg.startsWith('--test-')) passed.push(arg);
    else if (arg.startsWith('-')) throw new Error(`unknown option ${arg}`);
    else paths.push(arg);
  }
  if (!/^[1-9]\d*$/.test(concurrency)) throw new Error('--concurrency takes a whole number from 1');
  const files = (paths.length > 0 ? paths : [join(root, 'test')]).flatMap(testFiles);
  if (files.length === 0) throw new Error('no test files there');
  return {
    files: files.map((file) => relative(process.cwd(), file)),
    // On Node 20 this timeout is a whole file's, so it has to leave room for a file of many crashes.
    nodeOptions: [`--test-concurrency=${concurrency}`, '--test-timeout=600000', ...passed],
  };
}

/**
 * Nothing of the caller's own: not his Temporal, and never his API key. Nor what tells node that it is inside a test
 * already, because then it would run nothing and call that a success.
 */
function testEnvironment(address: string, cli: string): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(
    ([name]) => !/^(TEMPORAL_|OPENAI_|HOLDFAST_(?!TEST_)|NODE_TEST_CONTEXT$)/.test(name),
  );
  return {
    ...Object.fromEntries(env),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_CONFIG_FILE: '/dev/null',
    HOLDFAST_TEST_TEMPORAL_CLI: cli,
  };
}

async function main(): Promise<number> {
  const { files, nodeOptions } = readArguments(process.argv.slice(2));
  const cli = temporalCli();
  process.env['HOLDFAST_TEST_TEMPORAL_CLI'] = cli;
  const server = await startDevServer();
  process.stdout.write(`Temporal dev server at ${server.address}; ${files.length} test files\n`);
  const tests = spawn(
    process.execPath,
    ['--import', 'tsx', '--test', '--test-reporter=spec', ...nodeOptions, ...files],
    { detached: true, stdio: ['ignore', 'inherit', 'inherit'], env: testEnvironment(server.address, cli) },
  );
  holdChild(tests);
  let stoppedBy: NodeJS.Signals | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stoppedBy = signal;
      void stopChild(tests, 'SIGTERM', 5_000);
    });
  }
  const [code] = (await once(tests, 'exit')) as [number | null];
  // A compiler's helper process ends a moment after the process that it helped.
  for (let i = 0; i < 10 && groupMembers(tests).length > 0; i++) await delay(100);
  const left = stoppedBy === undefined ? groupMembers(tests) : [];
  signalGroup(tests, 'SIGKILL');
  if (left.length > 0)
    process.stdout.write(`Left behind by some test, and killed:\n  ${left.join('\n  ')}\n`);
  await server.stop();
  return stoppedBy === undefined ? (code ?? 1) : 128 + constants.signals[stoppedBy];
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`test/run.ts: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
