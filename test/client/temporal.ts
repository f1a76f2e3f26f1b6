/** A connection to the run's dev server, and a worker by hand: it ends tasks in any way, without workflow code. */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';

export const ADDRESS = process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233';

export async function connect(): Promise<Client> {
  const connection = await Connection.connect({ address: ADDRESS });
  return new Client({ connection, namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default' });
}

/** A name that no other test and no earlier run uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}

const POLL_MS = 30_000;
const COMMAND = { complete: 4, fail: 5, cancel: 7 } as const;

/** How the next workflow task of a queue is answered. */
export type Ending =
  | { kind: 'complete'; result: unknown }
  | { kind: 'fail'; type: string; message: string; details: unknown[] }
  | { kind: 'cancel' };

/** Takes the next workflow task of `taskQueue` and returns its token. */
export async function pollNext(client: Client, taskQueue: string): Promise<Uint8Array> {
  const { namespace } = client.options;
  const task = await client.withDeadline(Date.now() + POLL_MS, () =>
    client.workflowService.pollWorkflowTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      identity: 'by hand',
    }),
  );
  return task.taskToken;
}

/** Takes the next workflow task of `taskQueue` and ends its workflow. */
export async function endNext(client: Client, taskQueue: string, ending: Ending): Promise<void> {
  await client.workflowService.respondWorkflowTaskCompleted({
    namespace: client.options.namespace,
    taskToken: await pollNext(client, taskQueue),
    identity: 'by hand',
    commands: [command(ending) as object],
  });
}

function command(ending: Ending): unknown {
  if (ending.kind === 'complete') {
    const result = payloads(ending.result);
    return { commandType: COMMAND.complete, completeWorkflowExecutionCommandAttributes: { result } };
  }
  if (ending.kind === 'cancel') {
    return { commandType: COMMAND.cancel, cancelWorkflowExecutionCommandAttributes: {} };
  }
  const { type, message, details } = ending;
  const failure = {
    message,
    applicationFailureInfo: { type, nonRetryable: true, details: payloads(...details) },
  };
  return { commandType: COMMAND.fail, failWorkflowExecutionCommandAttributes: { failure } };
}

function payloads(...values: unknown[]) {
  return { payloads: values.map((value) => defaultPayloadConverter.toPayload(value)) };
}
