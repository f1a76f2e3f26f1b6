/** A child process that has become a worker: tools are recorded, and crash points can be armed. */
import { writeSync } from 'node:fs';

import { onFaultPoint } from '../faults/fault-point.ts';
import { readConfig } from '../worker/config.ts';
import { createWorker } from '../worker/create-worker.ts';
import { armFaults } from '../worker/faults.ts';
import type { LoadedAgents } from '../worker/load-agents.ts';
import { Journal } from './journal.ts';
import { DISARMED, type Arming, type WorkSetup } from './messages.ts';
import { recorded } from './recorded-tools.ts';

let arming = DISARMED;

/** Polls from now on, until the process ends. Throws ConfigError. */
export async function work(loaded: LoadedAgents, setup: WorkSetup): Promise<null> {
  const config = readConfig({
    HOLDFAST_SEARCH_ATTRIBUTES: 'off',
    HOLDFAST_LOG_LEVEL: 'error',
    // The environment itself stays as it is: the user's tools may need a key of their own.
    ...process.env,
    OPENAI_API_KEY: 'crash-test',
    OPENAI_BASE_URL: setup.base_url,
    HOLDFAST_HEARTBEAT_TIMEOUT: setup.heartbeat_timeout,
    HOLDFAST_WORKFLOW_BUNDLE: setup.workflow_bundle,
    // Which point it is comes later, by `arm`; until then nothing is killed.
    HOLDFAST_FAULT: 'armed later',
    ...(setup.continue_after_events === null
      ? {}
      : { HOLDFAST_CONTINUE_AFTER_EVENTS: String(setup.continue_after_events) }),
  });
  const { maxOutputBytes, logToolErrors } = config;
  const tools = recorded(loaded, {
    journal: new Journal(setup.journal),
    maxOutputBytes,
    tellErrors: logToolErrors,
    holdMs: (callId) => (arming.held_call?.call_id === callId ? arming.held_call.ms : 0),
    onBegin: armRunning,
  });
  const worker = await createWorker({ ...tools, config, taskQueue: setup.task_queue });
  worker.run().catch((error: unknown) => {
    writeSync(2, `the worker failed: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
  return null;
}

export function arm(next: Arming): null {
  arming = next;
  if (next.point === null || next.point === 'tool.running') onFaultPoint(null);
  else armFaults(next.point);
  return null;
}

/** `tool.running`: some time after a tool's begin, unless it has ended by then. */
function armRunning(): () => void {
  if (arming.point !== 'tool.running') return () => undefined;
  const timer = setTimeout(() => {
    process.kill(process.pid, 'SIGKILL');
    // The signal is delivered asynchronously: nothing may run before it is.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }, arming.running_ms);
  return () => clearTimeout(timer);
}
