/** The command against the real server, without workflow code (scenarios 54 and 55). */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Client } from '@temporalio/client';
import type { TaskOverview } from '../../src/client/index.ts';
import { ADDRESS, connect, endNext, unique } from '../client/temporal.ts';
import { finished, holdfast, launch } from './command.ts';

const uiPort = Number(ADDRESS.split(':')[1]) + 1000;
const record = {
  run: { id: 't', status: 'completed', stop_reason: 'turn_completed', error: null },
  session_id: 'sess_1',
  agent: 'trip-planner',
  model: 'm',
  output_text: 'Lisbon, with umbrella ☂.',
  tool_calls: [],
  tool_calls_total: 2,
  tool_calls_failed: 1,
};

let client: Client;
let folder: string;
before(async () => {
  client = await connect();
  folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
});
after(async () => {
  await client.connection.close();
  rmSync(folder, { recursive: true });
});

function noWorker(queue: string): string {
  return `holdfast: no worker is polling task queue "${queue}": the task waits for one (holdfast worker --agents FILE)\n`;
}
async function started(queue: string): Promise<string> {
  const workflowId = unique('task');
  await client.workflow.start('agentTask', {
    workflowId,
    taskQueue: queue,
    args: [{}],
    staticSummary: 'a: x',
  });
  return workflowId;
}
async function inputOf(taskId: string): Promise<unknown> {
  const history = await client.workflow.getHandle(taskId).fetchHistory();
  const payload = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  return JSON.parse(Buffer.from(payload?.data ?? []).toString());
}

describe('holdfast start', () => {
  it('prints the id, where to look, and at once that nobody polls', async () => {
    const [queue, id] = [unique('nobody'), unique('task')];
    const args = [
      'start',
      '--agent',
      'trip-planner',
      '--input',
      'Lissabon, 日本 🏯',
      '--task-id',
      id,
      '--task-queue',
      queue,
    ];
    const expected = {
      code: 0,
      stdout: `${id}\n`,
      stderr: `Web UI   http://localhost:${uiPort}/namespaces/default/workflows/${id}\n${noWorker(queue)}`,
    };
    assert.deepEqual(await holdfast(args), expected);
    assert.deepEqual(await inputOf(id), {
      agent: 'trip-planner',
      input: 'Lissabon, 日本 🏯',
      environment: { type: 'none' },
    });
    // The same request again is the same task.
    assert.deepEqual(await holdfast(args), expected);
    const other = await holdfast(args.with(4, 'something else'));
    assert.deepEqual([other.code, other.stdout], [1, '']);
    assert.match(
      other.stderr,
      /^holdfast: the task id "task-\w+" is taken by a task that was started with another input/,
    );
    await client.workflow.getHandle(id).terminate();
  });

  it('takes the input from files, from stdin and as JSON', async () => {
    const queue = unique('nobody');
    const taskJson = { agent: { model: 'm', extra: 1 }, input: 'Grüße', metadata: { a: 'b' } };
    const text = join(folder, 'input.txt');
    const json = join(folder, 'task.json');
    writeFileSync(text, 'line 1\nline 2\n');
    // As a Windows editor writes it.
    writeFileSync(json, `\uFEFF${JSON.stringify(taskJson)}`);
    const none = { environment: { type: 'none' } };
    const ways: [args: string[], stdin: string, input: unknown][] = [
      [['--agent', 'a', '--input-file', text], '', { agent: 'a', input: 'line 1\nline 2\n', ...none }],
      [['--agent', 'a', '--input-file', '-'], 'piped', { agent: 'a', input: 'piped', ...none }],
      [['--json', JSON.stringify(taskJson)], '', { ...taskJson, ...none }],
      [['--json-file', json], '', { ...taskJson, ...none }],
      [['--json-file', '-'], JSON.stringify(taskJson), { ...taskJson, ...none }],
      [['--session', 'sess_1', '--agent', 'a'], '', { session_id: 'sess_1', agent: 'a' }],
    ];
    await Promise.all(
      ways.map(async ([args, stdin, input]) => {
        const { code, stdout } = await holdfast(['start', '--task-queue', queue, ...args], { stdin });
        assert.equal(code, 0);
        assert.deepEqual(await inputOf(stdout.trim()), input);
        await client.workflow.getHandle(stdout.trim()).terminate();
      }),
    );
  });

  it('refuses a wrong input by field, and starts nothing', async () => {
    const id = unique('bad');
    const json = JSON.stringify({ agent: 'a', input: 'x', sessionid: 's' });
    assert.deepEqual(await holdfast(['start', '--task-id', id, '--json', json]), {
      code: 2,
      stdout: '',
      stderr: 'holdfast: input.sessionid: unknown field, did you mean "session_id"?\n',
    });
    const status = await holdfast(['status', id]);
    assert.deepEqual([status.code, status.stdout], [1, '']);
    assert.match(status.stderr, /^holdfast: no task has the id "bad-\w+"/);
  });

  it('waits with --wait and prints the answer alone on stdout', async () => {
    const queue = unique('by-hand');
    const child = launch(['start', '--agent', 'a', '--input', 'x', '--task-queue', queue, '--wait']);
    const [end] = await Promise.all([
      finished(child),
      endNext(client, queue, { kind: 'complete', result: record }),
    ]);
    assert.deepEqual([end.code, end.stdout], [0, 'Lisbon, with umbrella ☂.\n']);
    assert.match(end.stderr, /^Task {5}[0-9a-f-]{36}\nWeb UI/);
  });
});

