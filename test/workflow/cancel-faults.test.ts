/** A cancellation reaches the service, or the task says that it did not (scenario 39). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { Step } from '../../src/emulator/index.ts';
import { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

describe('a cancellation', { concurrency: true }, () => {
  /** Gives up later than any test ends: what ends here was confirmed. */
  let stack: Stack;
  /** Gives up soon. */
  let hasty: Stack;
  before(async () => {
    [stack, hasty] = await Promise.all([Stack.start(), Stack.start()]);
    const patient = { HOLDFAST_HEARTBEAT_TIMEOUT: '30s' };
    await Promise.all([
      stack.worker({ ...patient, HOLDFAST_CANCEL_WAIT: '5m' }),
      hasty.worker({ ...patient, HOLDFAST_CANCEL_WAIT: '5s' }),
    ]);
  });
  after(() => Promise.all([stack.stop(), hasty.stop()]));

  async function begin(session_id: string, steps: Step[], at = stack): Promise<AgentTask> {
    const input = `script: ${JSON.stringify(steps)}`;
    return at.tasks.start({ session_id, agent: 'tester', input });
  }

  /** The error of a task that was cancelled. */
  async function cancelled(task: AgentTask): Promise<AgentTaskError> {
    const error = await task.result().then(
      (record) => assert.fail(`it completed: ${record.output_text}`),
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof AgentTaskError, String(error));
    assert.equal(error.reason, 'Cancelled');
    assert.equal(error.record?.run.stop_reason, 'task_cancelled');
    return error;
  }

  const unavailable = (session_id: string, input_type: string) =>
    ({ kind: 'status', session_id, match: { input_type }, status: 503, times: 0 }) as const;

  it('that does not get through before the turn completes: the task completes', async () => {
    const session_id = await stack.readySession();
    const [fault] = stack.emulator.addFaults(unavailable(session_id, 'cancel'));
    const task = await begin(session_id, [{ wait_for: 'message' }, { say: 'won' }]);
    await until('the turn runs', async () => (await stack.turnStatus(session_id)) === 'in_progress');
    await task.cancel();
    await until('it was tried', () => stack.struck(fault) > 0);
    await stack.say(session_id);
    const record = await task.result();
    assert.deepEqual([record.run.status, record.output_text], ['completed', 'won']);
    assert.equal(await stack.turnStatus(session_id), 'completed');
    assert.equal((await stack.handle(task).describe()).status.name, 'COMPLETED');
    assert.equal(stack.counts(session_id).cancels, 0);
  });

  it('in the very moment of the completion: the outcome is what the service says, once', async () => {
    await Promise.all(
      [0, 30, 60, 90, 120].map(async (wait_ms) => {
        const session_id = await stack.readySession();
        const task = await begin(session_id, [
          { call: { name: 'note', arguments: { text: 'x' } } },
          { wait_ms },
          { say: 'done' },
        ]);
        await until('the turn is near its end', () => stack.counts(session_id).results_accepted === 1);
        await task.cancel();
        const status = await task.result().then(
          ({ run }) => run.status,
          (error: unknown) => (error instanceof AgentTaskError ? error.record?.run.status : String(error)),
        );
        assert.equal(status, await stack.turnStatus(session_id), `after ${wait_ms} ms`);
        const end = (await stack.handle(task).describe()).status.name;
        assert.equal(end, status === 'completed' ? 'COMPLETED' : 'CANCELLED');
      }),
    );
  });

  it('that never gets through: tried on, then ended as not confirmed, in words', async () => {
    const session_id = await hasty.readySession();
    const [fault] = hasty.emulator.addFaults(unavailable(session_id, 'cancel'));
    const task = await begin(session_id, [{ wait_for: 'cancel' }], hasty);
    await until('it is followed', () => hasty.counts(session_id).streams_open === 1);
    await Promise.all([task.cancel(), task.cancel()]);
    const error = await cancelled(task);
    assert.match(
      error.message,
      new RegExp(
        `did not confirm the cancellation within 5 s: the turn may still be running; look at session ${session_id}`,
      ),
    );
    assert.ok(hasty.struck(fault) >= 2, 'it was tried again');
    const keys = hasty.posts(session_id, 'cancel').map((post) => post.idempotency_key);
    assert.equal(new Set(keys).size, 1, 'two requests are one');
    assert.equal(await hasty.turnStatus(session_id), 'in_progress', 'it runs on');
  });

  it('of a turn that takes its time to stop: waited for, and confirmed', async () => {
    const session_id = await stack.readySession();
    const [fault] = stack.emulator.addFaults({ kind: 'cancel_lag', session_id, ms: 3000 });
    const task = await begin(session_id, [{ wait_for: 'cancel' }]);
    await until('it is followed', () => stack.counts(session_id).streams_open === 1);
    await task.cancel();
    const error = await cancelled(task);
    assert.equal(error.message, 'the task was cancelled');
    assert.equal(stack.struck(fault), 1);
    assert.equal(await stack.turnStatus(session_id), 'cancelled');
  });

  it('of an idle session, of which no event ever comes: ended soon, and nothing was sent to it', async () => {
    const session_id = await stack.readySession();
    const path = `/agents/sessions/${session_id}`;
    const [delay] = stack.emulator.addFaults({
      kind: 'delay',
      session_id,
      match: { method: 'GET', path },
      ms: 1500,
    });
    const task = await begin(session_id, [{ say: 'never' }]);
    await until('it is being opened', () => stack.struck(delay) === 1);
    await task.cancel();
    const error = await cancelled(task);
    assert.equal(error.message, 'the task was cancelled');
    assert.equal(stack.counts(session_id).messages_accepted, 0);
    assert.equal(stack.counts(session_id).cancels, 1);
    assert.equal(
      (await begin(session_id, [{ say: 'again' }]).then((next) => next.result())).output_text,
      'again',
    );
  });

  it('of a message that is posted in vain: never taken for done, and the message stays unsent', async () => {
    const session_id = await hasty.readySession();
    const [fault] = hasty.emulator.addFaults(unavailable(session_id, 'message'));
    const task = await begin(session_id, [{ say: 'never' }], hasty);
    await until('the message is tried', () => hasty.struck(fault) > 0);
    await task.cancel();
    const error = await cancelled(task);
    assert.match(error.message, /did not confirm the cancellation/);
    assert.equal(hasty.counts(session_id).messages_accepted, 0);
  });

  it('is what a termination is not: the turn runs on, the task says so, and anybody may cancel it', async () => {
    const session_id = await stack.readySession();
    const task = await begin(session_id, [{ wait_for: 'cancel' }]);
    await until('the turn runs', async () => (await stack.turnStatus(session_id)) === 'in_progress');
    await stack.handle(task).terminate('by hand');
    await assert.rejects(task.result(), /terminated \(by hand\); its session may still be working/);
    assert.equal(await stack.turnStatus(session_id), 'in_progress');
    assert.equal(stack.counts(session_id).cancels, 0);
    await stack.cancelTurn(session_id);
    assert.equal(await stack.turnStatus(session_id), 'cancelled');
  });
});
