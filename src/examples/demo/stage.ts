/** What one run of the demo holds: a connection, a folder, workers, a task. All of it is given back at the end. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Client } from '@temporalio/client';

import { connectClient } from '../../client/connect.ts';
import { AgentTaskError, AgentTasks, type AgentTask } from '../../client/index.ts';
import { readConfig, type WorkerConfig } from '../../worker/config.ts';
import { LocalApi } from './local-api.ts';
import { Workers } from './workers.ts';

const INPUT =
  'Lisbon or Porto next weekend? Take the one with the better weather and book a room for two nights.';
/** Long enough that a kill hits a running tool. */
const TOOL_MS = 2500;
/** How long a task that the demo does not finish may take to cancel itself. */
const CANCEL_MS = 3000;

export class Stage {
  readonly client: Client;
  /** The configuration that the workers will read too. */
  readonly config: WorkerConfig;
  /** Null at a service that is not the local one. */
  readonly local: LocalApi | null;
  /** Effects, logs and the workflow bundle. */
  readonly folder: string;
  readonly workers: Workers;
  readonly taskId: string;
  readonly input = INPUT;
  readonly #taskQueue: string;
  /** Sessions deleted at the local API before the task began. */
  deletesBefore = 0;
  #task: AgentTask | null = null;

  private constructor(client: Client, config: WorkerConfig, local: LocalApi | null, folder: string) {
    const name = randomUUID().slice(0, 8);
    this.client = client;
    this.config = config;
    this.local = local;
    this.folder = folder;
    this.taskId = `demo-${name}`;
    // A queue of its own: no other worker can take over in secret.
    this.#taskQueue = `demo-${name}`;
    this.workers = new Workers(folder, this.#taskQueue, {
      ...process.env,
      TRIP_PLANNER_DIR: folder,
      TRIP_PLANNER_DELAY_MS: String(TOOL_MS),
      HOLDFAST_FAULT: '',
    });
  }

  /** Throws ConfigError or ServerUnavailableError with a plain reason, before anything has begun. */
  static async open(): Promise<Stage> {
    const config = readConfig();
    const client = await connectClient();
    const local = await LocalApi.find(config.baseURL);
    return new Stage(client, config, local, await mkdtemp(join(tmpdir(), 'holdfast-demo-')));
  }

  /** Starts the task. The metadata asks the local API's script to write slowly enough to be interrupted. */
  async startTask(): Promise<AgentTask> {
    this.deletesBefore = (await this.local?.deletes()) ?? 0;
    const tasks = new AgentTasks(this.client, { taskQueue: this.#taskQueue });
    const input = { agent: 'trip-planner', input: this.input, metadata: { pace: 'slow' } };
    this.#task = await tasks.start(input, { taskId: this.taskId });
    return this.#task;
  }

  /**
   * Leaves a task that is not finished in good order: cancelled, its session too, or, when no worker is there for
   * that, terminated. Returns a sentence that says which; null when there is nothing to leave.
   */
  async abandon(): Promise<string | null> {
    const task = this.#task;
    if (task === null) return null;
    try {
      await task.cancel();
      await task.result({ signal: AbortSignal.timeout(CANCEL_MS) });
      return null;
    } catch (error) {
      if (error instanceof AgentTaskError) return `Task ${this.taskId} has ended: ${error.message}.`;
    }
    try {
      await this.client.workflow.getHandle(this.taskId).terminate('the demo was stopped');
      return `Task ${this.taskId} was terminated; its session is left as it was.`;
    } catch {
      return `Task ${this.taskId} may still be there: the Temporal server could not be asked to end it.`;
    }
  }

  /** Ends the workers, politely when nothing has gone wrong, and takes the folder away unless its logs are wanted. */
  async close(options: { kill: boolean; keepLogs: boolean }): Promise<void> {
    if (options.kill) this.workers.killAll();
    await this.workers.stop();
    await this.client.connection.close();
    if (!options.keepLogs) await rm(this.folder, { recursive: true, force: true });
  }
}
