/** The message of a task: never posted after the task's cancellation, and never twice, however old the reads are. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import { timersOf } from '../support/history.ts';
import { Stack, withStack } from '../support/stack.ts';
import { assertStruck } from '../support/strikes.ts';
import { until } from '../support/until.ts';

const MESSAGE = { input_type: 'message' };
const TURNS = { method: 'GET', path: '/agents/sessions/{session_id}/turns' };
const TURN = { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' };

const CANCEL_WAIT_S = 8;

/** A task that attaches to a session: only such a one posts its message. */
async function attach(stack: Stack, session_id: string, steps: Step[]): Promise<AgentTask> {
  return stack.tasks.start({ agent: 'tester', session_id, input: `script: ${JSON.stringify(steps)}` });
}

async function idle(stack: Stack): Promise<string> {
  const id = await stack.session([{ say: 'ready' }]);
  await until('the session is idle', async () => {
    const { status } = await stack.read<{ status: string }>(`/agents/sessions/${id}`);
    return status === 'idle';
  });
  return id;
}

describe('a cancellation that comes while the message waits', { concurrency: true }, () => {
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker({ HOLDFAST_CANCEL_WAIT: `${CANCEL_WAIT_S}s` });
  });
  after(() => stack.stop());

  async function cancelled(task: AgentTask): Promise<void> {
    const error: unknown = await task.result().then(
      () => 'it completed',
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof AgentTaskError, String(error));
    assert.equal(error.reason, 'Cancelled', error.message);
  }

  function assertNoneLater(on: Stack, id: string, accepted = 0): void {
    const [cancel] = on.posts(id, 'cancel').filter(({ effect }) => effect === 'applied');
    assert.ok(cancel, 'the service was told');
    const late = on.posts(id, 'message').filter(({ at }) => at > cancel.at);
    assert.deepEqual(late, [], 'posts after the cancellation');
    const counts = on.counts(id);
    assert.deepEqual([counts.messages_accepted, counts.turns_started], [accepted, 1]);
  }

  const turns: [string, Step[], number][] = [
    ['a turn that refuses it', [{ wait_for: 'cancel' }], 1],
    [
      'a turn that refuses it and waits for a tool',
      [{ call: { name: 'note', arguments: { text: 'x', hold_until: 'never' } } }, { say: 'never' }],
      2,
    ],
  ];
  for (const [what, steps, refusals] of turns) {
    it(`for the end of ${what}: the turn is cancelled, nothing is posted any more`, async () => {
      const id = await stack.session(steps);
      const task = await attach(stack, id, [{ say: 'never' }]);
      await until('it was refused', () => stack.posts(id, 'message').length >= refusals);
      await task.cancel();
      await cancelled(task);
      assertNoneLater(stack, id);
      const { events } = await stack.handle(task).fetchHistory();
      const [limit] = timersOf(events ?? []).filter(({ seconds }) => seconds === CANCEL_WAIT_S);
      assert.equal(limit?.fired, false, 'it ended with the turn, not at the limit');
      const { data } = await stack.read<{ data: { status: string }[] }>(`/agents/sessions/${id}/turns`);
      assert.deepEqual(
        data.map(({ status }) => status),
        ['cancelled'],
      );
    });
  }

  it('for an idle session that refuses it: nothing is posted any more', async () => {
    const id = await idle(stack);
    stack.emulator.addFaults({ kind: 'status', session_id: id, status: 409, match: MESSAGE, times: 0 });
    const task = await attach(stack, id, [{ say: 'never' }]);
    await until('it was refused twice', () => stack.posts(id, 'message').length >= 2);
    await task.cancel();
    await cancelled(task);
    assertStruck(stack.emulator, id);
    assertNoneLater(stack, id);
  });

  it('to show an effect that it will never have: it is not posted once more', async () => {
    const id = await idle(stack);
    stack.emulator.addFaults({ kind: 'lost_message', session_id: id });
    const task = await attach(stack, id, [{ say: 'never' }]);
    await until('it was taken', () => stack.counts(id).messages_accepted === 1);
    await task.cancel();
    await cancelled(task);
    assertStruck(stack.emulator, id);
    assertNoneLater(stack, id, 1);
  });

  it('for a service that is out of order: nothing is posted when it is back', () =>
    withStack(async (own) => {
      await own.worker({ HOLDFAST_CANCEL_WAIT: `${CANCEL_WAIT_S}s` });
      const id = await idle(own);
      own.emulator.addFaults({ kind: 'status', status: 503, match: MESSAGE, times: 0 });
      const task = await attach(own, id, [{ say: 'never' }]);
      await until('it was tried three times', () => own.posts(id, 'message').length >= 3);
      await task.cancel();
      await until('the service has the cancellation', () => own.counts(id).cancels > 0);
      own.emulator.clearFaults();
      await cancelled(task);
      assertNoneLater(own, id);
    }));
});

describe('a message is posted once, and a result too, while reads are old', { concurrency: true }, () => {
  const LAG_MS = 5000;
  let stack: Stack;
  before(async () => {
    stack = await Stack.start();
    await stack.worker({ HOLDFAST_STREAM_SILENCE: '2s' });
  });
  after(() => stack.stop());

  const session: FaultSpec = { kind: 'session_lag', ms: LAG_MS, times: 0 };
  const turn: FaultSpec = { kind: 'turn_lag', ms: LAG_MS, times: 0 };
  const items: FaultSpec = { kind: 'hide_in_progress_items', times: 0 };
  /** As long as the reads of two seconds, which come at growing intervals; not yet when the task attaches. */
  const noTurns: FaultSpec = { kind: 'patch_answer', patch: { data: [] }, match: TURNS, after: 1, times: 3 };
  const unknownTurn: FaultSpec = { kind: 'status', status: 404, match: TURN, times: 6 };
  const rows: [string, FaultSpec[]][] = [
    ['of the session', [session]],
    ["of the turn's end", [turn]],
    ['of the items', [items]],
    ['of all of them', [session, turn, items]],
    ['of the session, and the turn is listed late', [session, noTurns]],
    ['of the session, and the turn is found late', [session, unknownTurn]],
    [
      'of the session, the turn is listed late, and no event tells of it',
      [{ ...session, ms: 2500 }, noTurns, { kind: 'silent_stream' }],
    ],
    [
      'of the session, and the answer to the message was lost',
      [session, { kind: 'lost_reply', match: MESSAGE }],
    ],
  ];
  for (const [what, faults] of rows) {
    it(what, async () => {
      const id = await idle(stack);
      const since = Date.now();
      await until('old reads say idle', () => Date.now() - since > LAG_MS);
      stack.emulator.addFaults(...faults.map((fault) => ({ ...fault, session_id: id })));
      const task = await attach(stack, id, [
        { wait_ms: 4000 },
        { call: { name: 'pay', arguments: { amount: 5 }, call_id: id } },
        { wait_ms: 4000 },
        { say: '{{pay}}' },
      ]);
      const record = await task.result();
      assert.equal(record.output_text, '{"paid":5}');
      assertStruck(stack.emulator, id);
      const counts = stack.counts(id);
      assert.deepEqual(
        [counts.messages_accepted, counts.turns_started, counts.results_accepted],
        [1, 2, 1],
        'messages, turns and results',
      );
      // A result that old reads ask for still goes out again, as the same post.
      assert.equal(counts.results_refused + counts.violations, 0);
      assert.equal(new Set(stack.posts(id, 'message').map((post) => post.idempotency_key)).size, 1);
      assert.equal(stack.effects('pay').filter(({ call_id }) => call_id === id).length, 1);
    });
  }
});
