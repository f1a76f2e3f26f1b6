/** The official client's own helpers, unmodified, against the emulator. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  APIConnectionError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import OpenAI from 'openai';
import { zodResponsesFunction } from 'openai/helpers/zod';
import { zodAgentTextFormat } from 'openai/helpers/beta/agents/zod';
import { functionTool } from 'openai/lib/beta/agents/function-tool';
import type { AgentSession, AgentSessionItem } from 'openai/resources/beta/agents/agents';
import { z } from 'zod';
import { emulate, script, tool, typesOf, waitFor, LIMIT } from './support.ts';

const NONE = { environment: { type: 'none' as const } };

async function idle(read: () => Promise<AgentSession>): Promise<AgentSession> {
  return waitFor('idle', async () => {
    const session = await read();
    return session.status === 'idle' ? session : undefined;
  });
}

describe('sessions.create', LIMIT, () => {
  it('answers the session, already in progress, and the turn goes on without a reader', async (t) => {
    const { sessions } = await emulate(t);
    const made = await sessions.create({
      ...NONE,
      agent: { model: 'scripted', instructions: 'be brief', reasoning: { effort: 'low' } },
      input: 'good morning',
      metadata: { task: 't1' },
    });
    assert.equal(made.object, 'agent.session');
    assert.equal(made.status, 'in_progress');
    assert.deepEqual(made.environment, { type: 'none' });
    assert.deepEqual(made.agent.reasoning, { effort: 'low', summary: null });
    assert.deepEqual(made.agent.text, { format: { type: 'text' }, verbosity: 'medium' });
    const done = await idle(() => sessions.retrieve(made.id));
    assert.deepEqual(done.metadata, { task: 't1' });
    const items: AgentSessionItem[] = [];
    for await (const item of sessions.items.list(made.id, { order: 'asc' })) items.push(item);
    assert.deepEqual(
      items.map((item) => item.type === 'message' && item.role),
      ['user', 'assistant'],
    );
    assert.match(JSON.stringify(items[1]), /scripted agent of the local emulator.*good morning/);
  });

  it('calls local handlers on a creation stream and collects the result', async (t) => {
    const { sessions } = await emulate(t);
    const given: unknown[] = [];
    const stream = await sessions.create({
      ...NONE,
      agent: {
        model: 'scripted',
        tools: [tool('look_up', { order: { type: 'string', examples: ['A-1'] } })],
      },
      input: 'where is it?',
      stream: true,
      toolHandlers: {
        look_up: (args) => {
          given.push(args);
          return { status: 'paid' };
        },
      },
    });
    const outcome = await stream.finalResult();
    assert.deepEqual(given, [{ order: 'A-1' }]);
    assert.equal(outcome.turn.status, 'completed');
    assert.equal(outcome.output_text, 'I called look_up. look_up returned: {"status":"paid"}.');
  });

  it('ends a creation stream at the first idle after its turn', async (t) => {
    const { sessions } = await emulate(t);
    const stream = await sessions.create({ ...NONE, agent: { model: 'm' }, input: script([]), stream: true });
    assert.deepEqual(await typesOf(stream), [
      'created',
      'turn.created',
      'turn.item.added',
      'in_progress',
      'turn.in_progress',
      'turn.completed',
      'idle',
    ]);
  });
});

describe('sessions.stream', LIMIT, () => {
  it('follows one turn of an idle session and runs the tools', async (t) => {
    const { sessions } = await emulate(t);
    const made = await sessions.create({ ...NONE, agent: { model: 'm' }, input: 'first' });
    await idle(() => sessions.retrieve(made.id));
    const stream = sessions.stream(made.id, {
      input: script([
        { call: [{ name: 'add', arguments: { a: 1, b: 2 } }, { name: 'break' }] },
        { say: '{{add}} and {{break}}' },
      ]),
      toolHandlers: {
        add: (args) => String(Number(args['a']) + Number(args['b'])),
        break: () => {
          throw new Error('secret reason');
        },
      },
    });
    const outcome = await stream.finalResult();
    assert.equal(outcome.output_text, '3 and Tool handler failed.');
    const usage = await waitFor('usage', async () => {
      const turn = await sessions.turns.retrieve(outcome.turn.id, { session_id: made.id });
      return turn.usage ?? undefined;
    });
    assert.equal(outcome.turn.usage, null);
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  });

  it('takes tools and formats made with zod', async (t) => {
    const { sessions } = await emulate(t);
    const convert = functionTool(
      zodResponsesFunction({
        name: 'convert',
        description: 'Converts an amount',
        parameters: z.object({ amount: z.number().min(5), to: z.enum(['EUR', 'USD']) }),
        function: ({ amount, to }) => ({ text: `${amount} ${to}` }),
      }),
    );
    const format = zodAgentTextFormat(z.object({ city: z.string(), ids: z.array(z.int()) }));
    const stream = await sessions.create({
      ...NONE,
      agent: { model: 'm', tools: [convert.definition], text: { format } },
      input: 'go',
      stream: true,
      toolHandlers: { [convert.name]: convert.handler },
    });
    const outcome = await stream.finalResult();
    assert.deepEqual(outcome.output_parsed, { city: 'example city', ids: [1] });
    const [first] = (await sessions.list()).data;
    const items = (await sessions.items.list(first?.id ?? '', { order: 'asc' })).data;
    const output = items.find((item) => item.type === 'function_call_output');
    assert.equal(output?.output, '{"text":"5 EUR"}');
  });

  it('says what is still required when no handler is registered', async (t) => {
    const { sessions } = await emulate(t);
    const stream = await sessions.create({
      ...NONE,
      agent: { model: 'm' },
      input: script([{ call: { name: 'nobody_has_this', call_id: 'call_1' } }]),
      stream: true,
    });
    await assert.rejects(
      stream.finalResult(),
      (error: Error & { reason?: string; required_actions?: unknown[] }) => {
        assert.equal(error.reason, 'requires_action');
        assert.equal(error.required_actions?.length, 1);
        return true;
      },
    );
  });

  it('reports failed and cancelled turns', async (t) => {
    const { sessions } = await emulate(t);
    const made = await sessions.create({ ...NONE, agent: { model: 'm' }, input: 'first' });
    await idle(() => sessions.retrieve(made.id));
    const failing = sessions.stream(made.id, {
      input: script([{ say: 'partly' }, { fail: { code: 'server_overloaded', message: 'too much' } }]),
    });
    await assert.rejects(failing.finalResult(), { reason: 'failed' });
    const cancelled = sessions.stream(made.id, { input: script([{ wait_for: 'cancel' }]) });
    const outcome = assert.rejects(cancelled.finalResult(), { reason: 'cancelled' });
    await waitFor('the turn', async () =>
      (await sessions.retrieve(made.id)).status === 'in_progress' ? true : undefined,
    );
    await sessions.events.create(made.id, { events: [{ type: 'agent.session.input.cancel' }] });
    await outcome;
  });
});

describe('errors as the SDK sees them', LIMIT, () => {
  it('has a class for each status, with code, param and request id', async (t) => {
    const bench = await emulate(t, { apiKey: 'the-key' });
    const client = new OpenAI({ baseURL: `${bench.origin}/v1`, apiKey: 'the-key', maxRetries: 0 });
    const { sessions } = client.beta.agents;
    await assert.rejects(bench.sessions.list(), AuthenticationError);
    await assert.rejects(sessions.retrieve('sess_none'), (error: unknown) => {
      assert.ok(error instanceof NotFoundError);
      assert.equal(error.code, 'not_found_error');
      assert.match(error.message, /No managed agent resource found: sess_none/);
      assert.match(String(error.requestID), /^req_/);
      return true;
    });
    await assert.rejects(sessions.create({ ...NONE, input: 'x' }), (error: unknown) => {
      assert.ok(error instanceof BadRequestError);
      assert.equal(error.param, 'agent.model');
      assert.equal(error.code, 'invalid_request_error');
      return true;
    });
    const made = await sessions.create({
      ...NONE,
      agent: { model: 'm' },
      input: script([{ wait_for: 'cancel' }]),
    });
    await assert.rejects(sessions.delete(made.id), ConflictError);
    bench.emulator.addFaults(
      { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
      { kind: 'status', status: 503 },
      { kind: 'status', status: 500, body: '<html>bad gateway</html>' },
    );
    await assert.rejects(sessions.retrieve(made.id), (error: unknown) => {
      assert.ok(error instanceof RateLimitError);
      assert.equal(error.headers.get('retry-after'), '7');
      return true;
    });
    await assert.rejects(sessions.retrieve(made.id), InternalServerError);
    await assert.rejects(sessions.retrieve(made.id), (error: unknown) => {
      assert.ok(error instanceof InternalServerError);
      assert.equal(error.code, undefined);
      return true;
    });
    bench.emulator.addFaults({ kind: 'lost_reply' });
    await assert.rejects(sessions.retrieve(made.id), APIConnectionError);
  });
});
