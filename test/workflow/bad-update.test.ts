/**
 * `temporal workflow update execute` and `query` with whatever an operator may type (scenario 55): what is wrong is
 * refused by the validator, so that nothing of it gets into history, and the task goes on.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import { unique } from '../client/temporal.ts';
import { PLANTED } from '../support/agents.ts';
import { Stack } from '../support/stack.ts';
import { temporal, told, tried } from '../support/temporal-command.ts';
import { waitingTask } from '../support/waiting-task.ts';

const OBJECT = 'expected a JSON object such as {"call_id": "call_1", "action": "run_again"}';
const CALL = 'expected the id of a call that waits for a decision';
const FIELDS = 'the fields are call_id, turn_id, action, output, error';
const json = (value: unknown): string[] => ['--input', JSON.stringify(value)];
const again = { call_id: 'a', action: 'run_again' };

/** What is typed, and the whole refusal. What exactly is checked: test/protocol/guards.test.ts. */
const refused: [title: string, args: string[], message: string][] = [
  ['no input', [], `input: missing, ${OBJECT}`],
  ['null', json(null), `input: ${OBJECT}, got null`],
  ['text', json('a'), `input: ${OBJECT}, got string`],
  ['an array', json([again]), `input: ${OBJECT}, got array`],
  [
    'JSON encoded twice',
    json(JSON.stringify(again)),
    `input: ${OBJECT}, got a string that holds a JSON object (encoded twice): give the object itself, without the quotes around it`,
  ],
  [
    'two inputs',
    [...json(again), ...json({ ...again, call_id: 'b' })],
    'input: expected one argument, got 2: put everything into one JSON object such as {"call_id": "call_1", "action": "run_again"}',
  ],
  [
    'bytes',
    ['--input', 'aGVsbG8=', '--input-base64', '--input-meta', 'encoding=binary/plain'],
    `input: ${OBJECT}, got binary data: send JSON`,
  ],
  [
    'an encoding that nobody knows',
    [...json(again), '--input-meta', 'encoding=odd'],
    `input: ${OBJECT}, got a payload of encoding "odd" that cannot be read: send JSON`,
  ],
  ['an empty object', json({}), `call_id: missing, ${CALL}; the query "pending" lists them`],
  [
    'a number',
    json({ ...again, call_id: 1 }),
    `call_id: ${CALL}, got number: write it in quotes; the query "pending" lists them`,
  ],
  [
    'camel case',
    json({ callId: 'a', action: 'run_again' }),
    'callId: unknown field, did you mean "call_id"?',
  ],
  [
    'a prototype',
    ['--input', '{"__proto__":{"call_id":"a","action":"run_again"}}'],
    `__proto__: unknown field, ${FIELDS}`,
  ],
  [
    'no such call',
    json({ ...again, call_id: 'c' }),
    'call_id: no call "c" waits for a decision; waiting: a, b',
  ],
  [
    'another turn',
    json({ ...again, turn_id: 'turn_x' }),
    'turn_id: the call belongs to another turn, TURN; it may be left out',
  ],
  ['no action', json({ call_id: 'a' }), 'action: missing, expected one of result, run_again, report_failure'],
  [
    'a misspelt action',
    json({ call_id: 'a', action: 'rerun_again' }),
    'action: expected one of result, run_again, report_failure, did you mean "run_again"?',
  ],
  [
    'no result',
    json({ call_id: 'a', action: 'result' }),
    'output: needed with action "result": the text or JSON that the tool would have given',
  ],
  [
    'a key as a call',
    json({ ...again, call_id: PLANTED }),
    'call_id: no call "[redacted]" waits for a decision; waiting: a, b',
  ],
  [
    'a key as an action',
    json({ call_id: 'a', action: PLANTED }),
    'action: expected one of result, run_again, report_failure',
  ],
  ['a key as a field', json({ ...again, [PLANTED]: 1 }), `[redacted]: unknown field, ${FIELDS}`],
];

