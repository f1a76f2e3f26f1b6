/**
 * Records the histories that `replay.test.ts` replays: `tsx test/replay/record.ts`. Run it when the workflow's
 * commands change before a release; histories of released versions stay as they are.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

import type { AgentTask } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { startDevServer, type DevServer } from '../support/dev-server.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const folder = fileURLToPath(new URL('histories', import.meta.url));
const note = (
  call_id: string,
  hold_ms = 0,
): { call: { name: string; arguments: object; call_id: string } } => ({
  call: { name: 'note', arguments: { text: 'x', hold_ms }, call_id },
});

async function save(stack: Stack, name: string, task: AgentTask, runId?: string): Promise<void> {
  const handle = stack.client.workflow.getHandle(task.taskId, runId);
  const json = historyToJSON(await handle.fetchHistory());
  // A stack tells where the code lay that was recorded, and replay does not look at it.
  const kept: unknown = JSON.parse(json, (key, value: unknown) => (key === 'stackTrace' ? undefined : value));
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(kept, null, 2)}\n`);
  process.stdout.write(`${name}\n`);
}

async function ended(task: AgentTask): Promise<void> {
  await task.result().catch(() => undefined);
}

async function record(stack: Stack): Promise<void> {
  let worker = await stack.worker();
  const run = async (name: string, steps: Step[]): Promise<AgentTask> => {
    const task = await stack.start(steps);
    await ended(task);
    await save(stack, name, task);
    return task;
  };
  const effect = (id: string): Promise<boolean> =>
    until(`call ${id} runs`, () => stack.effects().some(({ call_id }) => call_id === id));

  const plain = await run('plain', [{ say: 'Hello.' }]);
  await run('sequential', [note('s1'), { call: { name: 'pay', arguments: { amount: 1 } } }, { say: 'ok' }]);
  await run('parallel', [
    { call: [note('p1', 300).call, note('p2').call, { name: 'nope', arguments: {} }] },
    { say: 'ok' },
  ]);
  await run('tool-failed', [{ call: { name: 'fails', arguments: { how: 'error' } } }, { say: 'ok' }]);
  await run('turn-failed', [{ fail: { code: 'server_overloaded', message: 'Busy.' } }]);

  const invalid = await stack.client.workflow.start('agentTask', {
    args: [{ agent: 'nobody', input: 'x' }],
    taskQueue: stack.taskQueue,
    workflowId: `invalid-${stack.taskQueue}`,
  });
  await invalid.result().catch(() => undefined);
  await save(stack, 'invalid-input', stack.tasks.get(invalid.workflowId));

  const cancelled = await stack.start([note('c1', 60_000), { say: 'never' }]);
  await effect('c1');
  await cancelled.cancel();
  await ended(cancelled);
  await save(stack, 'cancelled', cancelled);

  const { session_id } = await plain.result();
  const attached = await stack.tasks.start({
    session_id,
    input: `script: ${JSON.stringify([{ say: 'again' }])}`,
  });
  await ended(attached);
  await save(stack, 'attached', attached);

  const crashed = await stack.start([note('k1', 1500), { say: 'ok' }]);
  await effect('k1');
  await worker.kill();
  worker = await stack.worker();
  await ended(crashed);
  await save(stack, 'tool-lost', crashed);
  await worker.kill();

  const doomed = await stack.worker({ HOLDFAST_FAULT: 'tool.after_effect' });
  const unknown = await stack.start([
    { call: { name: 'pay', arguments: { amount: 1 }, call_id: 'u1' } },
    { call: { name: 'pay_checked', arguments: { amount: 2 }, call_id: 'u2' } },
    { say: 'ok' },
  ]);
  await doomed.crashed();
  const doomedAgain = await stack.worker({ HOLDFAST_FAULT: 'tool.after_effect' });
  await until('a person is asked', async () => (await unknown.pending()).length > 0);
  await unknown.resolveCall({ call_id: 'u1', action: 'result', output: 'paid by hand' });
  await doomedAgain.crashed();
  worker = await stack.worker();
  await ended(unknown);
  await save(stack, 'unknown-outcome', unknown);
  await worker.kill();

  worker = await stack.worker({ HOLDFAST_FOLLOW_LIMIT: '1s' });
  await run('handover', [{ wait_ms: 2500 }, { say: 'ok' }]);
  await worker.kill();

  worker = await stack.worker({ HOLDFAST_CONTINUE_AFTER_EVENTS: '50' });
  const rolled = await stack.start([
    ...Array.from({ length: 8 }, (_, index) => note(`r${index}`)),
    { say: 'ok' },
  ]);
  const first = (await stack.handle(rolled).describe()).runId;
  await ended(rolled);
  await save(stack, 'continue-as-new-1', rolled, first);
  await save(stack, 'continue-as-new-2', rolled);
}

let server: DevServer | null = null;
if (!process.env['TEMPORAL_ADDRESS']) {
  server = await startDevServer();
  process.env['TEMPORAL_ADDRESS'] = server.address;
}
mkdirSync(folder, { recursive: true });
// Only now: it reads the address when it is loaded.
const { Stack: LoadedStack } = await import('../support/stack.ts');
const stack = await LoadedStack.start();
try {
  await record(stack);
} finally {
  await stack.stop();
  await server?.stop();
}
