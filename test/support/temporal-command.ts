import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { ADDRESS } from '../client/temporal.ts';
import { temporalCli } from './dev-server.ts';

/** Runs the Temporal CLI as an operator does, against the run's server. Rejects with what it printed when it fails. */
export async function temporal(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(temporalCli(), [...args, '--address', ADDRESS]);
  return stdout;
}
