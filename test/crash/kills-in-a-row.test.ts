/**
 * Two workers killed with SIGKILL in the same task, one after the other, at places of different kinds; a third brings
 * it to its end as if nothing had happened.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AgentTask } from '../../src/client/index.ts';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import type { FaultPoint } from '../../src/faults/fault-point.ts';
import type { ResolveCallInput } from '../../src/protocol/task.ts';
import { failedTasks, lostAfterStart } from '../support/history.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

type Tool = 'note' | 'pay';
type Answer = Pick<ResolveCallInput, 'action' | 'output'>;

interface Row {
  tool: Tool;
  kills: [FaultPoint, FaultPoint];
  /** Effects of the call; for a repeatable tool, what two crashes may leave. */
  effects: number;
  /** What a person says each time when the outcome of the call is unknown: after the first kill, after the second. */
  answers?: (Answer | null)[];
  /** The task attaches to a session: only then it posts its message. */
  attached?: boolean;
  faults?: FaultSpec[];
}

/** No list shows the session that the first worker created: the second creates another. */
const HIDDEN: FaultSpec[] = [
  { kind: 'list_lag', ms: 3_600_000, times: 4 },
  { kind: 'unfiltered_list_lag', ms: 3_600_000, times: 4 },
];
const DONE: Answer = { action: 'result', output: { paid: 5 } };
const AGAIN: Answer = { action: 'run_again' };

const ROWS: Row[] = [
  { tool: 'pay', kills: ['session.created', 'session.created'], effects: 1, faults: HIDDEN },
  { tool: 'pay', kills: ['session.created', 'session.before_record'], effects: 1 },
  { tool: 'pay', kills: ['input.posted', 'input.posted'], effects: 1, attached: true },
  { tool: 'pay', kills: ['stream.opened', 'stream.opened'], effects: 1 },
  { tool: 'pay', kills: ['tool.after_effect', 'result.posted'], effects: 1, answers: [DONE] },
  { tool: 'pay', kills: ['tool.after_fence', 'tool.before_return'], effects: 1, answers: [AGAIN, DONE] },
  { tool: 'note', kills: ['tool.after_effect', 'result.posted'], effects: 2 },
  { tool: 'pay', kills: ['result.before_post', 'result.posted'], effects: 1 },
  { tool: 'pay', kills: ['turn.ended', 'task.before_end'], effects: 1 },
];

const CALL_ID = 'in-a-row';

function steps(tool: Tool): Step[] {
  const args = tool === 'pay' ? { amount: 5 } : { text: 'five' };
  return [{ call: { name: tool, arguments: args, call_id: CALL_ID } }, { say: `{{${tool}}}` }];
}

/** Waits until a person is asked about the call, and is that person. */
async function answer(stack: Stack, task: AgentTask, { action, output }: Answer): Promise<void> {
  const asked = await until('a person is asked', async () => (await task.pending())[0]);
  assert.equal(asked.call_id, CALL_ID);
  // A worker that crashes at once may take the answer to its update with it.
  await task
    .resolveCall({ call_id: CALL_ID, action, ...(output === undefined ? {} : { output }) })
    .catch(async (error: unknown) => {
      const { events } = await stack.handle(task).fetchHistory();
      const accepted = events?.some((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
      if (!accepted) throw error;
    });
}

describe('two kills in a row', { concurrency: 3 }, () => {
  for (const { tool, kills, effects, answers = [], attached = false, faults = [] } of ROWS) {
    it(`${kills.join(', then ')} (${tool}${attached ? ', attached' : ''})`, () =>
      withStack(async (stack) => {
        const session_id = attached ? await stack.readySession() : undefined;
        const before = stack.emulator.counters().totals;
        stack.emulator.addFaults(...faults);
        let worker = await stack.worker({ HOLDFAST_FAULT: kills[0] });
        const input = `script: ${JSON.stringify(steps(tool))}`;
        const task = await stack.tasks.start({
          agent: 'tester',
          input,
          ...(session_id ? { session_id } : {}),
        });
        await worker.crashed();
        worker = await stack.worker({ HOLDFAST_FAULT: kills[1] });
        if (answers[0]) await answer(stack, task, answers[0]);
        await worker.crashed();
        await stack.worker();
        if (answers[1]) await answer(stack, task, answers[1]);
        const record = await task.result();

        const output = tool === 'pay' ? '{"paid":5}' : '{"noted":"five"}';
        assert.equal(record.output_text, output);
        assert.equal(record.run.status, 'completed');
        const { totals, violations } = stack.emulator.counters();
        assert.ok(
          stack.emulator.faults().every(({ left }) => left === 0),
          'the faults struck',
        );
        // What a lost attempt created besides is removed again.
        const orphans = faults.length > 0 ? 1 : 0;
        assert.equal(totals.creates - totals.deletes, 1, 'sessions (I1)');
        assert.equal(totals.deletes, orphans, 'sessions removed');
        assert.equal(totals.turns_started - before.turns_started, 1 + orphans, 'turns');
        assert.equal(totals.messages_accepted, attached ? 1 : 0, 'messages');
        assert.equal(totals.results_accepted, 1, 'results taken (I4)');
        assert.equal(totals.results_refused, 0, 'results refused');
        await until('no stream is left (I9)', () => stack.emulator.counters().totals.streams_open === 0);
        assert.deepEqual(violations, []);

        const mine = stack.effects();
        assert.equal(mine.length, effects, 'effects (I2)');
        assert.equal(new Set(mine.map(({ key }) => key)).size, 1, 'keys of the tool');
        const posts = stack.posts(record.session_id, 'tool_result');
        const struck = kills.filter((point) => point === 'result.posted').length;
        assert.ok(posts.length >= 1 + struck, `${posts.length} posts`);
        assert.equal(posts.filter((post) => post.effect === 'applied').length, 1);
        assert.equal(new Set(posts.map(({ body_sha256 }) => body_sha256)).size, 1, 'bytes (I3)');
        assert.equal(
          new Set(posts.map(({ idempotency_key }) => idempotency_key)).size,
          1,
          'keys of the post',
        );
        const [body] = posts.map((post) => (post.body as { events: { output: string }[] }).events[0]);
        assert.equal(body?.output, output);

        const events = (await stack.handle(task).fetchHistory()).events ?? [];
        assert.deepEqual(failedTasks(events), [], 'failed workflow tasks');
        const asked = answers.filter((given) => given !== null).length;
        const updates = events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes).length;
        assert.equal(updates, asked, 'a person was asked only where nobody can know');
        if (tool === 'pay') assert.equal(lostAfterStart(events).length, asked);
      }));
  }
});
