/** The `holdfast` command as a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { holdChild } from '../support/leash.ts';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts the command; it goes when the test process goes. */
export function launch(args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', main, ...args], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  holdChild(child);
  return child;
}

/** Runs the command to its end. */
export async function holdfast(
  args: string[],
  options: { stdin?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Finished> {
  const child = launch(args, options.env);
  child.stdin?.end(options.stdin ?? '');
  return finished(child);
}

/** What a started command printed until its end, from now on. */
export async function finished(child: ChildProcess): Promise<Finished> {
  const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  child.stdout?.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: utf8(chunks.stdout), stderr: utf8(chunks.stderr) };
}

function utf8(parts: Buffer[]): string {
  return Buffer.concat(parts).toString('utf8');
}

/**
 * Waits until stdout matches; the command's output is read on, so that it never blocks or breaks on its pipe.
 * Throws when the command ends without it.
 */
export async function line(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stderr?.resume();
    child.stdout?.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString('utf8')).slice(-10_000);
      const found = pattern.exec(text);
      if (found !== null) resolve(found);
    });
    child.once('close', () => reject(new Error(`the command ended without ${String(pattern)}: ${text}`)));
  });
}
