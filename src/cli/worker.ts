interface WorkerCommand {
  agents: string;
  taskQueue?: string;
}

/** What the worker offers to the command. */
interface WorkerModule {
  runWorkerCommand: (options: { agentsPath: string; taskQueue?: string }) => Promise<void>;
}

/** `holdfast worker`: runs until it is told to stop. */
export async function worker(options: WorkerCommand): Promise<void> {
  const path = '../worker/run-worker.ts';
  const { runWorkerCommand } = (await import(path)) as WorkerModule;
  const { taskQueue } = options;
  await runWorkerCommand({ agentsPath: options.agents, ...(taskQueue === undefined ? {} : { taskQueue }) });
}
