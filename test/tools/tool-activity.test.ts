/** A tool as an activity: how each way to end is told (I2, I11; scenarios 22, 23, 38). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { TOOL_FAILURE } from '../../src/protocol/activities.ts';
import { argumentsDigest } from '../../src/tools/plan.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { until } from '../support/until.ts';
import { Bench, gate, untilAborted, type BenchOptions, type End } from './bench.ts';

const repeatable = { effect: 'repeatable' } as const;
class QuotaError extends Error {
  override readonly name = 'QuotaError';
}
function thrower(error: unknown): () => never {
  return () => {
    throw error;
  };
}
function failure(message: string, retryable: boolean): End {
  return { kind: 'failed', type: TOOL_FAILURE.failed, message, retryable };
}
function result(output: unknown, attempt = 1): End {
  return { kind: 'returned', value: { result: { success: true, output: output as string }, attempt } };
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

describe('the time limit (scenario 22)', { concurrency: true }, () => {
  const limit = { timeout_ms: 40 };

  it('answers for a repeatable tool at once, aborts it and drops what it returns late', async () => {
    const late = gate();
    const bench = new Bench({ tool: { ...repeatable, execute: async () => late.opened }, call: limit });
    assert.deepEqual(await bench.run(), failure('Tool "send" timed out after 40 ms.', false));
    assert.ok(bench.executed[0]?.call.signal.aborted);
    late.open();
    await until('the log line', () =>
      bench.logs.some((log) => /after it was given up; dropped/.test(log.message)),
    );
    assert.deepEqual(bench.signals, []);
  });

  it('says the limit in words', async () => {
    const bench = new Bench({
      tool: { ...repeatable, execute: async () => gate().opened },
      call: { timeout_ms: 1200 },
    });
    assert.deepEqual(await bench.run(), failure('Tool "send" timed out after 1.2 s.', false));
  });

  it('lets an effect once tool say how it ended, if it does so soon', async () => {
    const bench = new Bench({
      tool: { execute: async (_, call) => untilAborted(call.signal).catch(() => 'sent after all') },
      call: limit,
    });
    assert.deepEqual(await bench.run(), result('sent after all'));
    const told = new Bench({
      tool: {
        execute: async (_, call) => untilAborted(call.signal).catch(thrower(new ToolError('Not sent.'))),
      },
      call: limit,
    });
    assert.deepEqual(await told.run(), failure('Not sent.', false));
  });

  it('does not know the outcome when the tool only stops', async () => {
    const bench = new Bench({ tool: { execute: async (_, call) => untilAborted(call.signal) }, call: limit });
    const message = 'it did not end within 40 ms';
    assert.deepEqual(await bench.run(), {
      kind: 'failed',
      type: TOOL_FAILURE.unknown,
      message,
      retryable: false,
    });
    assert.deepEqual(bench.signals, []);
  });

  const lateEnds: [string, () => unknown, unknown][] = [
    ['its result', () => 'sent', { success: true, output: 'sent' }],
    [
      'a value that cannot be sent',
      () => 1n,
      {
        success: false,
        error: 'Tool "send" gave no usable result: result is a bigint, which JSON cannot hold.',
      },
    ],
    ['what the model may read', thrower(new ToolError('Refused.')), { success: false, error: 'Refused.' }],
  ];
  for (const [name, finish, expected] of lateEnds) {
    it(`tells the workflow ${name} when it comes later`, async () => {
      const late = gate();
      const bench = new Bench({
        tool: { execute: async () => late.opened.then(finish) },
        call: { ...limit, run_no: 2 },
      });
      const end = await bench.run();
      assert.equal(end.kind === 'failed' && end.type, TOOL_FAILURE.unknown);
      late.open();
      await until('the signal', () => bench.signals.length > 0);
      const payload = { turn_id: 'turn_1', call_id: 'call_1', run_no: 2, result: expected };
      assert.deepEqual(bench.signals, [{ workflowId: 'task-1', name: 'holdfast.toolOutcome', payload }]);
    });
  }

  it('tells nothing of a late error that proves nothing, and stands a workflow that is gone', async () => {
    const late = gate();
    const silent = new Bench({
      tool: { execute: async () => late.opened.then(thrower(new Error('aborted'))) },
      call: limit,
    });
    const gone = new Bench({
      tool: { execute: async () => late.opened.then(() => 'sent') },
      call: limit,
      signal: thrower(new Error('planted')),
    });
    await Promise.all([silent.run(), gone.run()]);
    late.open();
    await until('the log line', () => gone.logs.some((log) => /could not be told/.test(log.message)));
    assert.deepEqual([silent.signals, gone.signals], [[], []]);
    assert.doesNotMatch(JSON.stringify(gone.logs), /planted/);
  });
});

describe('cancellation (scenario 38)', { concurrency: true }, () => {
  /** Starts a tool and cancels it while it runs. */
  async function cancelled(
    options: BenchOptions,
    reason: Parameters<Bench['cancel']>[0] = 'cancelRequested',
    then?: (bench: Bench) => void,
  ): Promise<{ bench: Bench; end: End }> {
    const bench = new Bench(options);
    const run = bench.run();
    await until('the start', () => bench.executed.length > 0);
    bench.cancel(reason);
    then?.(bench);
    return { bench, end: await run };
  }
  const stops = async (_: unknown, call: { signal: AbortSignal }): Promise<never> =>
    untilAborted(call.signal);

  it('stops a repeatable tool, which then counts as cancelled', async () => {
    const { bench, end } = await cancelled({ tool: { ...repeatable, execute: stops } });
    assert.deepEqual(end, { kind: 'cancelled' });
    assert.ok(bench.executed[0]?.call.signal.aborted);
  });

  it('takes the result of a tool that finishes anyway', async () => {
    for (const effect of ['once', 'repeatable'] as const) {
      const finish = gate();
      const options = { tool: { effect, execute: async () => finish.opened.then(() => 'done') } };
      const { end } = await cancelled(options, 'cancelRequested', () => finish.open());
      assert.deepEqual(end, result('done'));
    }
  });

  it('does not know the outcome of an effect once tool that stopped', async () => {
    const { end } = await cancelled({ tool: { execute: stops } });
    const message = 'it was cancelled after it had started';
    assert.deepEqual(end, { kind: 'failed', type: TOOL_FAILURE.unknown, message, retryable: false });
  });

  it('waits for a tool that does not stop no longer than its own limit', async () => {
    const options = { tool: { ...repeatable, execute: async () => gate().opened }, call: { timeout_ms: 60 } };
    assert.deepEqual((await cancelled(options)).end, { kind: 'cancelled' });
  });

  it('lets an effect once tool finish that the server only gave up, paused or reset', async () => {
    for (const reason of ['paused', 'reset', 'notFound', 'timedOut'] as const) {
      const finish = gate();
      const options = { tool: { execute: async () => finish.opened.then(() => 'sent') } };
      const { bench, end } = await cancelled(options, reason, () => finish.open());
      assert.deepEqual(end, result('sent'));
      assert.ok(!bench.executed[0]?.call.signal.aborted);
    }
    const { end } = await cancelled({ tool: { ...repeatable, execute: stops } }, 'paused');
    assert.deepEqual(end, { kind: 'cancelled' });
  });

  it('hands a repeatable tool over when the worker shuts down, and does not count that', async () => {
    const { bench, end } = await cancelled({ tool: { ...repeatable, execute: stops } }, 'workerShutdown');
    const message = 'the worker shut down';
    assert.deepEqual(end, { kind: 'failed', type: TOOL_FAILURE.shutdown, message, retryable: true });
    assert.doesNotMatch(JSON.stringify(bench.heartbeats), /failures/);
  });

  it('does not know the outcome of an effect once tool that shutdown stopped', async () => {
    const { end } = await cancelled({ tool: { execute: stops } }, 'workerShutdown');
    const message = 'the worker shut down after it had started';
    assert.deepEqual(end, { kind: 'failed', type: TOOL_FAILURE.unknown, message, retryable: false });
  });

  it('executes nothing when it comes before the start', async () => {
    const ends: [BenchOptions, Parameters<Bench['cancel']>[0], End][] = [
      [{ tool: repeatable }, 'cancelRequested', { kind: 'cancelled' }],
      [{ tool: repeatable }, 'paused', { kind: 'cancelled' }],
      [
        { tool: repeatable },
        'workerShutdown',
        { kind: 'failed', type: TOOL_FAILURE.shutdown, message: 'the worker shut down', retryable: true },
      ],
      [
        {},
        'cancelRequested',
        {
          kind: 'failed',
          type: TOOL_FAILURE.notStarted,
          message: 'it was cancelled before it started',
          retryable: false,
        },
      ],
      [
        {},
        'paused',
        {
          kind: 'failed',
          type: TOOL_FAILURE.notStarted,
          message: 'it was cancelled before it started',
          retryable: false,
        },
      ],
      [
        {},
        'workerShutdown',
        {
          kind: 'failed',
          type: TOOL_FAILURE.notStarted,
          message: 'the worker shut down before it started',
          retryable: false,
        },
      ],
    ];
    for (const [options, reason, expected] of ends) {
      // The arguments are read again, and meanwhile the cancellation comes.
      const read = gate();
      const bench = new Bench({
        ...options,
        args: null,
        call: { arguments_omitted: true, arguments_digest: argumentsDigest({ to: 'ann' }) },
        deps: { readArguments: async () => read.opened.then(() => ({ to: 'ann' })) },
      });
      const run = bench.run();
      bench.cancel(reason);
      read.open();
      assert.deepEqual(await run, expected, reason);
      assert.deepEqual([bench.executed, bench.acknowledged], [[], []]);
    }
  });
});
