import { createInterface } from 'node:readline/promises';

import { msToNumber } from '@temporalio/common/lib/time.js';

import type { Bench, CrashTestOptions, PointVerdict, TestPlan } from '../crash-test/index.ts';
import { CRASH_POINTS, isCrashPoint, type CrashPoint } from '../crash-test/points.ts';
import { isRecord } from '../protocol/json.ts';
import { safeJson } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';
import { EXIT, fail, print, printJson, say, UsageError } from './output.ts';
import { parseJson, readText } from './read.ts';

interface CrashTestCommand {
  agent?: string[];
  tool?: string[];
  arguments?: string;
  observe?: string;
  point?: string[];
  resultsMayDiffer?: string[];
  timeout?: string;
  json?: boolean;
  yes?: boolean;
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const WIDTH = 100;

/**
 * `holdfast crash-test`: the report on stdout, everything else on stderr. Exit codes: 0 every declaration held,
 * 1 one broke or a tool could not be tested, 2 the test itself could not be run.
 */
export async function crashTest(agentsFile: string, command: CrashTestCommand): Promise<void> {
  let bench: Bench | null = null;
  for (const [signal, code] of Object.entries(SIGNALS)) {
    process.once(signal, () => {
      say('holdfast: stopping, and ending what was started');
      void (bench?.close() ?? Promise.resolve()).finally(() => process.exit(code));
    });
  }
  try {
    const options = optionsOf(agentsFile, command);
    const mayAsk = process.stdin.isTTY && process.stderr.isTTY;
    if (command.yes !== true && !mayAsk)
      throw new UsageError('nobody can be asked here: give --yes if the tools may be executed');
    // Only now: it takes a while to load.
    const { CrashTest, reportText } = await import('../crash-test/index.ts');
    const test = await CrashTest.prepare(options, (opened) => (bench = opened));
    say(warning(test.plan, test.observed));
    if (command.yes !== true) await ask();
    const report = await test.run(tellProgress);
    if (command.json === true) printJson(report);
    else print(reportText(report));
    process.exitCode = report.held ? EXIT.ok : EXIT.failed;
  } catch (error) {
    fail(error);
    // Not 1, which would say that a declaration broke.
    process.exitCode = EXIT.usage;
  } finally {
    await (bench as Bench | null)?.close();
  }
}

function optionsOf(agentsFile: string, command: CrashTestCommand): CrashTestOptions {
  return {
    agentsFile,
    observeFile: command.observe ?? null,
    agents: command.agent ?? [],
    tools: command.tool ?? [],
    arguments: argumentsOf(command.arguments),
    points: (command.point ?? []).map(pointOf),
    resultsMayDiffer: command.resultsMayDiffer ?? [],
    limitMs: limitOf(command.timeout),
  };
}

function argumentsOf(given: string | undefined): Record<string, unknown> {
  if (given === undefined) return {};
  const json = given.trimStart().startsWith('{') ? given : readText('--arguments', given);
  const parsed = parseJson('--arguments', json);
  if (!isRecord(parsed))
    throw new UsageError('--arguments: expected an object with the arguments of each tool');
  return parsed;
}

function pointOf(name: string): CrashPoint {
  if (isCrashPoint(name)) return name;
  throw new UsageError(`--point: there is no ${JSON.stringify(name)}; there are: ${CRASH_POINTS.join(', ')}`);
}

function limitOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  try {
    const ms = msToNumber(text as Parameters<typeof msToNumber>[0]);
    if (Number.isFinite(ms) && ms > 0) return ms;
  } catch {
    // Said below.
  }
  throw new UsageError(`--timeout: expected a duration such as "90s", got ${JSON.stringify(text)}`);
}

/** Throws UsageError when the answer is no. */
async function ask(): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C at the question is a Ctrl-C, and the end of the input is a no.
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const answer = await Promise.race([terminal.question('Go on? [y/N] '), ended]);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing was executed');
}

function warning({ tools, executions }: TestPlan, observed: boolean): string {
  const lines = tools.map(({ facts }) => {
    const call = `${facts.name}(${oneLine(safeJson(facts.arguments), WIDTH)})`;
    return `  ${facts.effect.padEnd(10)} ${call}`;
  });
  return [
    `This really executes the tools below, up to ${executions} times in all, in workers that are killed while they run.`,
    'Use a test environment: test keys, a test database, nobody who gets mail.',
    ...lines,
    observed
      ? 'Effects are observed by observe().'
      : 'There is no observe(): effects are not observed, results are compared.',
  ].join('\n');
}

function tellProgress(who: string, verdict: PointVerdict | null): void {
  if (verdict === null) return say(`${who.padEnd(20)} ${'no crash'.padEnd(22)} done`);
  const { point, held, reached, seconds } = verdict;
  const result = held ? (reached ? 'held' : 'not reached') : 'BROKE';
  say(`${who.padEnd(20)} ${point.padEnd(22)} ${result} (${seconds.toFixed(1)} s)`);
}