describe('a message that is refused', () => {
  let folder: string;
  let stack: Stack;
  let task: AgentTask;
  let turnId: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    stack = await Stack.start();
    await stack.worker();
    ({ task, turnId } = await waitingTask(stack, ['a', 'b']));
  });
  after(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true });
  });

  const update = (name: string, args: string[], id = task.taskId) =>
    tried('workflow', 'update', 'execute', '--workflow-id', id, '--name', name, ...args);
  const events = async (): Promise<number> => (await task.describe()).historyLength;

  function file(name: string, text: string): string[] {
    const path = join(folder, name);
    writeFileSync(path, text);
    return ['--input-file', path];
  }

  it('resolveCall: the validator names the field, and history does not grow', async () => {
    const size = await events();
    for (const [title, args, message] of refused) {
      const { code, stderr } = await update('resolveCall', args);
      const expected = message.replace('TURN', turnId);
      const prefix = 'unable to update workflow: ';
      assert.equal(told(stderr), `${prefix}${expected} (type: InvalidInput, retryable: false)`, title);
      assert.equal(code, 1);
    }
    assert.equal(await events(), size);
  });

  it('resolveCall: nested too deeply, broken, unknown', async () => {
    const size = await events();
    const deep = `{"call_id":"a","action":"result","output":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    const deeply = await update('resolveCall', file('deep.json', deep));
    assert.match(told(deeply.stderr), /: output: nested deeper than 200 levels: make it flatter \(/);
    const broken = await update('resolveCall', ['--input', '{call_id:a}']);
    assert.equal(told(broken.stderr), 'input #1 is not valid JSON');
    for (const name of ['resolvecall', 'decide', '__temporal_x']) {
      const unknown = await update(name, json(again));
      assert.match(told(unknown.stderr), new RegExp(`No registered handler for update: ${name}`));
    }
    assert.equal(await events(), size);
  });

  it('an update too large for the server to answer does not end the task, also amid other messages', async () => {
    const size = await events();
    const long = file(
      'long.json',
      JSON.stringify({ ...again, action: 'result', output: 'x'.repeat(3_000_000) }),
    );
    const blank = file('blank.json', `{"call_id": "a", "action": "run_again"${' '.repeat(3_000_000)}}`);
    for (const args of [long, blank]) {
      for (const name of ['resolveCall', 'nowhere']) {
        const { code, stderr } = await update(name, args);
        assert.equal(code, 1);
        assert.match(told(stderr), /rejected because it wasn't processed by worker/);
      }
    }
    assert.equal(await events(), size);
    // Beside a signal it comes with a workflow task that counts.
    const signal = () => temporal('workflow', 'signal', '--workflow-id', task.taskId, '--name', 'noise');
    for (let i = 0; i < 4; i++) {
      const [, { code }] = await Promise.all([signal(), update('resolveCall', long), signal()]);
      assert.equal(code, 1);
    }
    assert.equal((await task.describe()).status.name, 'RUNNING');
  });

  it('another client is told so before anything is sent', async () => {
    const size = await events();
    const output = 'x'.repeat(3_000_000);
    await assert.rejects(task.resolveCall({ call_id: 'a', action: 'result', output }), {
      name: 'UpdateRefusedError',
      message: `task "${task.taskId}" refused: output: 3.0 MB of JSON, at most 1.5 MB are taken: shorten it`,
    });
    await assert.rejects(task.resolveCall({ call_id: 'a', action: 'result', output: 1n }), {
      name: 'UpdateRefusedError',
      message: /output: cannot be written as JSON/,
    });
    assert.equal(await events(), size);
  });

  it('an update with start: the task is started, the update refused', async () => {
    const id = unique('with-start');
    const start = ['--type', 'agentTask', '--task-queue', stack.taskQueue, '--id-conflict-policy', 'Fail'];
    const input = json({ agent: 'tester', input: `script: ${JSON.stringify([{ say: 'ok' }])}` });
    const updating = ['--update-name', 'resolveCall', '--update-input', JSON.stringify(again)];
    const { code, stderr } = await tried(
      'workflow',
      'execute-update-with-start',
      '--workflow-id',
      id,
      ...start,
      ...input,
      ...updating,
    );
    assert.equal(code, 1);
    assert.match(told(stderr), /call_id: no call "a" waits for a decision; waiting: none/);
    assert.equal((await stack.tasks.result(id)).output_text, 'ok');
    const late = await update('resolveCall', json(again), id);
    assert.match(told(late.stderr), /workflow execution already completed/);
    const nowhere = await update('resolveCall', json(again), unique('nowhere'));
    assert.match(told(nowhere.stderr), /workflow not found/);
  });

  it('queries: an unknown name is refused with those that there are, arguments change nothing', async () => {
    const query = (...args: string[]) => tried('workflow', 'query', '--workflow-id', task.taskId, ...args);
    const unknown = await query('--name', 'statu');
    assert.match(
      told(unknown.stderr),
      /did not register a handler for statu\. Registered queries: \[.*status pending\]/,
    );
    for (const args of [[], json({ a: 1 }), json(null), [...json(1), '--input-meta', 'encoding=odd']]) {
      const { code, stdout } = await query('--name', 'pending', ...args, '--output', 'json');
      assert.equal(code, 0);
      const { queryResult } = JSON.parse(stdout) as { queryResult: { call_id: string }[][] };
      assert.deepEqual(
        queryResult.flat().map(({ call_id }) => call_id),
        ['a', 'b'],
      );
    }
  });

  it('the good line is taken, and the task ends as it should', async () => {
    const failure = { call_id: 'a', action: 'report_failure', error: 'It did not go through.' };
    const { code } = await update('resolveCall', json(failure));
    assert.equal(code, 0);
    const result = {
      call_id: 'b',
      action: 'result',
      output: { paid: true, note: '日本 🏯' },
      turn_id: turnId,
    };
    assert.equal((await update('resolveCall', json(result))).code, 0);
    const record = await task.result();
    assert.equal(record.output_text, 'Done.');
    const posts = JSON.stringify(stack.posts(record.session_id, 'tool_result').map(({ body }) => body));
    assert.match(posts, /"error":"It did not go through\."/);
    assert.ok(posts.includes(JSON.stringify(JSON.stringify(result.output)).slice(1, -1)), posts);
    assert.ok(!(await stack.eventTypes(task)).includes('workflowTaskFailed'));
  });
});
