import type { AgentTask } from '../../src/client/index.ts';
import type { Stack } from './stack.ts';
import { until } from './until.ts';

/** A task that waits for a person: nobody knows how these calls of `stubborn_once` ended. Their turn's id is given. */
export async function waitingTask(
  stack: Stack,
  callIds: readonly string[],
): Promise<{ task: AgentTask; turnId: string }> {
  const call = callIds.map((call_id) => ({ name: 'stubborn_once', arguments: { ms: 3_600_000 }, call_id }));
  const task = await stack.start([{ call }, { say: 'Done.' }]);
  const [first] = await until('a person is asked about every call', async () => {
    const pending = await task.pending();
    return pending.length === callIds.length && pending;
  });
  return { task, turnId: first?.turn_id ?? '' };
}
