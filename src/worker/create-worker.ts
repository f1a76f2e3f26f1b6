/** Puts a worker together: configuration, connection, workflows, activities. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import {
  bundleWorkflowCode,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';

import { createActivities } from '../../activities/index.ts';
import { temporalSettings } from '../client/settings.ts';
import { AgentsApi } from '../openai/agents-api.ts';
import type { Agent } from '../tools/define-agent.ts';
import type { Tool } from '../tools/define-tool.ts';
import { Registry } from '../tools/registry.ts';
import { bundleOptions } from './bundle.ts';
import { ConfigError, readConfig, type WorkerConfig } from './config.ts';
import { faultSinks } from './faults.ts';
import { createLogger, temporalLogger } from './logger.ts';
import { searchAttributeCheck } from './search-attributes.ts';

/** The SDK's own bound on the time between two heartbeats: cancellations arrive with their answers. */
const HEARTBEAT_THROTTLE_MS = 2000;
/**
 * Between the end of polling and the handing over of followers. What they return makes a workflow task; one that
 * the server gives to a poll that has just been withdrawn is lost for ten seconds.
 */
const HANDOVER_AFTER_MS = 500;
/** After the grace, a tool that does not stop no longer holds up the shutdown. */
const FORCE_AFTER_MS = 5000;

export interface CreateWorkerOptions {
  agents: readonly Agent[];
  /** Tools beyond those of the agents, for inline and attached agents. */
  tools?: readonly Tool[];
  /** Defaults to the environment. */
  config?: WorkerConfig;
  taskQueue?: string;
}

export interface HoldfastWorker {
  readonly taskQueue: string;
  readonly namespace: string;
  /** Runs until `shutdown`; resolves when everything has been handed over or finished. */
  run(): Promise<void>;
  /** Stops taking work. Followers hand over half a second later; running tools may finish within the grace. */
  shutdown(): void;
}

/**
 * Creates a worker connected as `@temporalio/envconfig` says (`temporal.toml` profiles, `TEMPORAL_*` variables).
 * Throws ConfigError for a bad environment or an unreachable server, DefinitionError for agents that clash.
 */
export async function createWorker(options: CreateWorkerOptions): Promise<HoldfastWorker> {
  const config = options.config ?? readConfig();
  const registry = new Registry(options.agents, options.tools);
  const taskQueue = options.taskQueue ?? config.taskQueue;
  const { address, namespace, connection: security } = temporalSettings();
  installLogger(config.logLevel);
  const connection = await NativeConnection.connect({ ...security, address }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message.split('\n')[0] : 'unknown error';
    throw new ConfigError(`no Temporal server at ${address} (${why}); start one, or set TEMPORAL_ADDRESS`);
  });
  const handover = new AbortController();
  let stopping = false;
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: await workflowBundle(config),
    ...(config.fault === undefined ? {} : { sinks: faultSinks() }),
    activities: createActivities({
      api: new AgentsApi({
        apiKey: config.apiKey,
        ...(config.baseURL === undefined ? {} : { baseURL: config.baseURL }),
      }),
      registry,
      settings: {
        heartbeat_timeout_ms: config.heartbeatTimeoutMs,
        cancel_wait_ms: config.cancelWaitMs,
        unknown_limit_ms: config.unknownLimitMs,
        continue_after_events: config.continueAfterEvents,
      },
      streamSilenceMs: config.streamSilenceMs,
      followLimitMs: config.followLimitMs,
      maxOutputBytes: config.maxOutputBytes,
      logToolErrors: config.logToolErrors,
      hasSearchAttributes:
        config.searchAttributes === 'off'
          ? () => Promise.resolve(false)
          : searchAttributeCheck(connection, namespace),
      shutdown: handover.signal,
    }),
    maxConcurrentActivityTaskExecutions: config.maxActivities,
    maxHeartbeatThrottleInterval: Math.min(HEARTBEAT_THROTTLE_MS, config.heartbeatTimeoutMs / 4),
    // A killed worker's sticky queue is given up after this: its tasks move on to the others.
    stickyQueueScheduleToStartTimeout: '1s',
    shutdownGraceTime: config.shutdownGraceMs,
    shutdownForceTime: config.shutdownGraceMs + FORCE_AFTER_MS,
  });
  return {
    taskQueue,
    namespace,
    run: async () => {
      try {
        await worker.run();
      } finally {
        await connection.close();
      }
    },
    shutdown: () => {
      if (stopping) return;
      stopping = true;
      worker.shutdown();
      setTimeout(() => handover.abort(), HANDOVER_AFTER_MS);
    },
  };
}

let installed = false;

/** The runtime is one per process; a program that has installed its own keeps it. */
function installLogger(level: string): void {
  if (installed) return;
  installed = true;
  try {
    Runtime.install({ logger: temporalLogger(createLogger(level)), shutdownSignals: [] });
  } catch {
    // Installed already, by the program that this worker is part of.
  }
}

/** A prepared bundle starts a worker seconds faster than bundling anew. */
async function workflowBundle(config: WorkerConfig): Promise<WorkflowBundleOption> {
  const prepared =
    config.workflowBundle ?? fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));
  // The one that comes with the package has no fault points.
  const usable = config.workflowBundle !== undefined || config.fault === undefined;
  if (usable && existsSync(prepared)) return { codePath: prepared };
  if (config.workflowBundle)
    throw new ConfigError(`HOLDFAST_WORKFLOW_BUNDLE: there is no file ${config.workflowBundle}`);
  const { logger } = Runtime.instance();
  return bundleWorkflowCode({ ...bundleOptions(config.fault !== undefined), logger });
}
