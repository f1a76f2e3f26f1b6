import { AgentTaskError } from '../client/index.ts';
import type { AgentTask } from '../client/index.ts';
import { connect, warnWithoutWorker } from './connect.ts';
import { EXIT, fail, print, printJson } from './output.ts';

interface ResultCommand {
  json?: boolean;
}

/** `holdfast result`: waits, prints the answer or the run record. */
export async function result(taskId: string, options: ResultCommand): Promise<void> {
  await using tasks = await connect();
  const task = tasks.get(taskId);
  await warnWithoutWorker(tasks, task);
  await waitAndPrint(task, options);
}

/** Waits for the end; the exit code says how it was: 0 completed, 1 failed, 3 cancelled. */
export async function waitAndPrint(task: AgentTask, options: ResultCommand): Promise<void> {
  try {
    const record = await task.result();
    if (options.json === true) printJson(record);
    else print(record.output_text);
  } catch (error) {
    if (!(error instanceof AgentTaskError)) throw error;
    if (options.json === true && error.record !== undefined) printJson(error.record);
    fail(new Error(`${error.reason}: ${error.message}`));
    if (error.reason === 'Cancelled') process.exitCode = EXIT.cancelled;
  }
}
