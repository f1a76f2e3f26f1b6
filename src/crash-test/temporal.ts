/** The Temporal server of a crash test: the one of the environment, or else a dev server of its own. */
import { once } from 'node:events';
import { accessSync, constants, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

import { Client, Connection } from '@temporalio/client';

import { connectClient } from '../client/connect.ts';
import { ServerUnavailableError } from '../client/errors.ts';
import { temporalSettings } from '../client/settings.ts';
import { CrashTestError } from './crash-test-error.ts';
import type { Held, Processes } from './processes.ts';

const CONNECT_MS = 3_000;
const READY_MS = 60_000;
const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]):\d+$/;

/** As `temporal-dev.sh` has them: activities start eagerly, and the next step of a workflow does not wait for a tick. */
const DEV_SERVER = ['server', 'start-dev', '--ip', '127.0.0.1', '--headless', '--log-level', 'error'];
const DEV_SETTINGS = ['system.enableActivityEagerExecution=true', 'history.transferProcessorMaxPollRPS=1000'];

export interface Temporal {
  client: Client;
  address: string;
  /** It was started for this crash test, and goes with it. */
  own: boolean;
  /** The environment in which workers find it. */
  env: NodeJS.ProcessEnv;
}

/**
 * Connects as the environment says. Where nothing answers on this machine, a dev server is started; a server that
 * the environment names elsewhere is not replaced. Throws CrashTestError or ServerUnavailableError.
 */
export async function findTemporal(processes: Processes): Promise<Temporal> {
  const { address } = temporalSettings();
  try {
    const client = await connectClient({ connectTimeoutMs: CONNECT_MS });
    return { client, address, own: false, env: process.env };
  } catch (error) {
    const absent = error instanceof ServerUnavailableError && error.reason === 'unreachable';
    if (!absent || !LOCAL.test(address)) throw error;
  }
  const cli = findCli();
  if (cli === null) {
    throw new CrashTestError(
      `no Temporal server at ${address}, and no temporal command to start one with: ` +
        'install it (https://docs.temporal.io/cli), or set TEMPORAL_CLI to its path or TEMPORAL_ADDRESS to a server',
    );
  }
  return startDevServer(cli, processes);
}

/** TEMPORAL_CLI, the PATH, the cache of `temporal-dev.sh`; null when it is nowhere. */
export function findCli(env: NodeJS.ProcessEnv = process.env): string | null {
  const { TEMPORAL_CLI: named, PATH: path = '', XDG_CACHE_HOME: cache } = env;
  if (named) {
    const found = named.includes('/') ? (isProgram(named) ? named : null) : onPath(named, path);
    if (found === null) throw new CrashTestError(`TEMPORAL_CLI is ${named}, which cannot be executed`);
    return found;
  }
  const cached = join(cache || join(homedir(), '.cache'), 'holdfast', 'bin', 'temporal');
  return onPath('temporal', path) ?? (isProgram(cached) ? cached : null);
}

function onPath(name: string, path: string): string | null {
  return (
    path
      .split(delimiter)
      .map((folder) => join(folder || '.', name))
      .find(isProgram) ?? null
  );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

async function startDevServer(cli: string, processes: Processes): Promise<Temporal> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const settings = DEV_SETTINGS.flatMap((setting) => ['--dynamic-config-value', setting]);
  // Nothing that is meant for another server may reach this one.
  const rest = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  const env = {
    ...Object.fromEntries(rest),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_CONFIG_FILE: '/dev/null',
  };
  const server = processes.command(cli, [...DEV_SERVER, '--port', String(port), ...settings], env);
  const connection = await ready(address, server, cli);
  return { client: new Client({ connection, namespace: 'default' }), address, own: true, env };
}

/** Waits until the server knows its namespace. */
async function ready(address: string, server: Held, cli: string): Promise<Connection> {
  const end = Date.now() + READY_MS;
  for (;;) {
    // A connection of its own each time, because one that was refused waits a second before it tries again.
    const connection = Connection.lazy({ address });
    try {
      await connection.withDeadline(Date.now() + 1_000, () =>
        connection.workflowService.describeNamespace({ namespace: 'default' }),
      );
      return connection;
    } catch {
      await connection.close();
    }
    const last = server.output.trim().split('\n').at(-1);
    if (!server.alive) throw new CrashTestError(`the dev server (${cli}) ended: ${last}`);
    if (Date.now() > end) throw new CrashTestError(`the dev server (${cli}) is not ready: ${last}`);
    await wait(100);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
