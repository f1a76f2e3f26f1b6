/** The client against the real server, without any workflow code (scenario 54: nobody is polling). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import type { Client } from '@temporalio/client';
import {
  AgentTaskError,
  AgentTasks,
  InvalidInputError,
  NoWorkerError,
  ServerUnavailableError,
  TaskConflictError,
  TaskNotFoundError,
  UpdateRefusedError,
} from '../../src/client/index.ts';
import type { AgentTaskInput, RunRecord } from '../../src/client/index.ts';
import { temporalCli } from '../support/dev-server.ts';
import { freePort } from '../support/free-port.ts';
import { ADDRESS, connect, endNext, pollNext, unique } from './temporal.ts';

const input: AgentTaskInput = { agent: 'trip-planner', input: 'A weekend\nin Lisbon' };
const record = {
  run: { id: 't', status: 'completed', stop_reason: 'turn_completed', error: null },
  session_id: 'sess_1',
  agent: 'trip-planner',
  model: 'm',
  output_text: 'Done.',
  output: null,
  turns: [],
  tool_calls: [],
  tool_calls_total: 0,
  tool_calls_failed: 0,
  usage: null,
} satisfies RunRecord;

let client: Client;
before(async () => {
  client = await connect();
});
after(async () => {
  await client.connection.close();
});
/** A client whose tasks nobody works on. */
function tasksOf(taskQueue = unique('nobody')): AgentTasks {
  return new AgentTasks(client, { taskQueue, workerTimeoutMs: 500 });
}
async function error<T extends Error>(kind: new (...args: never[]) => T, call: Promise<unknown>): Promise<T> {
  const thrown: unknown = await call.then(
    () => new assert.AssertionError({ message: 'nothing was thrown' }),
    (reason: unknown) => reason,
  );
  if (thrown instanceof kind) return thrown;
  throw thrown;
}

describe('start', () => {
  it('starts agentTask with the checked input, a summary and a digest', async () => {
    const tasks = tasksOf();
    const task = await tasks.start(input, { memo: { order: 42 } });
    assert.match(task.taskId, /^[0-9a-f-]{36}$/);
    const described = await task.describe();
    assert.equal(described.type, 'agentTask');
    assert.equal(described.taskQueue, tasks.taskQueue);
    assert.equal(described.runId, task.runId);
    assert.equal(described.memo?.['order'], 42);
    assert.equal(await described.staticSummary(), 'trip-planner: A weekend in Lisbon');
    const history = await client.workflow.getHandle(task.taskId).fetchHistory();
    const payload = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
    assert.deepEqual(JSON.parse(Buffer.from(payload?.data ?? []).toString()), {
      ...input,
      environment: { type: 'none' },
    });
    await client.workflow.getHandle(task.taskId).terminate();
  });

  it('bounds the summary in characters and in bytes', async () => {
    for (const text of ['x'.repeat(500), '🏯'.repeat(500), '"\\'.repeat(300)]) {
      const task = await tasksOf().start({ agent: 'a', input: text });
      const summary = (await (await task.describe()).staticSummary()) ?? '';
      assert.ok(Array.from(summary).length <= 150, summary);
      assert.ok(summary.startsWith(`a: ${text.slice(0, 10)}`) && summary.endsWith('…'), summary);
      await client.workflow.getHandle(task.taskId).terminate();
    }
  });

  it('gives the same task for the same id and input, while it runs and after it has ended', async () => {
    const tasks = tasksOf();
    const taskId = unique('same');
    const [first, second] = await Promise.all([
      tasks.start(input, { taskId }),
      tasks.start(input, { taskId }),
    ]);
    assert.equal(second.runId, first.runId);
    const reordered = { environment: { type: 'none' }, input: 'A weekend\nin Lisbon', agent: 'trip-planner' };
    assert.equal((await tasks.start(reordered, { taskId })).runId, first.runId);
    await endNext(client, tasks.taskQueue, { kind: 'complete', result: record });
    const again = await tasks.start(input, { taskId });
    assert.equal(again.runId, first.runId);
    assert.deepEqual(await again.result(), record);
  });

  it('refuses an id that belongs to another input or another workflow', async () => {
    const tasks = tasksOf();
    const taskId = unique('taken');
    const task = await tasks.start(input, { taskId });
    const conflict = await error(TaskConflictError, tasks.start({ ...input, input: 'Porto' }, { taskId }));
    assert.equal(
      conflict.message,
      `the task id "${taskId}" is taken by a task that was started with another input: use another id`,
    );
    await client.workflow.getHandle(task.taskId).terminate();

    const other = unique('other');
    const { taskQueue } = tasks;
    const handle = await client.workflow.start('somethingElse', { workflowId: other, taskQueue });
    const wrongType = await error(TaskConflictError, tasks.start(input, { taskId: other }));
    assert.match(wrongType.message, /is taken by a workflow of type "somethingElse"/);
    await handle.terminate();
  });

  it('sends nothing when the input is wrong', async () => {
    const tasks = tasksOf();
    const taskId = unique('bad');
    const wrong = { agent: 'a', input: 'x', priority: 1 } as AgentTaskInput;
    assert.match(
      (await error(InvalidInputError, tasks.start(wrong, { taskId }))).message,
      /^input\.priority: /,
    );
    const loop: Record<string, unknown> = { model: 'm' };
    loop['self'] = loop;
    await error(InvalidInputError, tasks.start({ agent: loop, input: 'x' }, { taskId }));
    await error(InvalidInputError, tasks.start(input, { taskId: ' ' }));
    await error(TaskNotFoundError, tasks.status(taskId));
  });
});

