/**
 * What the API answers instead of doing it (agents-api.md 5.7, scenario 50). What a retry cannot change ends the
 * task with a plain sentence that says what to do, and shows no key (I11); a tool has run once whatever came after.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { AgentTaskError, type AgentTask } from '../../src/client/index.ts';
import type { FaultMatch, Step } from '../../src/emulator/index.ts';
import { Stack, withStack, type WorkerProcess } from '../support/stack.ts';
import { until } from '../support/until.ts';

const KEY = 'sk-live-planted-0123456789';
const OTHER = 'planted.bearer.9876543210';
const STEPS: Step[] = [{ call: { name: 'pay', arguments: { amount: 3 } } }, { say: '{{pay}}' }];

/** A refusal as the service words it, with a key echoed in every place. */
function body(status: number, code: string | null, message = 'No.'): unknown {
  const echo = `${message} Incorrect API key provided: ${KEY}. Authorization: Bearer ${OTHER}`;
  const type = status === 401 || status === 403 ? 'invalid_request_error' : (code ?? 'invalid_request_error');
  return { error: { type, code, message: echo, param: null } };
}

const KEY_REFUSED = /: HTTP 40[13]: the API key was refused; check OPENAI_API_KEY, its scopes/;
const FINAL: { status: number; code: string | null; says: RegExp }[] = [
  { status: 401, code: null, says: KEY_REFUSED },
  { status: 403, code: 'forbidden', says: KEY_REFUSED },
  {
    status: 400,
    code: 'invalid_beta',
    says: /: HTTP 400: No\..*; the same request is never taken: correct what it names/,
  },
  {
    status: 429,
    code: 'insufficient_quota',
    says: /: HTTP 429: No\..*; see to the billing and the limits of the account, then start a new task/,
  },
];

interface Place {
  where: string;
  /** The request that is refused, in the words of the sentence. */
  doing: string;
  match: (session_id: string) => FaultMatch;
  /** How often a tool has run by then. */
  effects: number;
}

