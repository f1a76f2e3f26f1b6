/**
 * The workers of a crash test: one at a time polls. The next one has the agents file loaded already and waits, so
 * that a killed worker is replaced at once.
 */
import type { WorkSetup } from './messages.ts';
import type { Child, Processes } from './processes.ts';

export class Workers {
  readonly #processes: Processes;
  readonly #files: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #setup: WorkSetup;
  #current: Child | null = null;
  #standby: Child;

  constructor(processes: Processes, files: readonly string[], env: NodeJS.ProcessEnv, setup: WorkSetup) {
    this.#processes = processes;
    this.#files = files;
    this.#env = env;
    this.#setup = setup;
    this.#standby = this.#spawn();
  }

  /** The worker that polls; the next one when there is none (any more). Throws CrashTestError when it cannot start. */
  async live(): Promise<Child> {
    return this.#current?.alive === true ? this.#current : this.#next({});
  }

  /** A new worker with other settings in place of the present one. */
  async fresh(settings: Partial<WorkSetup>): Promise<Child> {
    await this.drop();
    return this.#next(settings);
  }

  /** Kills the worker that polls, and whatever it is at. */
  async drop(): Promise<void> {
    await this.#current?.kill();
  }

  async #next(settings: Partial<WorkSetup>): Promise<Child> {
    const worker = this.#standby;
    await worker.ask('work', { ...this.#setup, ...settings });
    this.#current = worker;
    this.#standby = this.#spawn();
    return worker;
  }

  #spawn(): Child {
    return this.#processes.child('worker', this.#files, this.#env);
  }
}