describe('without a worker', () => {
  it('tells what the server knows', async () => {
    const tasks = tasksOf();
    const task = await tasks.start(input);
    const status = await task.status();
    assert.equal(status.source, 'server');
    assert.equal(status.state, 'unknown');
    assert.equal(status.summary, 'trip-planner: A weekend in Lisbon');
    assert.equal(status.task_queue, tasks.taskQueue);
    assert.ok(Math.abs(Date.now() - status.started_at) < 60_000);
    assert.equal(status.ended_at, null);
    assert.equal(await tasks.hasPollers(), false);
    assert.equal(status.worker_polling, false);
    const answer = { call_id: 'call_1', action: 'run_again' } as const;
    const message = `no worker on task queue "${tasks.taskQueue}" answered within 1 s: start a worker for it`;
    assert.equal((await error(NoWorkerError, task.pending())).message, message);
    assert.equal((await error(NoWorkerError, task.resolveCall(answer))).message, message);
    await client.workflow.getHandle(task.taskId).terminate();
    assert.deepEqual(await task.pending(), []);
    assert.match(
      (await error(UpdateRefusedError, task.resolveCall(answer))).message,
      /refused: it has ended$/,
    );
  });

  it('sees a poller, and one that does not answer', async () => {
    const tasks = tasksOf();
    const abort = new AbortController();
    const poll = client.connection
      .withAbortSignal(abort.signal, () => pollNext(client, tasks.taskQueue))
      .catch(() => undefined);
    const deadline = Date.now() + 10_000;
    while (!(await tasks.hasPollers())) assert.ok(Date.now() < deadline, 'the poller is never seen');
    // It takes this task and never answers: the server's data are given after the wait.
    const status = await (await tasks.start(input)).status();
    assert.deepEqual([status.source, status.worker_polling], ['server', true]);
    await client.workflow.getHandle(status.task_id).terminate();
    abort.abort();
    await poll;
  });

  it('shows how tasks ended, in the status and in the result', async () => {
    const tasks = tasksOf();
    const failed = {
      ...record,
      run: {
        ...record.run,
        status: 'failed',
        stop_reason: 'turn_failed',
        error: { code: 'server_overloaded', message: 'busy' },
      },
    } satisfies RunRecord;

    const completed = await tasks.start(input);
    await endNext(client, tasks.taskQueue, { kind: 'complete', result: record });
    assert.deepEqual(await completed.result(), record);
    const done = await completed.status();
    assert.deepEqual(
      [done.state, done.source, done.session_id, done.agent, done.error],
      ['completed', 'outcome', 'sess_1', 'trip-planner', null],
    );
    assert.deepEqual(done.record, record);
    assert.ok(done.ended_at !== null && done.ended_at >= done.started_at);

    const broken = await tasks.start(input);
    await endNext(client, tasks.taskQueue, {
      kind: 'fail',
      type: 'TurnFailed',
      message: 'the turn failed: busy',
      details: [failed],
    });
    const failure = await error(AgentTaskError, broken.result());
    assert.deepEqual(
      [failure.taskId, failure.reason, failure.message, failure.retryable],
      [broken.taskId, 'TurnFailed', 'the turn failed: busy', true],
    );
    assert.deepEqual(failure.record, failed);
    const status = await broken.status();
    assert.deepEqual(
      [status.state, status.error],
      ['failed', { reason: 'TurnFailed', message: 'the turn failed: busy' }],
    );
    assert.deepEqual(status.record, failed);

    const strange = await tasks.start(input);
    await endNext(client, tasks.taskQueue, { kind: 'fail', type: 'New', message: 'm', details: ['x'] });
    const unknown = await error(AgentTaskError, strange.result());
    assert.deepEqual([unknown.reason, unknown.record, unknown.retryable], ['Failed', undefined, false]);

    const cancelled = await tasks.start(input);
    await cancelled.cancel();
    await endNext(client, tasks.taskQueue, { kind: 'cancel' });
    assert.equal((await error(AgentTaskError, cancelled.result())).reason, 'Cancelled');
    assert.equal((await cancelled.status()).state, 'cancelled');
    await cancelled.cancel();
  });

  it('shows a terminated task as terminated', async () => {
    const task = await tasksOf().start(input);
    await client.workflow.getHandle(task.taskId).terminate('by the operator');
    const status = await task.status();
    assert.equal(status.state, 'terminated');
    assert.match(status.error?.message ?? '', /by the operator/);
    assert.equal((await error(AgentTaskError, task.result())).reason, 'Terminated');
  });

  it('goes on waiting for the result when an operator resets the task', async () => {
    const tasks = tasksOf();
    const task = await tasks.start(input);
    const result = task.result();
    // A completed workflow task is a point to reset to.
    const { namespace } = client.options;
    const taskToken = await pollNext(client, tasks.taskQueue);
    await client.workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [] });
    const reset = ['workflow', 'reset', '--workflow-id', task.taskId, '--event-id', '4', '--reason', 'test'];
    execFileSync(temporalCli(), [...reset, '--address', ADDRESS, '--namespace', namespace], {
      stdio: 'pipe',
    });
    await endNext(client, tasks.taskQueue, { kind: 'complete', result: record });
    assert.deepEqual(await result, record);
    assert.equal((await tasks.start(input, { taskId: task.taskId })).runId, task.runId);
  });

  it('stops waiting on abort, with its reason', async () => {
    const task = await tasksOf().start(input);
    const abort = new AbortController();
    const result = task.result({ signal: abort.signal });
    abort.abort(new Error('enough'));
    await assert.rejects(result, { message: 'enough' });
    await assert.rejects(task.result({ signal: abort.signal }), { message: 'enough' });
    assert.equal((await task.describe()).status.name, 'RUNNING');
    await client.workflow.getHandle(task.taskId).terminate();
  });
});

