/** What the runs of a crash test share: a Temporal server, the local Agents API, workers, a journal, a look outside. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startEmulator, type Emulator } from '../emulator/index.ts';
import { bundleOptions } from '../worker/bundle.ts';
import { Journal } from './journal.ts';
import type { Description } from './messages.ts';
import { Processes, type Child } from './processes.ts';
import { findTemporal, type Temporal } from './temporal.ts';
import { Workers } from './workers.ts';

const DEFAULT_HEARTBEAT = '3s';
const TERMINATE_MS = 2_000;

export interface BenchOptions {
  agentsFile: string;
  /** The file with `observe`; null: the agents file, if it has one. */
  observeFile: string | null;
}

/** Everything that is there while tasks run. */
export interface Stage {
  temporal: Temporal;
  emulator: Emulator;
  workers: Workers;
  taskQueue: string;
  /** The number of the next task. */
  nextTask: number;
}

export class Bench {
  readonly name = `crash-test-${randomUUID().slice(0, 8)}`;
  readonly journal: Journal;
  /** How long a lost worker goes unnoticed, such as `3s`. */
  readonly heartbeat = process.env['HOLDFAST_HEARTBEAT_TIMEOUT'] || DEFAULT_HEARTBEAT;
  /** The task that runs; ended by force when the crash test is left. */
  runningTask: string | null = null;
  readonly #options: BenchOptions;
  readonly #folder: string;
  readonly #processes: Processes;
  readonly #inspector: Child;
  #temporal: Promise<Temporal> | null = null;
  #emulator: Promise<Emulator> | null = null;
  #hasObserve = false;
  #closing: Promise<void> | null = null;

  private constructor(options: BenchOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#processes = new Processes(folder);
    this.journal = new Journal(join(folder, 'journal.jsonl'));
    this.journal.clear();
    this.#inspector = this.#processes.child('observer', this.#files, process.env);
  }

  /** Close it afterwards, whatever happens. */
  static async open(options: BenchOptions): Promise<Bench> {
    return new Bench(options, await mkdtemp(join(tmpdir(), 'holdfast-crash-test-')));
  }

  /** Throws CrashTestError when the file cannot be loaded. */
  async describe(given: Record<string, unknown>): Promise<Description> {
    const description = await this.#inspector.ask('describe', given);
    this.#hasObserve = description.has_observe;
    return description;
  }

  get hasObserve(): boolean {
    return this.#hasObserve;
  }

  /** The user's snapshot of the outside world; null where there is no `observe`. Throws CrashTestError. */
  async observe(): Promise<unknown> {
    return this.#hasObserve ? this.#inspector.ask('observe', null) : null;
  }

  /** Starts what tasks need. Throws CrashTestError or ServerUnavailableError. */
  async start(): Promise<Stage> {
    this.#temporal = findTemporal(this.#processes);
    const temporal = await this.#temporal;
    this.#emulator = startEmulator({ deltaMs: 1 });
    const [emulator, bundle] = await Promise.all([this.#emulator, this.#bundle()]);
    const workers = new Workers(this.#processes, this.#files, temporal.env, {
      base_url: emulator.url,
      task_queue: this.name,
      workflow_bundle: bundle,
      journal: this.journal.path,
      heartbeat_timeout: this.heartbeat,
      continue_after_events: null,
    });
    return { temporal, emulator, workers, taskQueue: this.name, nextTask: 1 };
  }

  /**
   * Ends and removes everything that was begun. May be called again, also while it is at it. In the middle of a run,
   * only a process that is about to end calls it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const isBusy = this.runningTask !== null;
    await this.#endTask();
    await this.#processes.stop();
    // What failed to start is nothing to close.
    const [temporal, emulator] = await Promise.allSettled([this.#temporal, this.#emulator]);
    if (emulator.status === 'fulfilled') await emulator.value?.close();
    // In the middle of a run calls are under way, which do not bear that: then the process ends anyway.
    if (temporal.status === 'fulfilled' && !isBusy) await temporal.value?.client.connection.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** At a server of its own a task goes anyway; at another one nobody would ever work on it again. */
  async #endTask(): Promise<void> {
    const task = this.runningTask;
    if (task === null) return;
    const client = (await this.#temporal)?.client;
    await client
      ?.withDeadline(Date.now() + TERMINATE_MS, () =>
        client.workflow.getHandle(task).terminate('the crash test was left'),
      )
      .catch(() => undefined);
  }

  get #files(): string[] {
    const { agentsFile, observeFile } = this.#options;
    return observeFile === null ? [agentsFile] : [agentsFile, observeFile];
  }

  /** Workflow code with its fault points, bundled once for all workers. */
  async #bundle(): Promise<string> {
    // Loaded when it is needed: mistakes are told before.
    const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
    const { code } = await bundleWorkflowCode({
      ...bundleOptions(true),
      logger: new DefaultLogger('ERROR'),
    });
    const path = join(this.#folder, 'workflows.js');
    await writeFile(path, code);
    return path;
  }
}