const PLACES: Place[] = [
  { where: 'its message', doing: 'post message', match: () => ({ input_type: 'message' }), effects: 0 },
  { where: 'a result', doing: 'post tool result', match: () => ({ input_type: 'tool_result' }), effects: 1 },
  {
    where: 'its stream',
    doing: 'open event stream',
    match: (id) => ({ method: 'GET', path: `/agents/sessions/${id}/events` }),
    effects: 0,
  },
  {
    where: 'a read of its answer',
    doing: 'list turn items',
    match: () => ({ method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}/items' }),
    effects: 1,
  },
];

describe('a refusal that no retry changes', { concurrency: true }, () => {
  let stack: Stack;
  let worker: WorkerProcess;
  before(async () => {
    stack = await Stack.start();
    worker = await stack.worker({ OPENAI_API_KEY: KEY, HOLDFAST_HEARTBEAT_TIMEOUT: '30s' });
  });
  after(() => stack.stop());

  /** The failure of a task; nothing of it shows a key. */
  async function failureOf(own: Stack, task: AgentTask, log: WorkerProcess): Promise<AgentTaskError> {
    const error = await task.result().then(
      (record) => assert.fail(`it ended well: ${JSON.stringify(record)}`),
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof AgentTaskError, String(error));
    const history = JSON.stringify(await own.handle(task).fetchHistory(), (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    );
    for (const secret of [KEY, OTHER]) {
      assert.ok(!history.includes(secret), 'history shows a key');
      assert.ok(!log.output.includes(secret), 'the log shows a key');
      assert.ok(!JSON.stringify([error.message, error.record]).includes(secret), 'the error shows a key');
    }
    return error;
  }

  for (const { where, doing, match, effects } of PLACES) {
    for (const { status, code, says } of FINAL) {
      // A result that is refused for what it is is replaced, not the end: see refusals.test.ts.
      if (status === 400 && where === 'a result') continue;
      it(`${status} ${code ?? ''} to ${where}: final, at once, in words`, async () => {
        const session_id = await stack.readySession();
        const [fault] = stack.emulator.addFaults({
          kind: 'status',
          session_id,
          match: match(session_id),
          status,
          body: body(status, code),
          times: 0,
        });
        const task = await stack.tasks.start({
          session_id,
          agent: 'tester',
          input: `script: ${JSON.stringify(STEPS)}`,
        });
        const error = await failureOf(stack, task, worker);
        assert.equal(error.reason, 'ApiRefused');
        assert.match(error.message, new RegExp(`^${doing}`));
        assert.match(error.message, says);
        assert.equal(error.record?.run.status, 'failed');
        assert.equal(stack.struck(fault), 1, 'refused once');
        const calls = error.record?.tool_calls.map(({ call_id }) => call_id) ?? [];
        assert.equal(stack.effects('pay').filter(({ call_id }) => calls.includes(call_id)).length, effects);
      });
    }
  }

  it('404 to every read: the session is gone, and what to do', async () => {
    const session_id = await stack.readySession();
    const task = await stack.tasks.start({
      session_id,
      agent: 'tester',
      input: 'script: [{"wait_for":"message"},{"say":"unread"}]',
    });
    await until('it has its message', () => stack.counts(session_id).messages_accepted === 1, 90_000);
    const path = `/agents/sessions/${session_id}`;
    const gone = { kind: 'status', session_id, status: 404, times: 0 } as const;
    const faults = stack.emulator.addFaults(
      { ...gone, match: { method: 'GET', path }, body: body(404, 'not_found_error') },
      { ...gone, match: { method: 'GET', path: `${path}/*` }, body: body(404, 'not_found_error') },
    );
    await stack.say(session_id);
    const error = await failureOf(stack, task, worker);
    assert.ok(faults.some((fault) => stack.struck(fault) > 1));
    assert.equal(error.reason, 'SessionGone');
    assert.match(error.message, new RegExp(`^session ${session_id} is gone.*start a new task`));
  });

  it('404 to its message alone, though the session is there: final after a few looks', async () => {
    const session_id = await stack.readySession();
    const [fault] = stack.emulator.addFaults({
      kind: 'status',
      session_id,
      match: { input_type: 'message' },
      status: 404,
      body: body(404, 'not_found_error'),
      times: 0,
    });
    const task = await stack.tasks.start({ session_id, agent: 'tester', input: 'Hello.' });
    const error = await failureOf(stack, task, worker);
    assert.equal(error.reason, 'ApiRefused');
    assert.match(
      error.message,
      /^post message: HTTP 404: .*; check OPENAI_BASE_URL and the project of the key/,
    );
    const struck = stack.struck(fault);
    assert.ok(struck && struck >= 2 && struck <= 5, `refused ${struck} times`);
  });

  it('to the creation: final, in words, and nothing is created', () =>
    withStack(async (own) => {
      const log = await own.worker({ OPENAI_API_KEY: KEY, HOLDFAST_HEARTBEAT_TIMEOUT: '30s' });
      const create = { method: 'POST', path: '/agents/sessions' };
      const expected: [number, string | null, string, RegExp][] = [
        ...FINAL.filter(({ status }) => status !== 400).map(
          ({ status, code, says }): [number, string | null, string, RegExp] => [
            status,
            code,
            'ApiRefused',
            says,
          ],
        ),
        [400, 'invalid_request_error', 'InvalidInput', /^input: the Agents API refused it: No\./],
        [
          404,
          'model_not_found',
          'InvalidInput',
          /^input: found nowhere; check the ids and the model, .* \(No\./,
        ],
        [409, 'conflict_error', 'ApiRefused', /^create session: HTTP 409: No\..*; .*start a new task/],
      ];
      for (const [status, code, reason, says] of expected) {
        const [fault] = own.emulator.addFaults({
          kind: 'status',
          match: create,
          status,
          body: body(status, code),
        });
        const error = await failureOf(own, await own.start(STEPS), log);
        assert.equal(error.reason, reason, `${status}: ${error.message}`);
        assert.match(error.message, says);
        assert.equal(own.struck(fault), 1);
      }
      assert.equal(own.emulator.counters().totals.creates, 0);
      assert.equal(own.effects().length, 0);
      assert.equal((await own.start(STEPS).then((task) => task.result())).output_text, '{"paid":3}');
    }));
});
