import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { ADDRESS } from '../client/temporal.ts';
import { temporalCli } from './dev-server.ts';

/** What a command printed, and its exit code. */
export interface Tried {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the Temporal CLI as an operator does, against the run's server. Rejects with what it printed when it fails. */
export async function temporal(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(temporalCli(), [...args, '--address', ADDRESS]);
  return stdout;
}

/** The CLI waits for a task that is stuck for as long as it takes. */
const PATIENCE_MS = 60_000;

/** The same for a command that may fail. */
export async function tried(...args: string[]): Promise<Tried> {
  return new Promise((resolve) => {
    execFile(
      temporalCli(),
      [...args, '--address', ADDRESS],
      { timeout: PATIENCE_MS },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

/** The error that the CLI has logged. */
export function told(stderr: string): string {
  const [, quoted = '""'] = /level=ERROR msg=("(?:[^"\\]|\\.)*")/.exec(stderr) ?? [];
  return JSON.parse(quoted) as string;
}
