/** A tool activity with a real server: what travels from one attempt to the next. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Duration } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import type { ToolCallInput } from '../../src/protocol/calls.ts';
import { defineTool, type Tool } from '../../src/tools/define-tool.ts';
import { argumentsDigest } from '../../src/tools/plan.ts';
import { toolActivity } from '../../src/tools/tool-activity.ts';
import { ADDRESS, connect, pollNext, unique } from '../client/temporal.ts';

Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });

const SCHEDULE_ACTIVITY = 1;

/** Schedules the tool as the only activity of a workflow, and waits for its end. Answers how it ended. */
async function runOnServer(client: Client, queue: string, tool: Tool, heartbeat: Duration): Promise<string> {
  const input: ToolCallInput = {
    mode: 'execute',
    session_id: 's',
    turn_id: 't',
    call_id: 'c',
    name: tool.name,
    run_no: 1,
    effect: tool.effect,
    timeout_ms: tool.timeoutMs,
    attempts: tool.attempts,
    arguments_digest: argumentsDigest({}),
    arguments_omitted: false,
  };
  const byHand = unique('by-hand');
  const handle = await client.workflow.start('byHand', { taskQueue: byHand, workflowId: unique('tool') });
  const schedule: unknown = {
    commandType: SCHEDULE_ACTIVITY,
    scheduleActivityTaskCommandAttributes: {
      activityId: 'a',
      activityType: { name: tool.name },
      taskQueue: { name: queue },
      input: { payloads: [{}, input].map((value) => defaultPayloadConverter.toPayload(value)) },
      startToCloseTimeout: msToTs('30s'),
      heartbeatTimeout: msToTs(heartbeat),
      retryPolicy: { initialInterval: msToTs(50), maximumInterval: msToTs(50), maximumAttempts: 10 },
    },
  };
  await client.workflowService.respondWorkflowTaskCompleted({
    namespace: client.options.namespace,
    taskToken: await pollNext(client, byHand),
    commands: [schedule as object],
  });
  // The next workflow task comes when the activity has ended for good.
  await pollNext(client, byHand);
  const { events } = await handle.fetchHistory();
  await handle.terminate('over');
  const failed = events?.find((event) => event.activityTaskFailedEventAttributes);
  const completed = events?.some((event) => event.activityTaskCompletedEventAttributes);
  return completed ? 'completed' : (failed?.activityTaskFailedEventAttributes?.failure?.message ?? 'neither');
}

describe('attempts on a server', () => {
  let client: Client;
  let worker: Worker;
  let running: Promise<void>;
  const queue = unique('tools');
  const executed: number[] = [];
  const fails = defineTool({
    name: 'fails',
    description: 'Always fails.',
    effect: 'repeatable',
    retry: { attempts: 3 },
    parameters: z.object({}),
    execute: (_, call) => {
      executed.push(call.attempt);
      throw new Error('always');
    },
  });

  before(async () => {
    client = await connect();
    const connection = await NativeConnection.connect({ address: ADDRESS });
    const deps = {
      idempotencyKey: () => 'k',
      readArguments: async () => Promise.reject(new Error('not to be read')),
      maxOutputBytes: 1024,
      logToolErrors: false,
    };
    const activities = { fails: toolActivity(fails, deps) };
    const { namespace } = client.options;
    worker = await Worker.create({ connection, namespace, taskQueue: queue, activities });
    running = worker.run();
  });
  after(async () => {
    worker.shutdown();
    await running;
    await client.connection.close();
  });

  it('carry the count of failures, though the heartbeats between them are throttled', async () => {
    assert.equal(await runOnServer(client, queue, fails, '10s'), 'Tool "fails" failed.');
    assert.deepEqual(executed, [1, 2, 3]);
  });
});
