/** AgentTasks in the hands of a clumsy user: refused in one sentence, before anything is sent (scenario 55). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { Client } from '@temporalio/client';

import {
  AgentTasks,
  InvalidInputError,
  TaskNotFoundError,
  type AgentTaskInput,
} from '../../src/client/index.ts';
import { TASK_INPUT_EXAMPLE } from '../../src/protocol/task.ts';
import { eventType } from '../support/history.ts';
import { ADDRESS, connect, unique } from './temporal.ts';

let client: Client;
let tasks: AgentTasks;
before(async () => {
  client = await connect();
  tasks = new AgentTasks(client, { taskQueue: unique('nobody'), workerTimeoutMs: 500 });
});
after(() => client.connection.close());

const ok = { agent: 'a', input: 'x' };
const OBJECT = `expected a JSON object such as ${TASK_INPUT_EXAMPLE}`;
const NO_JSON = 'input: cannot be written as JSON (a bigint, or an object that does not allow it)';
const DEEP = 'input: nested deeper than 200 levels, or containing itself: make it flatter';

function loop(): unknown {
  const agent: Record<string, unknown> = { model: 'm' };
  agent['self'] = [agent];
  return { agent, input: 'x' };
}

describe('an input that is refused', () => {
  const refused: [title: string, input: unknown, message: string][] = [
    ['nothing', undefined, `input: missing, give one JSON object such as ${TASK_INPUT_EXAMPLE}`],
    ['a function', () => ok, `input: missing, give one JSON object such as ${TASK_INPUT_EXAMPLE}`],
    [
      'JSON text',
      JSON.stringify(ok),
      `input: ${OBJECT}, got a string that holds a JSON object (encoded twice): remove one level of quoting`,
    ],
    ['bytes', Buffer.from(JSON.stringify(ok)), `input: ${OBJECT}, got binary data: send JSON`],
    ['a bigint', { ...ok, spend_control: { limit: 5n } }, NO_JSON],
    ['an object that throws', { ...ok, toJSON: () => assert.fail('sk-planted-secret') }, NO_JSON],
    ['an object that contains itself', loop(), DEEP],
    [
      'depth',
      { agent: { model: 'm', x: JSON.parse('['.repeat(300) + ']'.repeat(300)) as unknown }, input: 'x' },
      DEEP,
    ],
    [
      'three megabytes',
      { ...ok, input: 'x'.repeat(3_000_000) },
      'input: 3.0 MB of JSON, at most 1.5 MB are taken: leave large data where a tool or the environment can read it',
    ],
  ];
  for (const [title, input, message] of refused) {
    it(title, async () => {
      const taskId = unique('bad');
      await assert.rejects(tasks.start(input as AgentTaskInput, { taskId }), {
        name: 'InvalidInputError',
        message,
      });
      await assert.rejects(tasks.status(taskId), TaskNotFoundError);
    });
  }

  it('an id or a task queue that cannot be', async () => {
    const blank = 'expected text of at most 1000 bytes that is not blank';
    const half = 'holds half of a character (a lone surrogate): leave it out';
    const names: [unknown, string][] = [
      ['', blank],
      [' \n', blank],
      [7, blank],
      ['é'.repeat(501), blank],
      ['cut in two \ud83d', half],
    ];
    for (const [name, problem] of names) {
      const given = name as string;
      await assert.rejects(tasks.start(ok, { taskId: given }), { message: `task id: ${problem}` });
      assert.throws(() => tasks.get(given), { message: `task id: ${problem}` });
      const message = `task queue: ${problem}`;
      assert.throws(() => new AgentTasks(client, { taskQueue: given }), { message });
      await assert.rejects(AgentTasks.connect({ address: ADDRESS, taskQueue: given }), { message });
    }
  });

  it('what only the server refuses, with its reason', async () => {
    const taskId = unique('memo');
    await assert.rejects(tasks.start(ok, { taskId, memo: { note: 'x'.repeat(3_000_000) } }), {
      name: InvalidInputError.name,
      message: /^request: the Temporal server refuses it: Memo size exceeds limit/,
    });
  });
});

describe('half of a character in an input', () => {
  it('starts one task, whatever the server makes of it', async () => {
    const taskId = unique('half');
    const input = { agent: 'a', input: 'cut in two \ud83d', metadata: { note: '\udf00' } };
    const task = await tasks.start(input, { taskId });
    assert.equal((await tasks.start(input, { taskId })).runId, task.runId);
    assert.equal(await (await task.describe()).staticSummary(), 'a: cut in two \ufffd');
    await client.workflow.getHandle(taskId).terminate();
  });
});

describe('the id of a workflow that is no task', () => {
  it('is told so by every method, and the workflow is left alone', async () => {
    const workflowId = unique('other');
    const other = await client.workflow.start('invoice', { workflowId, taskQueue: unique('nobody') });
    const task = tasks.get(workflowId);
    const calls: (() => Promise<unknown>)[] = [
      () => task.status(),
      () => task.result(),
      () => task.pending(),
      () => task.describe(),
      () => task.cancel(),
      () => task.resolveCall({ call_id: 'c', action: 'run_again' }),
      () => tasks.status(workflowId),
      () => tasks.result(workflowId),
    ];
    for (const call of calls) {
      await assert.rejects(call(), {
        name: 'TaskNotFoundError',
        message: `no task has the id "${workflowId}": it is the id of a workflow of type "invoice"`,
        otherType: 'invoice',
      });
    }
    await assert.rejects(tasks.start(ok, { taskId: workflowId }), { name: 'TaskConflictError' });
    const { events } = await other.fetchHistory();
    assert.deepEqual((events ?? []).map(eventType), ['workflowExecutionStarted', 'workflowTaskScheduled']);
    await other.terminate();
  });
});
