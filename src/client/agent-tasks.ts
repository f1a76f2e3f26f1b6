import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { AGENT_TASK, DEFAULT_TASK_QUEUE } from '../protocol/task.ts';
import type { AgentTaskInput, RunRecord } from '../protocol/task.ts';
import { AgentTask, firstRunOf } from './agent-task.ts';
import type { Waits } from './agent-task.ts';
import { connectClient } from './connect.ts';
import type { ConnectOptions } from './connect.ts';
import { TaskConflictError, TaskNotFoundError } from './errors.ts';
import type { TaskOverview } from './overview.ts';
import { isPolled } from './pollers.ts';
import { translate } from './server-errors.ts';
import {
  checkedInput,
  checkedTaskId,
  checkedTaskQueue,
  INPUT_DIGEST_MEMO,
  inputDigest,
  summaryLine,
  summaryOf,
} from './start-facts.ts';

export interface AgentTasksOptions {
  /** The task queue of the workers; default `holdfast`. */
  taskQueue?: string;
  /** How long the server may take to answer, in ms; default 10,000. Waiting for a result has no limit. */
  requestTimeoutMs?: number;
  /** How long a worker may take to answer a query or an update, in ms; default 5,000. */
  workerTimeoutMs?: number;
}

export interface StartOptions {
  /** The task's id; a repeated start with it gives the same task. Default: a random one. */
  taskId?: string;
  /** One line for people, at most 150 characters; default: the agent and the beginning of the input. */
  summary?: string;
  /** More fields for the workflow's memo, JSON values. */
  memo?: Record<string, unknown>;
}

/**
 * Starts and finds agent tasks: the client for backend services.
 *
 * ```ts
 * await using tasks = await AgentTasks.connect();
 * const task = await tasks.start({ agent: 'trip-planner', input: 'A weekend in Lisbon' }, { taskId: 'order-42' });
 * const { output_text } = await task.result();
 * ```
 */
export class AgentTasks {
  readonly taskQueue: string;
  readonly #client: Client;
  readonly #waits: Waits;
  #ownsConnection = false;

  /**
   * Uses a Temporal client that the caller has; the caller closes its connection.
   * @throws InvalidInputError for a task queue that cannot be
   */
  constructor(client: Client, options: AgentTasksOptions = {}) {
    this.#client = client;
    this.taskQueue = checkedTaskQueue(options.taskQueue ?? DEFAULT_TASK_QUEUE);
    this.#waits = {
      requestMs: options.requestTimeoutMs ?? 10_000,
      workerMs: options.workerTimeoutMs ?? 5_000,
    };
  }

  /**
   * Connects with the settings of the environment (`TEMPORAL_*` variables, `temporal.toml`, and
   * `HOLDFAST_TASK_QUEUE`). Close it afterwards.
   * @throws ServerUnavailableError
   * @throws InvalidInputError for a task queue that cannot be
   */
  static async connect(options: ConnectOptions & AgentTasksOptions = {}): Promise<AgentTasks> {
    // The variable that workers read too.
    const fallback = process.env['HOLDFAST_TASK_QUEUE'] || DEFAULT_TASK_QUEUE;
    const taskQueue = checkedTaskQueue(options.taskQueue ?? fallback);
    const tasks = new AgentTasks(await connectClient(options), { ...options, taskQueue });
    tasks.#ownsConnection = true;
    return tasks;
  }

  /**
   * Starts a task, or finds the one that was started with the same id and the same input before, also when it has
   * ended since: a request can be repeated until it is answered and makes one task. (The server forgets ended
   * tasks after the namespace's retention time.) The input is checked before anything is sent.
   * @throws InvalidInputError naming the field
   * @throws TaskConflictError when the id belongs to a task with another input
   * @throws ServerUnavailableError
   */
  async start(input: AgentTaskInput, options: StartOptions = {}): Promise<AgentTask> {
    const checked = checkedInput(input);
    const workflowId = options.taskId === undefined ? randomUUID() : checkedTaskId(options.taskId);
    const digest = inputDigest(checked);
    try {
      const handle = await this.#within(() =>
        this.#client.workflow.start(AGENT_TASK, {
          workflowId,
          taskQueue: this.taskQueue,
          args: [checked],
          memo: { ...options.memo, [INPUT_DIGEST_MEMO]: digest },
          staticSummary: options.summary === undefined ? summaryOf(checked) : summaryLine(options.summary),
          // An id in use, or used before, is an error here; then its task is looked at.
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
        }),
      );
      return this.#task(workflowId, handle.firstExecutionRunId);
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return this.#started(workflowId, digest);
      throw translate(error, this.#client, workflowId);
    }
  }

  /** The task with this id, without asking the server whether there is one: its methods say so. */
  get(taskId: string): AgentTask {
    return this.#task(checkedTaskId(taskId), undefined);
  }

  /** `get(taskId).result()` */
  result(taskId: string): Promise<RunRecord> {
    return this.get(taskId).result();
  }

  /** `get(taskId).status()` */
  status(taskId: string): Promise<TaskOverview> {
    return this.get(taskId).status();
  }

  /**
   * Does any worker poll the task queue? The server remembers polls of the last minutes, so a worker that was
   * killed counts for up to a minute and a half.
   */
  async hasPollers(taskQueue: string = this.taskQueue): Promise<boolean> {
    try {
      return await this.#within(() => isPolled(this.#client, taskQueue));
    } catch (error) {
      throw translate(error, this.#client, taskQueue);
    }
  }

  /** Closes the connection that `connect` opened; one that was handed in stays open. */
  async close(): Promise<void> {
    if (!this.#ownsConnection) return;
    this.#ownsConnection = false;
    await this.#client.connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #started(workflowId: string, digest: string): Promise<AgentTask> {
    const task = this.get(workflowId);
    const { memo, runId, raw } = await task.describe().catch((error: unknown) => {
      const type = error instanceof TaskNotFoundError ? error.otherType : undefined;
      if (type === undefined) throw error;
      throw new TaskConflictError(workflowId, `a workflow of type ${JSON.stringify(type)}`);
    });
    // A task that was started by other means left no digest; then the id alone decides.
    const first = memo?.[INPUT_DIGEST_MEMO];
    if (first !== undefined && first !== digest) {
      throw new TaskConflictError(workflowId, 'a task that was started with another input');
    }
    return this.#task(workflowId, firstRunOf(raw) ?? runId);
  }

  #task(taskId: string, firstRunId: string | undefined): AgentTask {
    return new AgentTask(this.#client, taskId, firstRunId, this.#waits);
  }

  #within<T>(call: () => Promise<T>): Promise<T> {
    return this.#client.withDeadline(Date.now() + this.#waits.requestMs, call);
  }
}
