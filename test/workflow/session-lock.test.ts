/** The lock of a session by itself: how long it is held after its task has ended or gone on in a new run (I8). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { WorkflowHandle } from '@temporalio/client';

import { unique } from '../client/temporal.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

describe('the lock of a session', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
  });
  after(() => stack.stop());

  async function lock(owner: string): Promise<WorkflowHandle> {
    const { taskQueue } = stack;
    return stack.client.workflow.start('sessionLock', {
      taskQueue,
      workflowId: unique('lock'),
      args: [owner],
    });
  }

  it('is given up when its task ends: its parent cancels it', async () => {
    const handle = await lock('task');
    await handle.cancel();
    await handle.result();
  });

  it('is kept for the next run, and given up to that alone', async () => {
    const handle = await lock('task');
    await handle.signal('keep', true);
    await handle.cancel();
    await handle.signal('yield', 'another task');
    await until('it has taken note', async () => {
      const types = await stack.eventTypes({ taskId: handle.workflowId });
      return types.lastIndexOf('workflowTaskCompleted') > types.lastIndexOf('workflowExecutionSignaled');
    });
    assert.equal((await handle.describe()).status.name, 'RUNNING');
    await handle.signal('yield', 'task');
    await handle.result();
  });

  it('is not kept when the task stays in its run after all', async () => {
    const handle = await lock('task');
    await handle.signal('keep', true);
    await handle.signal('keep', false);
    await handle.cancel();
    await handle.result();
  });
});
