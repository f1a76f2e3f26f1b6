import type { Client, WorkflowExecutionDescription, WorkflowHandle } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { checkResolveCall } from '../protocol/guards.ts';
import { redact } from '../protocol/secrets.ts';
import { AGENT_TASK } from '../protocol/task.ts';
import type { PendingDecision, ResolveCallInput, ResolveCallResult, RunRecord } from '../protocol/task.ts';
import { NoWorkerError, TaskNotFoundError, UpdateRefusedError } from './errors.ts';
import { taskError } from './outcome.ts';
import { isOver, overviewOf } from './overview.ts';
import type { TaskOverview } from './overview.ts';
import { lacksWorker, translate } from './server-errors.ts';

/** How long calls may take, in ms. */
export interface Waits {
  /** A call that the server answers by itself. */
  requestMs: number;
  /** A call that needs a worker. */
  workerMs: number;
}

/**
 * One task. A handle holds no state and no connection of its own; many may exist for one task, in any process.
 * Every method throws TaskNotFoundError for an id that the server does not know and ServerUnavailableError when
 * the server cannot be used.
 */
export class AgentTask {
  readonly taskId: string;
  /** The first run of the task, as `start` began or found it; undefined for a task taken by its id alone. */
  readonly runId: string | undefined;
  readonly #client: Client;
  readonly #handle: WorkflowHandle;
  readonly #waits: Waits;

  /** Made by AgentTasks. */
  constructor(client: Client, taskId: string, firstRunId: string | undefined, waits: Waits) {
    this.taskId = taskId;
    this.runId = firstRunId;
    this.#client = client;
    // The chain's identity keeps a later task with the same id from being cancelled in this one's place.
    const chain = firstRunId === undefined ? {} : { firstExecutionRunId: firstRunId };
    this.#handle = client.workflow.getHandle(taskId, undefined, chain);
    this.#waits = waits;
  }

  /**
   * Waits for the end of the task, for days if need be, and returns what became of it.
   * @throws AgentTaskError when the task failed, was cancelled or was ended from outside; aborting `signal` throws
   *   its reason and changes nothing about the task
   */
  async result(options: { signal?: AbortSignal } = {}): Promise<RunRecord> {
    const { signal } = options;
    if (signal === undefined) return this.#outcome();
    try {
      return await this.#client.connection.withAbortSignal(signal, () => this.#outcome(signal));
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }

  /** Where the task stands. Needs no worker: without one the server's own data are given, see `source`. */
  async status(): Promise<TaskOverview> {
    try {
      return await overviewOf(this.#client, this.#handle, await this.describe(), this.#waits);
    } catch (error) {
      throw translate(error, this.#client, this.taskId);
    }
  }

  /**
   * What waits for a person. Empty for a task that has ended.
   * @throws NoWorkerError when no worker answers
   */
  async pending(): Promise<PendingDecision[]> {
    const { status } = await this.describe();
    if (isOver(status.name)) return [];
    try {
      return await this.#within(this.#waits.workerMs, () => this.#handle.query<PendingDecision[]>('pending'));
    } catch (error) {
      throw await this.#explain(error);
    }
  }

  /**
   * Answers a call whose outcome is unknown. The answer is recorded at once and acted upon afterwards.
   * @throws UpdateRefusedError with the task's reason, for example when no such call waits; what is wrong by itself
   *   is refused without asking the task
   * @throws NoWorkerError when no worker took it in time; it may still be taken: look at `pending` first
   */
  async resolveCall(answer: ResolveCallInput): Promise<ResolveCallResult> {
    const problem = checkResolveCall([answer]);
    if (problem !== null) throw new UpdateRefusedError(this.taskId, redact(problem));
    const { status } = await this.describe();
    if (isOver(status.name)) throw new UpdateRefusedError(this.taskId, 'it has ended');
    try {
      return await this.#within(this.#waits.workerMs, () =>
        this.#handle.executeUpdate<ResolveCallResult, [ResolveCallInput]>('resolveCall', { args: [answer] }),
      );
    } catch (error) {
      // It was there just now.
      if (error instanceof WorkflowNotFoundError) throw new UpdateRefusedError(this.taskId, 'it has ended');
      throw await this.#explain(error);
    }
  }

  /**
   * Asks the task to stop: it cancels the remote turn and its tools first. Returns when the request is recorded;
   * `result()` then throws with reason `Cancelled`. Without effect on a task that has ended.
   */
  async cancel(): Promise<void> {
    // The id may be that of somebody else's workflow.
    await this.describe();
    try {
      await this.#within(this.#waits.requestMs, () => this.#handle.cancel());
    } catch (error) {
      throw translate(error, this.#client, this.taskId);
    }
  }

  /** The workflow as the Temporal server knows it. */
  async describe(): Promise<WorkflowExecutionDescription> {
    const described = await this.#within(this.#waits.requestMs, () => this.#handle.describe()).catch(
      (error: unknown) => {
        throw translate(error, this.#client, this.taskId);
      },
    );
    if (described.type !== AGENT_TASK) throw new TaskNotFoundError(this.taskId, described.type);
    return described;
  }

  async #outcome(signal?: AbortSignal): Promise<RunRecord> {
    for (;;) {
      // The connection ends calls that are under way, but lets an aborted scope begin new ones.
      signal?.throwIfAborted();
      const before = await this.describe();
      signal?.throwIfAborted();
      try {
        return (await this.#client.workflow.getHandle(this.taskId, before.runId).result()) as RunRecord;
      } catch (error) {
        const failure = await taskError(this.taskId, error, async () => (await this.describe()).memo);
        if (failure === undefined) throw translate(error, this.#client, this.taskId);
        if (failure.reason !== 'Terminated' || !(await this.#wasReset(before))) throw failure;
      }
    }
  }

  /** An operator's reset terminates the run and goes on in another one of the same chain. */
  async #wasReset(before: WorkflowExecutionDescription): Promise<boolean> {
    const now = await this.describe();
    return now.status.name !== 'TERMINATED' && firstRunOf(now.raw) === firstRunOf(before.raw);
  }

  #within<T>(ms: number, call: () => Promise<T>): Promise<T> {
    return this.#client.withDeadline(Date.now() + ms, call);
  }

  /** Tells a missing worker from a missing server: the server alone can answer `describe`. */
  async #explain(error: unknown): Promise<unknown> {
    if (!lacksWorker(error)) return translate(error, this.#client, this.taskId);
    const { taskQueue } = await this.describe();
    return new NoWorkerError(this.taskId, taskQueue, this.#waits.workerMs);
  }
}

/** The first run of a workflow's chain, which continue-as-new and reset keep; older servers do not tell it. */
export function firstRunOf(raw: WorkflowExecutionDescription['raw']): string | undefined {
  return raw.workflowExecutionInfo?.firstRunId || undefined;
}
