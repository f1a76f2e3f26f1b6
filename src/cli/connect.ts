import { AgentTasks } from '../client/index.ts';
import type { AgentTask } from '../client/index.ts';
import { say } from './output.ts';

const CONNECT_TIMEOUT_MS = 4_000;

/** The client, connected by the environment; the caller disposes of it. */
export function connect(taskQueue?: string): Promise<AgentTasks> {
  return AgentTasks.connect({
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
}

/** Says so when nobody works on the task's queue: it would wait without a word. */
export async function warnWithoutWorker(tasks: AgentTasks, task: AgentTask): Promise<void> {
  const { status, taskQueue } = await task.describe();
  if (status.name !== 'RUNNING' || (await tasks.hasPollers(taskQueue))) return;
  say(
    `holdfast: no worker is polling task queue ${JSON.stringify(taskQueue)}: the task waits for one (holdfast worker --agents FILE)`,
  );
}
