/**
 * Every command that names a task, used wrongly against the real server: one clear sentence, an exit code, and
 * nothing is started or ended by it (scenarios 54 and 55).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { WorkflowHandle } from '@temporalio/client';

import { ADDRESS, unique } from '../client/temporal.ts';
import { PLANTED } from '../support/agents.ts';
import { freePort } from '../support/free-port.ts';
import { eventType } from '../support/history.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { finished, holdfast, launch } from './command.ts';

const BLANK = 'expected text of at most 1000 bytes that is not blank';

/** Each command with a task id, otherwise used as it should be. */
const COMMANDS: [name: string, args: (id: string) => string[]][] = [
  ['status', (id) => ['status', id]],
  ['result', (id) => ['result', id]],
  ['cancel', (id) => ['cancel', id]],
  ['resolve', (id) => ['resolve', id, 'call_7', '--run-again']],
];
const start = (id: string): string[] => ['start', '--agent', 'tester', '--input', 'x', '--task-id', id];

describe('a command that is used wrongly', { concurrency: 2 }, () => {
  let stack: Stack;
  let invoice: WorkflowHandle;
  let nowhere: string;
  before(async () => {
    stack = await Stack.start();
    await stack.worker();
    const taskQueue = unique('nobody');
    invoice = await stack.client.workflow.start('invoice', { workflowId: unique('invoice'), taskQueue });
    nowhere = `127.0.0.1:${await freePort()}`;
  });
  after(async () => {
    await invoice.terminate();
    await stack.stop();
  });

  async function refused(
    args: string[],
    code: number,
    message: string,
    env: NodeJS.ProcessEnv = {},
  ): Promise<void> {
    assert.deepEqual(await holdfast(args, { env }), { code, stdout: '', stderr: `holdfast: ${message}\n` });
  }

  for (const [name, args] of COMMANDS) {
    it(`${name}: no such task, no id at all, a workflow that is no task`, async () => {
      const id = unique('nowhere');
      const why = 'it was never started here, or is past the retention time';
      await refused(args(id), 1, `no task has the id "${id}": ${why}`);
      await refused(args(' '), 2, `task id: ${BLANK}`);
      const other = `no task has the id "${invoice.workflowId}": it is the id of a workflow of type "invoice"`;
      await refused(args(invoice.workflowId), 1, other);
    });
  }

  for (const [name, args] of [...COMMANDS, ['start', start] as const]) {
    it(`${name}: no such namespace, no server`, async () => {
      await refused(
        args(unique('task')),
        1,
        `the Temporal server at ${ADDRESS} has no namespace "nowhere": create it or set TEMPORAL_NAMESPACE`,
        { TEMPORAL_NAMESPACE: 'nowhere' },
      );
      await refused(
        args(unique('task')),
        1,
        `cannot reach the Temporal server at ${nowhere}: start one (./temporal-dev.sh) or set TEMPORAL_ADDRESS`,
        { TEMPORAL_ADDRESS: nowhere },
      );
    });
  }

  it('start: a queue or an id that cannot be, an id that is taken', async () => {
    await refused([...start('x'), '--task-queue', ' '], 2, `task queue: ${BLANK}`);
    await refused(start('x'.repeat(1001)), 2, `task id: ${BLANK}`);
    await refused(
      start(invoice.workflowId),
      1,
      `the task id "${invoice.workflowId}" is taken by a workflow of type "invoice": use another id`,
    );
  });

  it('start: an agent that the worker does not know, and nothing is created', async () => {
    const id = unique('misspelt');
    const args = ['start', '--agent', 'testr', '--input', 'x', '--task-queue', stack.taskQueue];
    const { code, stdout, stderr } = await holdfast([...args, '--task-id', id, '--wait']);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(
      stderr.split('\n').at(-2),
      'holdfast: InvalidInput: input.agent: no agent "testr" is registered with this worker, did you mean "tester"?; registered: reporter, tester',
    );
    assert.equal(stack.emulator.counters().totals.creates, 0);
    assert.ok(!(await stack.eventTypes({ taskId: id })).includes('workflowTaskFailed'));
  });

  it('resolve: nobody polls, a call that is none, output that is not JSON', async () => {
    const id = unique('waits');
    const taskQueue = unique('nobody');
    const args = [{ agent: 'tester', input: 'x' }];
    const handle = await stack.client.workflow.start('agentTask', { workflowId: id, taskQueue, args });
    await refused(
      ['resolve', id, 'call_7', '--run-again'],
      1,
      `no worker on task queue "${taskQueue}" answered within 5 s: start a worker for it`,
    );
    await refused(
      ['resolve', id, ' ', '--run-again'],
      1,
      `task "${id}" refused: call_id: expected the id of a call that waits for a decision, got blank text; the query "pending" lists them`,
    );
    const { events } = await handle.fetchHistory();
    assert.deepEqual((events ?? []).map(eventType), ['workflowExecutionStarted', 'workflowTaskScheduled']);
    await handle.terminate();
  });

  it('result: nobody polls, which is told at once, and then it waits', async () => {
    const [workflowId, taskQueue] = [unique('waits'), unique('nobody')];
    const handle = await stack.client.workflow.start('agentTask', { workflowId, taskQueue, args: [{}] });
    const child = launch(['result', workflowId]);
    let told = '';
    child.stderr?.on('data', (data: Buffer) => (told += data.toString()));
    const end = finished(child);
    try {
      await until('the warning', () => told.endsWith('\n'));
    } finally {
      if (!told) await handle.terminate('no warning came');
    }
    const warning = `no worker is polling task queue "${taskQueue}": the task waits for one (holdfast worker --agents FILE)`;
    assert.deepEqual([told, child.exitCode], [`holdfast: ${warning}\n`, null]);
    await handle.terminate('enough');
    assert.equal((await end).code, 1);
  });

  it('a key that was typed in the wrong place is not shown', async () => {
    const wrong = [
      ['start', '--json', PLANTED],
      ['start', '--json', JSON.stringify({ agent: 'tester', input: 'x', [PLANTED]: 1 })],
      ['resolve', 't', 'c', '--result-json', PLANTED],
      ['start', `--api-key=${PLANTED}`],
      [`--${PLANTED}`],
      [PLANTED],
      ['start', '--json-file', `./${PLANTED}`],
      ['status', 'a', PLANTED],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await holdfast(args);
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.ok(!stderr.includes(PLANTED), stderr);
    }
  });

  it('leaves the workflow of somebody else alone', async () => {
    const { events } = await invoice.fetchHistory();
    assert.deepEqual((events ?? []).map(eventType), ['workflowExecutionStarted', 'workflowTaskScheduled']);
  });
});
