import { runWorkerCommand } from '../worker/run-worker.ts';

interface WorkerCommand {
  agents: string;
  taskQueue?: string;
}

/** `holdfast worker`: runs until it is told to stop. */
export async function worker(options: WorkerCommand): Promise<void> {
  const { agents, taskQueue } = options;
  await runWorkerCommand({ agentsPath: agents, ...(taskQueue === undefined ? {} : { taskQueue }) });
}
