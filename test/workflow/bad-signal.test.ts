/**
 * `temporal workflow signal` with whatever an operator may type (scenario 55). Nobody can answer a signal, so what
 * has no effect is kept with the reason, for the query `status`; the workflow task never fails.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import type { AgentTask, IgnoredSignal } from '../../src/client/index.ts';
import type { OpenedSession } from '../../src/protocol/activities.ts';
import { TaskState } from '../../workflows/task-state.ts';
import { holdfast } from '../cli/command.ts';
import { unique } from '../client/temporal.ts';
import { PLANTED } from '../support/agents.ts';
import { Stack } from '../support/stack.ts';
import { temporal, tried } from '../support/temporal-command.ts';
import { waitingTask } from '../support/waiting-task.ts';

const json = (value: unknown): string[] => ['--input', JSON.stringify(value)];
const ODD = ['--input-meta', 'encoding=odd'];
const BYTES = ['--input', 'aGVsbG8=', '--input-base64', '--input-meta', 'encoding=binary/plain'];
const NO_NAME = 'a task knows no signal of this name';
const NO_OUTCOME = "it does not hold a tool's outcome";
const NO_CALL = 'no open call has these ids and this run';
const OUTCOME = 'holdfast.toolOutcome';
const HINT = `${NO_NAME}; "resolveCall" is an update: temporal workflow update execute`;

describe('a signal without effect', () => {
  let folder: string;
  let stack: Stack;
  let task: AgentTask;
  let turnId: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    stack = await Stack.start();
    await stack.worker();
    ({ task, turnId } = await waitingTask(stack, ['a']));
  });
  after(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true });
  });

  const signal = (name: string, args: string[], id = task.taskId) =>
    temporal('workflow', 'signal', '--workflow-id', id, '--name', name, ...args);

  async function ignored(of = task): Promise<Omit<IgnoredSignal, 'at'>[]> {
    const { detail } = await of.status();
    for (const { at } of detail?.ignored_signals ?? []) assert.ok(Math.abs(at - Date.now()) < 120_000);
    return (detail?.ignored_signals ?? []).map(({ name, reason }) => ({ name, reason }));
  }

  it('of an unknown name, whatever it carries', async () => {
    const sent: [name: string, args: string[], reason: string, shown?: string][] = [
      ['message', json({ text: 'hello' }), NO_NAME],
      ['cancel', [], NO_NAME],
      ['resolveCall', json({ call_id: 'a', action: 'run_again' }), HINT],
      ['resolve_call', json({ call_id: 'a', action: 'run_again' }), HINT],
      ['noise', [...json(1), ...ODD], NO_NAME],
      ['noise', BYTES, NO_NAME],
      ['noise', [...json(1), ...json(2)], NO_NAME],
      ['__temporal_noise', json(1), NO_NAME, 'reserved __temporal_noise'],
      ['__temporal_', [], NO_NAME, 'reserved __temporal_'],
      [PLANTED, json(PLANTED), NO_NAME, '[redacted]'],
    ];
    for (const [name, args] of sent) await signal(name, args);
    assert.deepEqual(
      await ignored(),
      sent.map(([name, , reason, shown = name]) => ({ name: shown, reason })),
    );
  });

  it("of a tool's outcome that is none, or is not wanted", async () => {
    const ids = { turn_id: turnId, call_id: 'a', run_no: 1 };
    const result = { success: true, output: 'forged' };
    const deep = join(folder, 'deep.json');
    writeFileSync(
      deep,
      JSON.stringify({ ...ids, result }).replace('"forged"', `${'['.repeat(5000)}${']'.repeat(5000)}`),
    );
    const sent: [args: string[], reason: string][] = [
      [[], NO_OUTCOME],
      [json(null), NO_OUTCOME],
      [json([ids]), NO_OUTCOME],
      [[...json({ ...ids, result }), ...ODD], NO_OUTCOME],
      [BYTES, NO_OUTCOME],
      [json(ids), NO_OUTCOME],
      [json({ ...ids, result: { success: 'true' } }), NO_OUTCOME],
      [['--input-file', deep], NO_OUTCOME],
      [json({ ...ids, run_no: '1', result }), NO_OUTCOME],
      [json({ ...ids, run_no: 2, result }), NO_CALL],
      [json({ ...ids, turn_id: 'turn_x', result }), NO_CALL],
    ];
    for (const [args] of sent) await signal(OUTCOME, args);
    assert.deepEqual(
      await ignored(),
      // The last ten are kept.
      sent.slice(-10).map(([, reason]) => ({ name: OUTCOME, reason })),
    );
    assert.equal((await task.pending())[0]?.call_id, 'a');
  });

  it('of too large a payload, or without a name, is refused by the server', async () => {
    const path = join(folder, 'large.json');
    writeFileSync(path, JSON.stringify('x'.repeat(3_000_000)));
    const command = ['workflow', 'signal', '--workflow-id', task.taskId];
    const large = await tried(...command, '--name', 'noise', '--input-file', path);
    assert.deepEqual([large.code, /exceeds limit/.test(large.stderr)], [1, true]);
    const nameless = await tried(...command, '--name', '');
    assert.deepEqual([nameless.code, /SignalName is not set/.test(nameless.stderr)], [1, true]);
  });

  it('is shown by holdfast status', async () => {
    await signal('mesage', json('hello'));
    const { code, stdout } = await holdfast(['status', task.taskId]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^ {2}ignored {2}signal mesage: ${NO_NAME}$`, 'm'));
  });

  it('goes unnoticed by the lock of the session', async () => {
    const lock = `holdfast-session:${(await task.status()).session_id ?? ''}`;
    for (const name of ['yield', 'keep', 'noise', '__temporal_noise'])
      for (const args of [[], json(null), json({ a: 1 }), [...json(1), ...ODD]])
        await signal(name, args, lock);
    const handle = stack.client.workflow.getHandle(lock);
    assert.match(String(await handle.query('__stack_trace')), /at sessionLock/);
    assert.equal((await handle.describe()).status.name, 'RUNNING');
    assert.ok(!(await stack.eventTypes({ taskId: lock })).includes('workflowTaskFailed'));
  });

  it('may come with the start of the task', async () => {
    const id = unique('signal-with-start');
    const start = ['--type', 'agentTask', '--task-queue', stack.taskQueue];
    const input = json({ agent: 'tester', input: `script: ${JSON.stringify([{ wait_ms: 60_000 }])}` });
    const signalling = [
      '--signal-name',
      '__temporal_noise',
      '--signal-input',
      '1',
      '--signal-input-meta',
      'encoding=odd',
    ];
    await temporal('workflow', 'signal-with-start', '--workflow-id', id, ...start, ...input, ...signalling);
    const early = stack.tasks.get(id);
    assert.deepEqual(await ignored(early), [{ name: 'reserved __temporal_noise', reason: NO_NAME }]);
    assert.ok(!(await stack.eventTypes(early)).includes('workflowTaskFailed'));
    await stack.handle(early).terminate();
  });

  it('is remembered across continue-as-new', () => {
    const state = new TaskState();
    state.ignore('noise', NO_NAME);
    const [entry] = state.status().ignored_signals;
    const carried = JSON.parse(JSON.stringify(state.snapshot({} as OpenedSession))) as never;
    assert.deepEqual(TaskState.restore(carried).status().ignored_signals, [entry]);
  });

  it('does the task no harm', async () => {
    await task.resolveCall({ call_id: 'a', action: 'result', output: 'real' });
    const { session_id, output_text } = await task.result();
    assert.equal(output_text, 'Done.');
    assert.match(
      JSON.stringify(stack.posts(session_id, 'tool_result').map(({ body }) => body)),
      /"output":"real"/,
    );
    assert.ok(!(await stack.eventTypes(task)).includes('workflowTaskFailed'));
  });
});
