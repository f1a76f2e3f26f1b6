/** Where a task stands, from the best source that answers: its worker, its outcome, or the server alone. */
import type { Client, WorkflowExecutionDescription, WorkflowHandle } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../protocol/task.ts';
import type { TaskState, TaskStatus } from '../protocol/task.ts';
import type { EndRecord, TaskFailureReason } from './errors.ts';
import { taskError } from './outcome.ts';
import { isPolled } from './pollers.ts';
import { lacksWorker, translate } from './server-errors.ts';

/** JSON, like all that a task tells. Times in milliseconds since the epoch. */
export interface TaskOverview {
  task_id: string;
  run_id: string;
  /** `unknown`: it runs, and neither a worker nor the search attribute says more. */
  state: TaskState | 'terminated' | 'timed_out' | 'unknown';
  /** `worker`: asked just now. `server`: the last that was written there. `outcome`: the task has ended. */
  source: 'worker' | 'server' | 'outcome';
  /** The line that the task was started with. */
  summary: string | null;
  agent: string | null;
  session_id: string | null;
  task_queue: string;
  /** Whether any worker polls the task queue; null for a task that has ended. */
  worker_polling: boolean | null;
  started_at: number;
  ended_at: number | null;
  /** The task's own answer, when a worker gave it. */
  detail: TaskStatus | null;
  /** What was achieved, when the task has ended and left it. */
  record: EndRecord | null;
  error: { reason: TaskFailureReason; message: string } | null;
}

const ATTRIBUTE = {
  sessionId: defineSearchAttributeKey(SEARCH_ATTRIBUTES.sessionId, 'KEYWORD'),
  agent: defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD'),
  state: defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, 'KEYWORD'),
};
const ENDED_STATES: Record<string, TaskOverview['state']> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed_out',
};

/**
 * The overview of the task behind `handle`, which the server has just described.
 * @param waits `workerMs`: how long a worker may take to answer before the server's data are taken instead
 * @throws whatever the Temporal client throws for an unknown task or a server that does not answer
 */
export async function overviewOf(
  client: Client,
  handle: WorkflowHandle,
  described: WorkflowExecutionDescription,
  waits: { requestMs: number; workerMs: number },
): Promise<TaskOverview> {
  const within = <T>(ms: number, call: () => Promise<T>) => client.withDeadline(Date.now() + ms, call);
  const overview = await fromServer(described);
  if (isOver(described.status.name)) {
    // This run's own outcome: the id may have been used again since.
    const run = client.workflow.getHandle(described.workflowId, described.runId);
    return within(waits.requestMs, () => withOutcome(overview, run, described.memo));
  }
  // Without a poller a query would only wait for its time to be over.
  const polled = await within(waits.requestMs, () => isPolled(client, described.taskQueue));
  overview.worker_polling = polled;
  if (!polled) return overview;
  try {
    const detail = await within(waits.workerMs, () => handle.query<TaskStatus>('status'));
    const { state, agent, session_id } = detail;
    return { ...overview, source: 'worker', state, agent, session_id, detail };
  } catch (error) {
    if (lacksWorker(error)) return overview;
    throw translate(error, client, described.workflowId);
  }
}

/** No more will come of a workflow in this state. */
export function isOver(status: WorkflowExecutionDescription['status']['name']): boolean {
  return status !== 'RUNNING' && status !== 'PAUSED';
}

async function fromServer(described: WorkflowExecutionDescription): Promise<TaskOverview> {
  const attributes = described.typedSearchAttributes;
  const state = attributes.get(ATTRIBUTE.state) as TaskState | undefined;
  return {
    task_id: described.workflowId,
    run_id: described.runId,
    state: ENDED_STATES[described.status.name] ?? state ?? 'unknown',
    source: 'server',
    summary: (await described.staticSummary()) ?? null,
    agent: attributes.get(ATTRIBUTE.agent) ?? null,
    session_id: attributes.get(ATTRIBUTE.sessionId) ?? null,
    task_queue: described.taskQueue,
    worker_polling: null,
    started_at: described.startTime.getTime(),
    ended_at: described.closeTime?.getTime() ?? null,
    detail: null,
    record: null,
    error: null,
  };
}

async function withOutcome(
  overview: TaskOverview,
  run: WorkflowHandle,
  memo: Record<string, unknown> | undefined,
): Promise<TaskOverview> {
  try {
    const record = (await run.result()) as EndRecord;
    return { ...overview, ...recorded(overview, record), source: 'outcome' };
  } catch (error) {
    const failure = await taskError(overview.task_id, error, () => Promise.resolve(memo));
    if (failure === undefined) throw error;
    const { reason, message } = failure;
    return {
      ...overview,
      ...recorded(overview, failure.record),
      source: 'outcome',
      error: { reason, message },
    };
  }
}

function recorded(overview: TaskOverview, record: EndRecord | undefined): Partial<TaskOverview> {
  if (record === undefined) return {};
  return {
    record,
    agent: overview.agent ?? record.agent ?? null,
    session_id: overview.session_id ?? record.session_id,
  };
}
