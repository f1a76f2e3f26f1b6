/** What stops a tool before it ends by itself: its limit, a cancellation, a shutdown (I2; scenarios 22, 38). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TOOL_FAILURE } from '../../src/protocol/activities.ts';
import { argumentsDigest } from '../../src/tools/plan.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { until } from '../support/until.ts';
import { Bench, failure, gate, result, thrower, untilAborted, type BenchOptions, type End } from './bench.ts';

const repeatable = { effect: 'repeatable' } as const;

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
