/** The client with a real worker and the local Agents API. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { AgentTaskError, AgentTasks, UpdateRefusedError } from '../../src/client/index.ts';
import type { AgentTask, TaskOverview } from '../../src/client/index.ts';
import { startEmulator } from '../../src/emulator/index.ts';
import type { AgentScript, Emulator } from '../../src/emulator/index.ts';
import { createWorker, defineAgent, defineTool, readConfig } from '../../src/index.ts';
import { unique } from './temporal.ts';

/** Opened by a test to let the tool `slow` end. */
const gate = { open: () => {}, passed: Promise.resolve() };
const slow = defineTool({
  name: 'slow',
  description: 'Ends when the test says so.',
  parameters: z.object({ thing: z.string() }),
  effect: 'repeatable',
  execute: async (_, call) => {
    const stopped = new Promise((_resolve, reject) => {
      call.signal.addEventListener('abort', () => reject(call.signal.reason as Error), { once: true });
    });
    await Promise.race([gate.passed, stopped]);
    return 'slow result';
  },
});
/** Does its work and then never says so: its outcome is unknown when its time is over. */
const silent = defineTool({
  name: 'silent',
  description: 'Never answers.',
  parameters: z.object({}),
  effect: 'once',
  timeout: '1s',
  execute: () => new Promise<string>(() => {}),
});
const agent = (name: string, tools: Parameters<typeof defineAgent>[0]['tools']) =>
  defineAgent({ name, model: name, tools: tools ?? [] });
const script = (model: string, steps: AgentScript['steps']): AgentScript => ({
  name: model,
  match: { model },
  steps: steps ?? [],
});
const quick = defineTool({
  name: 'quick',
  description: 'Answers at once.',
  parameters: z.object({}),
  effect: 'repeatable',
  execute: () => 'ok',
});
const AGENTS = [
  agent('plain', []),
  agent('long', [quick]),
  agent('slow', [slow]),
  agent('silent', [silent]),
  agent('failing', []),
];
const SCRIPTS = [
  script('plain', [{ say: 'Done.' }]),
  script('slow', [{ call: { name: 'slow', arguments: { thing: 'tea' } } }, { say: 'Got {{slow}}.' }]),
  script('silent', [{ call: { name: 'silent', arguments: {} } }, { say: 'Got {{silent}}.' }]),
  script('long', [
    ...Array.from({ length: 8 }, () => ({ call: { name: 'quick', arguments: {} } })),
    { say: 'At last.' },
  ]),
  script('failing', [{ fail: { code: 'server_overloaded', message: 'too busy' } }]),
];

let emulator: Emulator;
let worker: { stop(): Promise<void> };
let tasks: AgentTasks;
before(async () => {
  emulator = await startEmulator({ scripts: SCRIPTS, deltaMs: 0 });
  const taskQueue = unique('live');
  worker = await startWorker(taskQueue);
  tasks = await AgentTasks.connect({ taskQueue });
});
after(async () => {
  await tasks.close();
  await worker.stop();
  await emulator.close();
});

async function startWorker(taskQueue: string): Promise<{ stop(): Promise<void> }> {
  const config = readConfig({
    OPENAI_API_KEY: 'local',
    OPENAI_BASE_URL: emulator.url,
    HOLDFAST_TASK_QUEUE: taskQueue,
    HOLDFAST_LOG_LEVEL: 'silent',
    HOLDFAST_HEARTBEAT_TIMEOUT: '3s',
    HOLDFAST_SHUTDOWN_GRACE: '1s',
    HOLDFAST_CONTINUE_AFTER_EVENTS: '50',
  });
  const started = await createWorker({ agents: AGENTS, config });
  const running = started.run();
  return {
    stop: async () => {
      started.shutdown();
      await running;
    },
  };
}

