/**
 * `temporal workflow execute` with whatever an operator may type (scenario 55): refused in one sentence that names
 * the field and the remedy, nothing is created at the service, and no workflow task fails.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';

import { pollNext, unique } from '../client/temporal.ts';
import { PLANTED } from '../support/agents.ts';
import { eventType } from '../support/history.ts';
import { Stack, type WorkerProcess } from '../support/stack.ts';
import { tried } from '../support/temporal-command.ts';
import { until } from '../support/until.ts';
import { json, ok, refused } from './refused-starts.ts';

describe('a start that is refused', () => {
  const ids: string[] = [];
  let folder: string;
  let stack: Stack;
  let worker: WorkerProcess;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    stack = await Stack.start();
    worker = await stack.worker();
  });
  after(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true });
  });

  function file(text: string): string[] {
    const path = join(folder, `${unique('input')}.json`);
    writeFileSync(path, text);
    return ['--input-file', path];
  }

  async function assertRefused(message: string, args: string[], type = 'agentTask'): Promise<void> {
    const id = unique('bad');
    ids.push(id);
    const command = ['workflow', 'execute', '--type', type, '--task-queue', stack.taskQueue];
    const { code, stdout } = await tried(...command, '--workflow-id', id, ...args);
    assert.equal(/^ {4}Message: (.*)$/m.exec(stdout)?.[1], message, stdout);
    assert.doesNotMatch(stdout, /StackTrace/);
    assert.equal(code, 1);
    await assert.rejects(stack.client.workflow.result(id), isInvalidInput);
  }

  describe('by the Temporal CLI', { concurrency: 4 }, () => {
    for (const [title, args, message] of refused) it(title, () => assertRefused(message, args));

    it('a file that is too large', async () => {
      // The second is too large for the activity that checks the rest, and the server would terminate the task.
      for (const bytes of [1_600_000, 2_097_000]) {
        const input = JSON.stringify({ ...ok, input: 'x'.repeat(bytes) });
        await assertRefused(
          `input: ${(bytes / 1e6).toFixed(1)} MB of JSON, at most 1.5 MB are taken: leave large data where a tool or the environment can read it`,
          file(input),
        );
      }
    });

    it('JSON that is nested too deeply', async () => {
      const deep = `{"agent":{"model":"m","x":${'['.repeat(6000)}${']'.repeat(6000)}},"input":"x"}`;
      await assertRefused(
        'input: nested deeper than 200 levels, or containing itself: make it flatter',
        file(deep),
      );
    });

    for (const type of ['AgentTask', 'agent-task', 'trip-planner', '__proto__', 'default']) {
      it(`the type ${type}`, () =>
        assertRefused(
          `workflow type: there is no "${type}", a task is started with "agentTask"`,
          json(ok),
          type,
        ));
    }

    it('what the CLI does not send at all starts nothing', async () => {
      const missing = ['--input-file', join(folder, 'nowhere.json')];
      for (const args of [['--input', '{agent:tester}'], ['--input', "'{}'"], missing]) {
        const id = unique('unsent');
        const command = ['workflow', 'start', '--type', 'agentTask', '--task-queue', stack.taskQueue];
        const { code, stderr } = await tried(...command, '--workflow-id', id, ...args);
        assert.equal(code, 1);
        assert.match(stderr, /is not valid JSON|no such file/);
        await assert.rejects(stack.client.workflow.getHandle(id).describe(), {
          name: 'WorkflowNotFoundError',
        });
      }
    });
  });

  it('broken JSON from another client', async () => {
    const workflowId = unique('bad');
    ids.push(workflowId);
    const payload = {
      metadata: { encoding: Buffer.from('json/plain') },
      data: Buffer.from('{"agent": tester}'),
    };
    await stack.client.workflowService.startWorkflowExecution({
      namespace: stack.client.options.namespace,
      requestId: workflowId,
      workflowId,
      workflowType: { name: 'agentTask' },
      taskQueue: { name: stack.taskQueue },
      input: { payloads: [payload] },
    });
    const end = stack.client.withDeadline(Date.now() + 30_000, () =>
      stack.client.workflow.result(workflowId),
    );
    await assert.rejects(end, (error: unknown) => {
      assert.ok(isInvalidInput(error));
      assert.match(
        String(error.cause),
        /got a payload of encoding "json\/plain" that cannot be read: send JSON$/,
      );
      return true;
    });
  });

  it('creates nothing, fails no workflow task, and leaves no key where it was not typed', async () => {
    assert.equal(stack.emulator.counters().totals.creates, 0);
    assert.ok(ids.length > refused.length);
    for (const id of ids) {
      const { events } = await stack.client.workflow.getHandle(id).fetchHistory();
      const types = (events ?? []).map(eventType);
      assert.ok(!types.includes('workflowTaskFailed'), id);
      // The input itself stands in the first event, and in what the first activity is given.
      const told = (events ?? []).filter((event) => !/Started$|activityTaskScheduled/.test(eventType(event)));
      assert.ok(!shown(told).includes(PLANTED), id);
    }
    assert.ok(!worker.output.includes(PLANTED));
  });

  it('is not what becomes of a child: it waits for a worker of the version that knows it', async () => {
    const parent = unique('parent');
    const { taskQueue, client } = stack;
    const byHand = unique('by-hand');
    await client.workflow.start('parent', { workflowId: parent, taskQueue: byHand });
    const workflowId = unique('child');
    const startChild: unknown = {
      commandType: 11,
      startChildWorkflowExecutionCommandAttributes: {
        workflowId,
        workflowType: { name: 'newerLock' },
        taskQueue: { name: taskQueue },
      },
    };
    await client.workflowService.respondWorkflowTaskCompleted({
      namespace: client.options.namespace,
      taskToken: await pollNext(client, byHand),
      commands: [startChild as object],
    });
    const child = client.workflow.getHandle(workflowId);
    await until('the worker has refused it', async () => {
      const { events } = await child.fetchHistory().catch(() => ({ events: [] }));
      return (events ?? []).some((event) => eventType(event) === 'workflowTaskFailed');
    });
    assert.equal((await child.describe()).status.name, 'RUNNING');
    await client.workflow.getHandle(parent).terminate();
  });
});

function isInvalidInput(error: unknown): error is WorkflowFailedError {
  return (
    error instanceof WorkflowFailedError &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === 'InvalidInput'
  );
}

/** Everything in it, bytes as the text that they are. */
function shown(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    entry instanceof Uint8Array ? Buffer.from(entry).toString() : entry,
  );
}
