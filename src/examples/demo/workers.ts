/**
 * The demo's workers: real processes of the `holdfast worker` command, one at a time, killed for real. None of them
 * outlives the demo.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

import { bundleOptions } from '../../worker/bundle.ts';
import { DemoError } from './demo-error.ts';

/** The same ending as this file's: the demo runs compiled and from source. */
const ENDING = extname(import.meta.url);
const COMMAND = sibling(`../../cli/main${ENDING}`);
const AGENTS = sibling(`../agents${ENDING}`);

const READY_MS = 60_000;
const GOODBYE_MS = 5000;

export interface DemoWorker {
  /** 1, 2, 3: in order of start. */
  number: number;
  pid: number;
  child: ChildProcess;
  log: string;
  /** Resolves when it polls. Rejects when it ends before. */
  ready: Promise<void>;
}

export class Workers {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #taskQueue: string;
  readonly #started: DemoWorker[] = [];
  readonly #killAll = (): void => this.killAll();

  /**
   * @param folder where the bundle and the logs go
   * @param env the environment of the workers
   */
  constructor(folder: string, taskQueue: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#taskQueue = taskQueue;
    this.#env = {
      ...env,
      HOLDFAST_WORKFLOW_BUNDLE: join(folder, 'workflows.js'),
      HOLDFAST_LOG_LEVEL: 'info',
    };
    process.on('exit', this.#killAll);
  }

  /** Bundles the workflow code once, so that each worker is up in about a second. */
  async prepare(): Promise<void> {
    const { code } = await bundleWorkflowCode({ ...bundleOptions(), logger: new DefaultLogger('ERROR') });
    await writeFile(join(this.#folder, 'workflows.js'), code);
  }

  /** Starts the next worker. `ready` says when it polls. */
  start(): DemoWorker {
    const number = this.#started.length + 1;
    const log = join(this.#folder, `worker-${number}.log`);
    const args = [
      ...process.execArgv,
      COMMAND,
      'worker',
      '--agents',
      AGENTS,
      '--task-queue',
      this.#taskQueue,
    ];
    // In the demo's own process group, so that a signal to the group reaches it too.
    const child = spawn(process.execPath, args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] });
    const file = createWriteStream(log);
    child.stdout.pipe(file, { end: false });
    child.stderr.pipe(file, { end: false });
    child.once('close', () => file.end());
    const worker: DemoWorker = { number, pid: child.pid ?? 0, child, log, ready: polls(child, number) };
    // It is waited for later, or not at all.
    worker.ready.catch(() => undefined);
    this.#started.push(worker);
    return worker;
  }

  /** SIGKILL, as the kernel does it: no handler runs, nothing is said to anybody. Resolves when it is dead. */
  async kill(worker: DemoWorker): Promise<void> {
    const dead = once(worker.child, 'exit');
    worker.child.kill('SIGKILL');
    await dead;
  }

  /** How the story calls the worker with this process id. */
  nameOf(pid: number): string {
    const worker = this.#started.find((each) => each.pid === pid);
    return worker === undefined ? `a worker with process id ${pid}` : `worker ${worker.number}`;
  }

  /** Throws when the newest worker has ended by itself, with the end of its log. */
  async check(): Promise<void> {
    const worker = this.#started.at(-1);
    if (worker === undefined || runs(worker.child)) return;
    const lines = (await readFile(worker.log, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-10);
    throw new DemoError(`worker ${worker.number} has ended by itself:\n${lines.join('\n')}`);
  }

  /** Stops what still runs: politely, then not. */
  async stop(): Promise<void> {
    const running = this.#started.filter(({ child }) => runs(child));
    const ended = Promise.all(running.map(({ child }) => once(child, 'exit')));
    for (const { child } of running) child.kill('SIGTERM');
    const late = setTimeout(this.#killAll, GOODBYE_MS);
    await ended;
    clearTimeout(late);
    process.off('exit', this.#killAll);
  }

  killAll(): void {
    for (const { child } of this.#started) if (runs(child)) child.kill('SIGKILL');
  }
}

/** Resolves when the worker says in its log that it has started. */
function polls(child: ChildProcess, number: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(new DemoError(`worker ${number} was not ready after ${READY_MS / 1000} s`));
    }, READY_MS);
    const gone = (): void => {
      clearTimeout(late);
      reject(new DemoError(`worker ${number} ended before it was ready`));
    };
    child.once('error', gone);
    child.once('exit', gone);
    if (child.stdout === null) return;
    createInterface(child.stdout).on('line', (line) => {
      if (!line.includes('"msg":"worker started"')) return;
      clearTimeout(late);
      resolve();
    });
  });
}

function runs(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function sibling(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
