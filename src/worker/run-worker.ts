/** `holdfast worker`: loads agents, runs a worker, stops gracefully on a signal. */
import { readConfig } from './config.ts';
import { createWorker } from './create-worker.ts';
import { armFaults } from './faults.ts';
import { loadAgents } from './load-agents.ts';
import { createLogger } from './logger.ts';

export interface RunWorkerOptions {
  agentsPath: string;
  taskQueue?: string;
}

/**
 * Runs until SIGINT or SIGTERM; a second signal stops at once. Throws ConfigError or DefinitionError with one
 * plain line before anything runs.
 */
export async function runWorkerCommand(options: RunWorkerOptions): Promise<void> {
  const config = readConfig();
  if (config.fault !== undefined) armFaults(config.fault);
  const { agents, tools } = await loadAgents(options.agentsPath);
  const worker = await createWorker({
    agents,
    tools,
    config,
    ...(options.taskQueue === undefined ? {} : { taskQueue: options.taskQueue }),
  });
  const log = createLogger(config.logLevel);
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping: handing over, and waiting for running tools');
    worker.shutdown();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  log.info(
    { task_queue: worker.taskQueue, namespace: worker.namespace, agents: agents.map((agent) => agent.name) },
    'worker started',
  );
  await worker.run();
}
