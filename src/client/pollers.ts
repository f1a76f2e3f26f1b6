import type { Client } from '@temporalio/client';

/** A poll that is older than this is no sign of a living worker: polls are renewed every minute. */
const POLL_AGE_MS = 90_000;

/** Has any worker polled the workflow task queue of this name lately? Throws what the Temporal client throws. */
export async function isPolled(client: Client, taskQueue: string): Promise<boolean> {
  // Without a type the server describes the workflow task queue.
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
  });
  const oldest = Date.now() - POLL_AGE_MS;
  return (pollers ?? []).some((poller) => Number(poller.lastAccessTime?.seconds ?? 0) * 1000 > oldest);
}
