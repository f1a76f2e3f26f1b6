/** What can go wrong for a caller. Each class says by its closed `reason`, or by itself, what to do next. */
import type { FailureType, RunRecord } from '../protocol/task.ts';

/** Why a task has no result: its own failure type, or how the workflow was ended from outside. */
export type TaskFailureReason = FailureType | 'Cancelled' | 'Terminated' | 'TimedOut' | 'Failed';

/** What an ended task leaves: a run record, or the part of one that a cancelled task keeps. */
export type EndRecord = Pick<RunRecord, 'run' | 'session_id' | 'tool_calls'> & Partial<RunRecord>;

/** A task that did not complete. `record` is what it had achieved until then, where it could still say so. */
export class AgentTaskError extends Error {
  override readonly name = 'AgentTaskError';
  readonly taskId: string;
  readonly reason: TaskFailureReason;
  readonly record: EndRecord | undefined;
  /**
   * The same request, started as a new task, may well succeed. Check first which effects the failed task had
   * (`record.tool_calls`): a new task repeats them (agents-api.md 5.8).
   */
  readonly retryable: boolean;

  constructor(
    taskId: string,
    reason: TaskFailureReason,
    message: string,
    options: { record?: EndRecord | undefined; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.taskId = taskId;
    this.reason = reason;
    this.record = options.record;
    this.retryable = options.retryable ?? false;
  }
}

/**
 * No task has this id: no workflow at all, or one that is no task, or the server has forgotten it since (its
 * namespace's retention is over).
 */
export class TaskNotFoundError extends Error {
  override readonly name = 'TaskNotFoundError';
  readonly taskId: string;
  /** The type of the workflow that has this id and is no task. */
  readonly otherType: string | undefined;

  constructor(taskId: string, otherType?: string) {
    const why =
      otherType === undefined
        ? 'it was never started here, or is past the retention time'
        : `it is the id of a workflow of type ${JSON.stringify(otherType)}`;
    super(`no task has the id ${JSON.stringify(taskId)}: ${why}`);
    this.taskId = taskId;
    this.otherType = otherType;
  }
}

/** The task id is taken by a task that was started with another input, or by another kind of workflow. */
export class TaskConflictError extends Error {
  override readonly name = 'TaskConflictError';
  readonly taskId: string;

  constructor(taskId: string, why: string) {
    super(`the task id ${JSON.stringify(taskId)} is taken by ${why}: use another id`);
    this.taskId = taskId;
  }
}

/** An update that the task did not take, with its reason: nothing was changed. */
export class UpdateRefusedError extends Error {
  override readonly name = 'UpdateRefusedError';
  readonly taskId: string;

  constructor(taskId: string, why: string) {
    super(`task ${JSON.stringify(taskId)} refused: ${why}`);
    this.taskId = taskId;
  }
}

/** No worker answered in time. What was asked needs one; a task itself waits for a worker and loses nothing. */
export class NoWorkerError extends Error {
  override readonly name = 'NoWorkerError';
  readonly taskId: string;
  readonly taskQueue: string;

  constructor(taskId: string, taskQueue: string, waitedMs: number) {
    const seconds = Math.round(waitedMs / 1000);
    super(
      `no worker on task queue ${JSON.stringify(taskQueue)} answered within ${seconds} s: start a worker for it`,
    );
    this.taskId = taskId;
    this.taskQueue = taskQueue;
  }
}

/** The Temporal server cannot be used. Retrying helps for `unreachable` alone. */
export class ServerUnavailableError extends Error {
  override readonly name = 'ServerUnavailableError';
  readonly reason: 'unreachable' | 'namespace' | 'permission' | 'configuration';

  constructor(reason: ServerUnavailableError['reason'], message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.reason = reason;
  }
}
