import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { freePorts } from './free-port.ts';
import { holdChild, stopChild } from './leash.ts';

const script = fileURLToPath(new URL('../../temporal-dev.sh', import.meta.url));
const READY_MS = 60_000;

/** A line, or lines, that `temporal-dev.sh` prints for a command; its progress goes to our stderr. */
function ask(command: 'cli-path' | 'server-flags'): string[] {
  const out = execFileSync(script, [command], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return out.trim().split('\n');
}

/** The path of the `temporal` binary, as the test run found it; found (or got, which can take minutes) if need be. */
export function temporalCli(): string {
  return process.env['HOLDFAST_TEST_TEMPORAL_CLI'] ?? ask('cli-path').join('');
}

/** Where and how a dev server runs. Ports default to free ones, state to memory, the Web UI to off. */
export interface DevServerOptions {
  port?: number;
  uiPort?: number;
  dbFile?: string;
}

/** A running dev server with the settings of `temporal-dev.sh`. It goes when the process that started it goes. */
export interface DevServer {
  /** host:port of the gRPC service */
  address: string;
  port: number;
  /** Address of the Web UI when a `uiPort` was given. */
  uiUrl: string | undefined;
  pid: number;
  /** The end of what the server printed. */
  output(): string;
  /** Ends the server in good order and waits for its end. May be called again. */
  stop(): Promise<void>;
  /** Kills the server with SIGKILL and waits for its end: a crash. */
  kill(): Promise<void>;
}

/**
 * Starts a dev server and waits until its `default` namespace and its search attributes are there.
 * To restart one, give the second the `port` and the `dbFile` of the first. Rejects with the server's last output
 * when it ends early or is not ready within a minute.
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(options);
    } catch (error) {
      // Somebody else may have taken the port since we were told that it was free.
      if (options.port !== undefined || attempt === 3 || !/address already in use/.test(String(error)))
        throw error;
    }
  }
}

async function launch(options: DevServerOptions): Promise<DevServer> {
  const [port = 0, httpPort = 0, metricsPort = 0] = await freePorts(3);
  const address = `127.0.0.1:${options.port ?? port}`;
  const ui = options.uiPort === undefined ? ['--headless'] : ['--ui-port', String(options.uiPort)];
  const db = options.dbFile === undefined ? [] : ['--db-filename', options.dbFile];
  const ports = ['--port', options.port ?? port, '--http-port', httpPort, '--metrics-port', metricsPort].map(
    String,
  );
  const child = spawn(
    temporalCli(),
    ['server', 'start-dev', '--ip', '127.0.0.1', ...ports, ...ui, ...db, ...ask('server-flags')],
    { detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  holdChild(child);
  const output = keepOutput(child);
  try {
    await ready(address, child);
  } catch (error) {
    await stopChild(child, 'SIGKILL', 0);
    throw new Error(`${String(error)}:\n${output()}`, { cause: error });
  }
  return {
    address,
    port: options.port ?? port,
    uiUrl: options.uiPort === undefined ? undefined : `http://127.0.0.1:${options.uiPort}`,
    pid: child.pid ?? 0,
    output,
    stop: () => stopChild(child, 'SIGTERM', 10_000),
    kill: () => stopChild(child, 'SIGKILL', 0),
  };
}

function keepOutput(child: ChildProcess): () => string {
  let kept = '';
  const keep = (chunk: Buffer): void => {
    kept = (kept + chunk.toString()).slice(-8_000);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return () => kept;
}

/** Asks until the server knows its search attributes; gives up when its process has ended, or after a minute. */
async function ready(address: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_MS;
  while (!(await knowsSearchAttributes(address))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the dev server ended (${child.signalCode ?? child.exitCode})`);
    }
    if (Date.now() > deadline) throw new Error(`the dev server at ${address} is not ready`);
    await delay(100);
  }
}

async function listens(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  const socket = connect(Number(port), host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Asks once. Only where somebody listens, because gRPC waits a second after a refusal before it tries again. */
async function knowsSearchAttributes(address: string): Promise<boolean> {
  if (!(await listens(address))) return false;
  const connection = Connection.lazy({ address });
  try {
    const found = await connection.withDeadline(Date.now() + 1_000, () =>
      connection.operatorService.listSearchAttributes({ namespace: 'default' }),
    );
    return found.customAttributes['HoldfastState'] !== undefined;
  } catch {
    return false; // not there yet
  } finally {
    await connection.close();
  }
}