function closeGate(): void {
  gate.passed = new Promise((resolve) => {
    gate.open = resolve;
  });
}
/** Asks until the status is as wanted. */
async function until(task: AgentTask, wanted: (status: TaskOverview) => boolean): Promise<TaskOverview> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const status = await task.status();
    if (wanted(status)) return status;
    assert.ok(Date.now() < deadline, `still ${JSON.stringify(status)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
async function failureOf(task: AgentTask): Promise<AgentTaskError> {
  const thrown = await task.result().catch((error: unknown) => error);
  assert.ok(thrown instanceof AgentTaskError, String(thrown));
  return thrown;
}

describe('a task with a worker', () => {
  it('gives its run record, and the same task and session for a repeated start', async () => {
    const taskId = unique('plain');
    const input = { agent: 'plain', input: 'hello' };
    const created = Object.keys(emulator.counters().sessions).length;
    const task = await tasks.start(input, { taskId });
    const record = await task.result();
    assert.equal(record.output_text, 'Done.');
    assert.equal(record.run.id, taskId);
    assert.equal(record.run.status, 'completed');
    const again = await tasks.start(input, { taskId });
    assert.deepEqual(await again.result(), record);
    assert.equal(Object.keys(emulator.counters().sessions).length, created + 1);
    assert.equal(await tasks.hasPollers(), true);
  });

  it('goes on in the session of an earlier task', async () => {
    const first = await (await tasks.start({ agent: 'plain', input: 'one' })).result();
    const second = await tasks.start({ session_id: first.session_id, agent: 'plain', input: 'two' });
    const record = await second.result();
    assert.equal(record.session_id, first.session_id);
    assert.notEqual(record.turns[0]?.turn_id, first.turns[0]?.turn_id);
  });

  it('has a status from the worker while a tool runs, and one from its outcome afterwards', async () => {
    closeGate();
    const task = await tasks.start({ agent: 'slow', input: 'go' });
    const status = await until(task, ({ state }) => state === 'running_tools');
    assert.equal(status.source, 'worker');
    assert.equal(status.agent, 'slow');
    assert.match(status.session_id ?? '', /^sess_/);
    const [call] = status.detail?.tool_calls ?? [];
    assert.deepEqual([call?.name, call?.state], ['slow', 'running']);
    assert.deepEqual(await task.pending(), []);
    gate.open();
    assert.equal((await task.result()).output_text, 'Got slow result.');
    const ended = await task.status();
    assert.deepEqual(
      [ended.state, ended.source, ended.session_id],
      ['completed', 'outcome', status.session_id],
    );
  });

  it('tells what a cancelled task left', async () => {
    closeGate();
    const task = await tasks.start({ agent: 'slow', input: 'go' });
    await until(task, ({ state }) => state === 'running_tools');
    await task.cancel();
    const failure = await failureOf(task);
    assert.equal(failure.reason, 'Cancelled');
    assert.equal(failure.record?.run.stop_reason, 'task_cancelled');
    assert.equal(failure.record?.tool_calls[0]?.name, 'slow');
    const status = await task.status();
    assert.equal(status.state, 'cancelled');
    assert.deepEqual(status.record, failure.record);
    gate.open();
  });

  it('fails with the reason and the record of its turn', async () => {
    const task = await tasks.start({ agent: 'failing', input: 'go' });
    const failure = await failureOf(task);
    assert.equal(failure.reason, 'TurnFailed');
    assert.match(failure.message, /too busy/);
    assert.equal(failure.retryable, true);
    assert.equal(failure.record?.run.error?.code, 'server_overloaded');
  });

  it('fails with the field for an input that the server was given past the client', async () => {
    const unknown = await tasks.start({ agent: 'nobody-knows', input: 'go' });
    const failure = await failureOf(unknown);
    assert.equal(failure.reason, 'InvalidInput');
    assert.match(failure.message, /agent: no agent "nobody-knows" is registered/);
    assert.equal(failure.retryable, false);
  });

  it('lets a person answer a call whose outcome is unknown', async () => {
    const task = await tasks.start({ agent: 'silent', input: 'go' });
    const waiting = await until(task, ({ state }) => state === 'waiting_for_person');
    const callId = waiting.detail?.tool_calls[0]?.call_id ?? '';
    const [pending] = await task.pending();
    assert.deepEqual([pending?.kind, pending?.call_id, pending?.name], ['unknown_outcome', callId, 'silent']);
    const refused = await task
      .resolveCall({ call_id: 'call_x', action: 'run_again' })
      .catch((error: unknown) => error);
    assert.ok(refused instanceof UpdateRefusedError, String(refused));
    assert.match(refused.message, new RegExp(`no call "call_x" waits for a decision; waiting: ${callId}`));
    const answer = await task.resolveCall({ call_id: callId, action: 'result', output: 'tea' });
    assert.deepEqual([answer.call_id, answer.state], [callId, 'recorded']);
    assert.equal((await task.result()).output_text, 'Got tea.');
  });

  it('is found by its id after continue-as-new, and waited for across it', async () => {
    const taskId = unique('long');
    const input = { agent: 'long', input: 'go' };
    const task = await tasks.start(input, { taskId });
    assert.equal((await task.result()).output_text, 'At last.');
    const { runId } = await task.describe();
    assert.notEqual(runId, task.runId, 'the task never continued as new');
    const again = await tasks.start(input, { taskId });
    assert.equal(again.runId, task.runId);
    await assert.rejects(tasks.start({ ...input, input: 'other' }, { taskId }), {
      name: 'TaskConflictError',
    });
  });

  it('has its last known state when the worker is gone', async () => {
    closeGate();
    const taskQueue = unique('left');
    const other = await startWorker(taskQueue);
    await using left = await AgentTasks.connect({ taskQueue, workerTimeoutMs: 1_000 });
    const task = await left.start({ agent: 'slow', input: 'go' });
    const seen = await until(task, ({ state }) => state === 'running_tools');
    await other.stop();
    const status = await task.status();
    assert.equal(status.source, 'server');
    assert.deepEqual([status.session_id, status.agent], [seen.session_id, 'slow']);
    assert.notEqual(status.state, 'unknown');
    gate.open();
    await task.cancel();
    const next = await startWorker(taskQueue);
    assert.equal((await failureOf(task)).reason, 'Cancelled');
    await next.stop();
  });
});
