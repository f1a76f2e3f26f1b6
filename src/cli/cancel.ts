import { connect, warnWithoutWorker } from './connect.ts';
import { say } from './output.ts';

/** `holdfast cancel`: asks, and does not wait. */
export async function cancel(taskId: string): Promise<void> {
  await using tasks = await connect();
  const task = tasks.get(taskId);
  const { status } = await task.describe();
  if (status.name !== 'RUNNING' && status.name !== 'PAUSED') {
    say(`Task ${taskId} has ended already (${status.name.toLowerCase().replaceAll('_', ' ')})`);
    return;
  }
  await task.cancel();
  say(`Cancellation of task ${taskId} is requested; "holdfast result ${taskId}" waits for the end`);
  await warnWithoutWorker(tasks, task);
}
