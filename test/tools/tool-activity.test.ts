/** A tool as an activity: how each way to end is told (I2, I11; scenarios 22, 23, 38). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { ToolError } from '../../src/tools/tool-error.ts';
import { Bench, failure, result, thrower } from './bench.ts';

const repeatable = { effect: 'repeatable' } as const;
class QuotaError extends Error {
  override readonly name = 'QuotaError';
}
describe('a tool that returns', () => {
  it('gives its rendered result and its attempt', async () => {
    const bench = new Bench({ tool: { ...repeatable, execute: () => ({ sent: 1 }) }, info: { attempt: 2 } });
    assert.deepEqual(await bench.run(), result('{"sent":1}', 2));
  });

  it('knows who is called: ids, key, attempt; and logs with them', async () => {
    const bench = new Bench({
      call: { run_no: 3 },
      tool: { execute: (_, call) => call.log.info('sending', { mail: 7, session_id: 'not mine to say' }) },
    });
    await bench.run();
    const [{ input, call } = { input: null, call: null }] = bench.executed;
    assert.deepEqual(input, { to: 'ann' });
    assert.deepEqual(
      [call?.taskId, call?.sessionId, call?.turnId, call?.callId, call?.idempotencyKey, call?.attempt],
      ['task-1', 'sess_1', 'turn_1', 'call_1', 'key of call_1', 3],
    );
    const line = bench.logs.find((log) => log.message === 'sending');
    const { mail, session_id, turn_id, call_id, tool } = line?.fields ?? {};
    assert.deepEqual([mail, session_id, turn_id, call_id, tool], [7, 'sess_1', 'turn_1', 'call_1', 'send']);
  });

  it('is told, not failed, when its value cannot be sent (scenario 19)', async () => {
    const end = await new Bench({ tool: { execute: () => new Map() } }).run();
    const error = 'Tool "send" gave no usable result: result is a Map, not plain data.';
    assert.deepEqual(end, { kind: 'returned', value: { result: { success: false, error }, attempt: 1 } });
  });

  it("gets the schema's output, and is not called with arguments that do not fit", async () => {
    const parameters = z.object({ to: z.string(), copies: z.number().default(2) });
    const good = new Bench({ tool: { parameters } });
    await good.run();
    assert.deepEqual(good.executed[0]?.input, { to: 'ann', copies: 2 });
    const bad = new Bench({ tool: { parameters }, args: { copies: 'x' } });
    const end = await bad.run();
    assert.match(
      JSON.stringify(end),
      /"success":false,"error":"Tool \\"send\\": the arguments do not fit: to: /,
    );
    assert.deepEqual([bad.executed.length, bad.acknowledged.length], [0, 0]);
  });
});

describe('a tool that throws (scenario 23)', () => {
  const sentences: [string, unknown, string][] = [
    ['an Error', new Error('planted'), 'Tool "send" failed.'],
    ['an error of its own class', new QuotaError('planted'), 'Tool "send" failed (QuotaError).'],
    ['a string', 'planted', 'Tool "send" failed.'],
    ['null', null, 'Tool "send" failed.'],
    ['undefined', undefined, 'Tool "send" failed.'],
    ['an odd name', Object.assign(new Error('x'), { name: 'planted words: 1' }), 'Tool "send" failed.'],
    [
      'a name that throws',
      Object.defineProperty(new Error('x'), 'name', { get: thrower('planted') }),
      'Tool "send" failed.',
    ],
    ['what the model may read', new ToolError('No such person.'), 'No such person.'],
  ];
  for (const [name, error, sentence] of sentences) {
    it(`answers ${name} with a plain sentence`, async () => {
      const once = await new Bench({ tool: { execute: thrower(error) } }).run();
      assert.deepEqual(once, failure(sentence, false));
      const again = await new Bench({ tool: { ...repeatable, execute: thrower(error) } }).run();
      assert.deepEqual(again, failure(sentence, !(error instanceof ToolError)));
    });
  }

  it('cuts a long sentence and mends a broken one', async () => {
    const end = await new Bench({
      tool: { execute: thrower(new ToolError(`\uD800${'x'.repeat(10_000)}`)) },
    }).run();
    assert.ok(end.kind === 'failed');
    assert.ok(Buffer.byteLength(end.message) <= 2000);
    assert.match(end.message, /^\uFFFDx+\n\[cut: \d+ of 10003 bytes left out\]$/);
  });

  it('may be tried again by its own word only', async () => {
    const told = new ToolError('Busy.', { retryable: true });
    assert.deepEqual(
      await new Bench({ tool: { ...repeatable, execute: thrower(told) } }).run(),
      failure('Busy.', true),
    );
    assert.deepEqual(await new Bench({ tool: { execute: thrower(told) } }).run(), failure('Busy.', false));
    const final = ApplicationFailure.nonRetryable('planted', 'NoSuchThing');
    const end = await new Bench({ tool: { ...repeatable, execute: thrower(final) } }).run();
    assert.deepEqual(end, failure('Tool "send" failed (ApplicationFailure).', false));
  });
});

describe('counting failures', () => {
  const tool = { ...repeatable, retry: { attempts: 3 }, execute: thrower(new Error('x')) };

  it('allows as many failed executions as the tool does', async () => {
    let details: unknown;
    for (const retryable of [true, true, false]) {
      const bench = new Bench({ tool, info: { heartbeatDetails: details } });
      assert.deepEqual(await bench.run(), failure('Tool "send" failed.', retryable));
      // A failure report carries the last details to the next attempt.
      details = bench.heartbeats.at(-1);
    }
  });

  it('does not count attempts that were lost with their workers', async () => {
    const bench = new Bench({ tool, info: { attempt: 7, heartbeatDetails: { progress: 'half' } } });
    assert.deepEqual(await bench.run(), failure('Tool "send" failed.', true));
    const last = new Bench({ tool, info: { attempt: 9, heartbeatDetails: { failures: 2 } } });
    assert.deepEqual(await last.run(), failure('Tool "send" failed.', false));
  });

  it('keeps the count over the heartbeats of the next attempt', async () => {
    const bench = new Bench({
      tool: { ...repeatable, execute: (_, call) => call.heartbeat({ page: 1 }) },
      info: { attempt: 2, heartbeatDetails: { failures: 1 } },
    });
    assert.equal((await bench.run()).kind, 'returned');
    assert.deepEqual(bench.heartbeats, [{ failures: 1, progress: { page: 1 } }]);
  });
});
