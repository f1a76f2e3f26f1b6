import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';

import type { ProbeOptions, ProbeReport } from '../probe/index.ts';
import {
  counted,
  estimate,
  isQuestion,
  LIMITS,
  probe as run,
  profileOf,
  QUESTIONS,
  reportText,
  saveProfile,
} from '../probe/index.ts';
import { EXIT, fail, print, printJson, say, UsageError } from './output.ts';

interface ProbeCommand {
  baseUrl?: string;
  model?: string;
  json?: boolean;
  save?: string;
  only?: string;
  budgetCents: number;
  listen: number;
  timeout: number;
  yes?: boolean;
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

/**
 * `holdfast probe`: the report on stdout, everything else on stderr. Exit codes: 0 Holdfast works with every answer,
 * 1 with one it does not, 2 whatever keeps it from saying so. A signal ends the run, and deletes its sessions.
 */
export async function probe(command: ProbeCommand): Promise<void> {
  const stop = new AbortController();
  const stopped = stopAtSignals(stop);
  try {
    const options = optionsOf(command, stop.signal);
    if (command.save !== undefined) await checkPlace(command.save);
    const report = await run({ ...options, confirm: async () => confirm(options, command.yes === true) });
    if (command.json === true) printJson(report);
    else print(reportText(report));
    process.exitCode = exitCodeOf(report);
    if (command.save !== undefined) await save(command.save, report);
  } catch (error) {
    fail(error);
    // Not 1, which would say that an assumption is broken.
    process.exitCode = EXIT.usage;
  } finally {
    const code = stopped();
    if (code !== null) process.exitCode = code;
  }
}

function exitCodeOf({ findings, broken }: ProbeReport): number {
  if (findings.every(({ verdict }) => verdict === 'not_asked')) return EXIT.usage;
  return broken.length === 0 ? EXIT.ok : EXIT.failed;
}

/** Before anything is paid for: can the profile be written there? */
async function checkPlace(file: string): Promise<void> {
  try {
    const there = await stat(file).catch(() => null);
    if (there?.isDirectory() === true) throw Object.assign(new Error(), { code: 'EISDIR' });
    await access(there === null ? dirname(file) : file, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--save: ${file} cannot be written (${code}): give another place`);
  }
}

async function save(file: string, report: ProbeReport): Promise<void> {
  if (report.stopped) return say('holdfast: no profile is saved, as the run was stopped');
  await saveProfile(file, profileOf(report));
  say(`holdfast: profile saved, play it with holdfast emulator --profile ${file}`);
}

/** The first signal aborts, a second one ends the process at once. Answers what ends this, and tells the exit code. */
function stopAtSignals(stop: AbortController): () => number | null {
  let by: number | null = null;
  const handlers = Object.entries(SIGNALS).map(([signal, code]) => {
    const handler = (): void => {
      if (by !== null) {
        say('holdfast: stopped at once; sessions may be left behind');
        process.exit(code);
      }
      by = code;
      say('holdfast: stopping, and deleting what was created');
      stop.abort();
    };
    process.on(signal, handler);
    return () => void process.off(signal, handler);
  });
  return () => {
    for (const off of handlers) off();
    return by;
  };
}

function optionsOf(command: ProbeCommand, signal: AbortSignal): ProbeOptions {
  const baseUrl = command.baseUrl ?? variable('OPENAI_BASE_URL') ?? '';
  if (baseUrl === '') {
    throw new UsageError('give --base-url: https://api.openai.com/v1 is the service, which costs money');
  }
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`--base-url: expected an http or https URL, got ${JSON.stringify(baseUrl)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('--base-url: leave user and password out, the key is taken from OPENAI_API_KEY');
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError('--base-url: paths are appended to it, so leave out what follows ? or #');
  }
  const apiKey = variable('OPENAI_API_KEY') ?? (isLocal(baseUrl) ? 'local' : undefined);
  if (apiKey === undefined) throw new UsageError('OPENAI_API_KEY is not set: give the key of that server');
  const only = command.only?.split(',').map((id) => id.trim().toUpperCase()) ?? null;
  const unknown = only?.find((id) => !isQuestion(id));
  if (unknown !== undefined) {
    const known = QUESTIONS.map(({ id }) => id).join(', ');
    throw new UsageError(`--only: there is no question ${JSON.stringify(unknown)}; there are ${known}`);
  }
  return {
    baseUrl,
    apiKey,
    model: command.model ?? variable('HOLDFAST_MODEL') ?? 'gpt-5',
    only,
    budgetCents: command.budgetCents === 0 ? null : command.budgetCents,
    limits: { listenMs: command.listen * 1000, totalMs: command.timeout * 1000 },
    signal,
    progress: (doing) => say(`holdfast: ${doing}`),
  };
}

/** What it will do, and, where it may cost money, whether it may. Throws UsageError for a no. */
async function confirm(options: ProbeOptions, yes: boolean): Promise<void> {
  const { sessions, turns, most } = estimate(options.only);
  if (sessions === 0) return;
  const { host } = new URL(options.baseUrl);
  const limit =
    options.budgetCents === null
      ? 'without a spending limit'
      : `each limited to ${options.budgetCents} cents`;
  say(
    `This makes ${counted(sessions, 'session')} at ${host}, ${limit}, runs ${turns} to ${most} short turns of ${options.model} in ` +
      `them, ${Math.round((options.limits?.totalMs ?? LIMITS.totalMs) / 1000)} s at most, and deletes them.`,
  );
  if (yes || isLocal(options.baseUrl)) return;
  say('A server that runs real models takes money for that.');
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError('nobody can be asked here: give --yes if the turns may be paid for');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  options.signal?.addEventListener('abort', () => terminal.close(), { once: true });
  const answer = await Promise.race([terminal.question('Go on? [y/N] '), ended]);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim()) && options.signal?.aborted !== true)
    throw new UsageError('nothing was asked');
}

/** An environment variable; an empty one counts as not set. */
function variable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

function isLocal(baseUrl: string): boolean {
  return LOOPBACK.test(new URL(baseUrl).hostname);
}