describe('a task of the command', () => {
  it('has a status and a result of every kind, with exit codes', async () => {
    const queue = unique('by-hand');
    const completed = await started(queue);
    await endNext(client, queue, { kind: 'complete', result: record });
    const failed = await started(queue);
    const lost = { ...record, run: { ...record.run, status: 'failed' } };
    await endNext(client, queue, {
      kind: 'fail',
      type: 'TurnFailed',
      message: 'the model\nwas busy',
      details: [lost],
    });
    const cancelled = await started(queue);
    await endNext(client, queue, { kind: 'cancel' });
    const terminated = await started(queue);
    await client.workflow.getHandle(terminated).terminate('enough');

    const [text, json, failure, failureJson, three, dead] = await Promise.all([
      holdfast(['result', completed]),
      holdfast(['result', completed, '--json']),
      holdfast(['result', failed]),
      holdfast(['result', failed, '--json']),
      holdfast(['result', cancelled]),
      holdfast(['result', terminated]),
    ]);
    assert.deepEqual(text, { code: 0, stdout: 'Lisbon, with umbrella ☂.\n', stderr: '' });
    assert.deepEqual([json.code, JSON.parse(json.stdout)], [0, record]);
    assert.deepEqual(failure, { code: 1, stdout: '', stderr: 'holdfast: TurnFailed: the model was busy\n' });
    assert.deepEqual([failureJson.code, JSON.parse(failureJson.stdout)], [1, lost]);
    assert.deepEqual(three, { code: 3, stdout: '', stderr: 'holdfast: Cancelled: the task was cancelled\n' });
    assert.equal(dead.code, 1);
    assert.match(dead.stderr, /^holdfast: Terminated: .*enough/);

    const [good, bad, gone] = await Promise.all([
      holdfast(['status', completed]),
      holdfast(['status', failed, '--json']),
      holdfast(['status', terminated]),
    ]);
    assert.equal(good.code, 0);
    const lines = good.stdout.split('\n');
    assert.equal(lines[0], `${completed}: completed`);
    assert.ok(lines.includes('  agent    trip-planner (m)'), good.stdout);
    assert.ok(lines.includes('  tools    2 settled, 1 failed'), good.stdout);
    assert.ok(lines.includes('  answer   Lisbon, with umbrella ☂.'), good.stdout);
    const overview = JSON.parse(bad.stdout) as TaskOverview;
    assert.deepEqual(overview.error, { reason: 'TurnFailed', message: 'the model was busy' });
    assert.match(gone.stdout, /: terminated\n/);
  });

  it('has a status without a worker, and says that there is none', async () => {
    const queue = unique('nobody');
    const id = await started(queue);
    const { code, stdout } = await holdfast(['status', id]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^${id}: running\n`));
    assert.ok(stdout.includes(`the server alone: no worker is polling task queue "${queue}"`), stdout);
    assert.ok(stdout.includes('  task     a: x\n'), stdout);

    const request = await holdfast(['cancel', id]);
    assert.equal(request.code, 0);
    assert.equal(
      request.stderr,
      `Cancellation of task ${id} is requested; "holdfast result ${id}" waits for the end\n${noWorker(queue)}`,
    );
    await endNext(client, queue, { kind: 'cancel' });
    assert.equal((await holdfast(['cancel', id])).stderr, `Task ${id} has ended already (cancelled)\n`);
    const late = await holdfast(['resolve', id, 'call_1', '--run-again']);
    assert.deepEqual([late.code, late.stderr], [1, `holdfast: task "${id}" refused: it has ended\n`]);
  });
});