describe('what is not there', () => {
  it('says that there is no such task', async () => {
    const tasks = tasksOf();
    const task = tasks.get(unique('nowhere'));
    const answer = { call_id: 'c', action: 'run_again' } as const;
    const calls = [
      () => task.result(),
      () => task.status(),
      () => task.pending(),
      () => task.describe(),
      () => task.cancel(),
      () => task.resolveCall(answer),
    ];
    for (const call of calls) assert.equal((await error(TaskNotFoundError, call())).taskId, task.taskId);
  });

  it('says in one sentence that the server cannot be reached', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const thrown = await error(
      ServerUnavailableError,
      AgentTasks.connect({ address, connectTimeoutMs: 500 }),
    );
    assert.equal(thrown.reason, 'unreachable');
    assert.equal(
      thrown.message,
      `cannot reach the Temporal server at ${address}: start one (./temporal-dev.sh) or set TEMPORAL_ADDRESS`,
    );
  });

  it('names a namespace and a profile that do not exist', async () => {
    await using tasks = await AgentTasks.connect({ address: ADDRESS, namespace: 'nowhere' });
    const thrown = await error(ServerUnavailableError, tasks.start(input));
    assert.equal(thrown.reason, 'namespace');
    assert.match(thrown.message, /has no namespace "nowhere": create it or set TEMPORAL_NAMESPACE$/);
    const profile = await error(ServerUnavailableError, AgentTasks.connect({ profile: 'nowhere' }));
    assert.equal(profile.reason, 'configuration');
    assert.match(profile.message, /nowhere/);
  });
});
