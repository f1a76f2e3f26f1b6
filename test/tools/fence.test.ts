/** The fence of an effect once tool, its heartbeats, its check, and what is told when the server gave it up (I2). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ActivityCancelledError,
  ActivityCompletionError,
  ActivityNotFoundError,
  ActivityPausedError,
} from '@temporalio/client';
import { TOOL_FAILURE } from '../../src/protocol/activities.ts';
import type { CheckResult } from '../../src/protocol/calls.ts';
import { argumentsDigest } from '../../src/tools/plan.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { until } from '../support/until.ts';
import { Bench, gate, untilAborted, type BenchOptions, type End } from './bench.ts';

const pass = (): void => undefined;
const refuse = (error: Error) => (): never => {
  throw error;
};
const gone = refuse(new ActivityNotFoundError('gone'));
function ended(type: string, message: string): End {
  return { kind: 'failed', type, message, retryable: false };
}

describe('the fence', () => {
  it('is passed before anything is executed', async () => {
    const order: string[] = [];
    const bench = new Bench({
      tool: { execute: () => void order.push('effect') },
      server: [() => void order.push('fence'), () => void order.push('finish')],
    });
    assert.equal((await bench.run()).kind, 'returned');
    assert.deepEqual(order, ['fence', 'effect', 'finish']);
    assert.deepEqual(bench.acknowledged, [{ started: true }]);
  });

  it('waits for the answer: a server that does not answer gets no effect', async () => {
    const answer = gate();
    const bench = new Bench({ server: [async () => answer.opened, pass] });
    const run = bench.run();
    await new Promise(setImmediate);
    assert.equal(bench.executed.length, 0);
    answer.open();
    await run;
    assert.equal(bench.executed.length, 1);
  });

  const refusals = [
    new ActivityNotFoundError('planted'),
    new ActivityCancelledError('planted'),
    new ActivityPausedError('planted'),
    new Error('planted'),
    new TypeError('planted'),
  ];
  for (const error of refusals) {
    it(`executes nothing after ${error.name}`, async () => {
      const bench = new Bench({ server: [refuse(error)] });
      const end = await bench.run();
      assert.deepEqual(end, ended(TOOL_FAILURE.notStarted, `the fence was not passed (${error.name})`));
      assert.equal(bench.executed.length, 0);
      assert.deepEqual(bench.heartbeats, []);
    });
  }

  it('does not take an old answer for a new one: an attempt that was frozen meanwhile asks again', async () => {
    const info = { heartbeatTimeoutMs: 100 };
    const frozen = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));
    const slow = new Bench({ info, server: [frozen, pass] });
    assert.equal((await slow.run()).kind, 'returned');
    assert.deepEqual(slow.acknowledged, [{ started: true }, { started: true }]);
    const late = new Bench({ info, server: [frozen, gone] });
    const end = ended(TOOL_FAILURE.notStarted, 'the fence was not passed (ActivityNotFoundError)');
    assert.deepEqual(await late.run(), end);
    assert.equal(late.executed.length, 0);
  });

  it('is not passed twice: an attempt that finds `started` does not know the outcome', async () => {
    const bench = new Bench({ info: { attempt: 2, heartbeatDetails: { started: true, progress: 1 } } });
    assert.deepEqual(await bench.run(), ended(TOOL_FAILURE.unknown, 'an earlier attempt had started'));
    assert.deepEqual([bench.executed.length, bench.acknowledged.length], [0, 0]);
  });

  it('stands for a tool that was once when the call came, and for one that has become so', async () => {
    const was = new Bench({ tool: { effect: 'repeatable' }, call: { effect: 'once' }, server: [gone] });
    const is = new Bench({ call: { effect: 'repeatable' }, server: [gone] });
    for (const bench of [was, is]) {
      await bench.run();
      assert.equal(bench.executed.length, 0);
    }
  });

  it('costs a repeatable tool nothing', async () => {
    const bench = new Bench({ tool: { effect: 'repeatable' }, server: [gone] });
    assert.equal((await bench.run()).kind, 'returned');
    assert.deepEqual([bench.executed.length, bench.acknowledged.length], [1, 0]);
    const again = new Bench({
      tool: { effect: 'repeatable' },
      info: { heartbeatDetails: { started: true } },
    });
    assert.equal((await again.run()).kind, 'returned');
  });
});

describe('arguments that are not in history', () => {
  const call = { arguments_omitted: true, arguments_digest: argumentsDigest({ to: 'ann' }) };

  it('are read again, in whatever form the service has them', async () => {
    const bench = new Bench({ args: null, call, deps: { readArguments: async () => '{"to":"ann"}' } });
    assert.equal((await bench.run()).kind, 'returned');
    assert.deepEqual(bench.executed[0]?.input, { to: 'ann' });
  });

  it('start nothing when they are others, or cannot be read', async () => {
    const other = new Bench({ args: null, call, deps: { readArguments: async () => ({ to: 'bob' }) } });
    const none = new Bench({ args: null, call, deps: { readArguments: refuse(new TypeError('planted')) } });
    const changed = new Bench({ args: { to: 'bob' }, call: { arguments_digest: call.arguments_digest } });
    const words = 'the arguments are not the ones that the call was planned with';
    assert.deepEqual(await other.run(), ended(TOOL_FAILURE.notStarted, words));
    assert.deepEqual(await changed.run(), ended(TOOL_FAILURE.notStarted, words));
    const unread = 'the arguments could not be read again (TypeError)';
    assert.deepEqual(await none.run(), ended(TOOL_FAILURE.notStarted, unread));
    const away = Object.assign(new Error('planted'), { retryable: true });
    const later = new Bench({ args: null, call, deps: { readArguments: refuse(away) } });
    assert.equal((await later.run()).kind, 'failed');
    assert.deepEqual(later.failureDetails, [{ later: true }], 'no failure of the tool');
    for (const bench of [other, none, changed, later]) assert.equal(bench.executed.length, 0);
  });
});

describe('an attempt that the server gave up while it ran', () => {
  const told = (bench: Bench): unknown =>
    bench.signals.map(({ payload }) => (payload as { result: unknown }).result);

  it('tells the workflow its result', async () => {
    const bench = new Bench({ tool: { execute: () => 'sent' }, server: [pass, gone] });
    assert.deepEqual(await bench.run(), { kind: 'given up' });
    assert.deepEqual(told(bench), [{ success: true, output: 'sent' }]);
  });

  it('tells the workflow that it failed', async () => {
    const words = new Bench({ tool: { execute: refuse(new ToolError('Refused.')) }, server: [pass, gone] });
    assert.deepEqual(await words.run(), { kind: 'given up' });
    assert.deepEqual(told(words), [{ success: false, error: 'Refused.' }]);
  });

  it('reports again when the server is back, and tells nothing', async () => {
    const away = refuse(new ActivityCompletionError('no connection'));
    const bench = new Bench({
      tool: { execute: () => 'sent' },
      server: [pass, away, away, away, pass],
    });
    assert.deepEqual(await bench.run(), {
      kind: 'returned',
      value: { result: { success: true, output: 'sent' }, attempt: 1 },
    });
    assert.deepEqual(bench.acknowledged, [{ started: true }, { started: true }], 'a heartbeat found it back');
    assert.deepEqual(bench.signals, []);
  });

  it('tells its end when the server is back, and has given it up meanwhile', async () => {
    const away = refuse(new ActivityCompletionError('no connection'));
    const bench = new Bench({ tool: { execute: () => 'sent' }, server: [pass, away, away, gone] });
    assert.deepEqual(await bench.run(), { kind: 'given up' });
    assert.deepEqual(told(bench), [{ success: true, output: 'sent' }]);
  });

  it('leaves the report to the SDK when the server answers and does not take it', async () => {
    const refused = refuse(new ActivityCompletionError('too large'));
    const bench = new Bench({ tool: { execute: () => 'sent' }, server: [pass, refused, pass, refused] });
    assert.deepEqual(await bench.run(), {
      kind: 'returned',
      value: { result: { success: true, output: 'sent' }, attempt: 1 },
    });
    assert.deepEqual(bench.signals, []);
  });

  it('reports all the same when the answer of the heartbeat is news', async () => {
    const away = refuse(new ActivityCompletionError('no connection'));
    const bench = new Bench({ server: [pass, away, refuse(new ActivityPausedError('paused')), pass] });
    assert.equal((await bench.run()).kind, 'returned');
  });
});

describe('heartbeats', { concurrency: true }, () => {
  const info = { heartbeatTimeoutMs: 1000 };

  it('go on by themselves and keep `started`, until the tool ends', async () => {
    const finish = gate();
    const bench = new Bench({ tool: { execute: async () => finish.opened }, info });
    const run = bench.run();
    await until('two heartbeats', () => bench.heartbeats.length >= 2);
    finish.open();
    await run;
    const count = bench.heartbeats.length;
    assert.deepEqual(bench.heartbeats.slice(0, 2), [{ started: true }, { started: true }]);
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    assert.equal(bench.heartbeats.length, count);
  });

  it('show progress beside `started`, and nothing large or odd', async () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const bench = new Bench({
      info,
      tool: {
        execute: (_, call) => {
          for (const progress of [{ page: 1 }, 'x'.repeat(2000), cycle, undefined, { started: false }])
            call.heartbeat(progress);
        },
      },
    });
    await bench.run();
    assert.deepEqual(
      bench.heartbeats,
      [{ page: 1 }, '[too large]', '[not JSON]', null, { started: false }].map((progress) => ({
        started: true,
        progress,
      })),
    );
  });

  it('warn of a stalled event loop', async () => {
    const finish = gate();
    const bench = new Bench({
      tool: { execute: async () => finish.opened },
      info: { heartbeatTimeoutMs: 1000 },
    });
    const run = bench.run();
    await until('a first heartbeat', () => bench.heartbeats.length > 0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await until('the warning', () => bench.logs.some((log) => /event loop stalled/.test(log.message)));
    finish.open();
    await run;
  });
});

describe('check', () => {
  const found = async (check: () => unknown, options: BenchOptions = {}): Promise<CheckResult> => {
    const bench = new Bench({
      ...options,
      tool: { check: check as never, execute: refuse(new Error('never')) },
    });
    const end = await bench.run('check');
    assert.equal(bench.executed.length, 0);
    assert.equal(end.kind, 'returned');
    return (end as { value: CheckResult }).value;
  };

  it('answers for an execution that broke off, without any effect of its own', async () => {
    const output = { status: 'done', output: { id: 7 } };
    assert.deepEqual(await found(() => output), {
      status: 'done',
      result: { success: true, output: '{"id":7}' },
    });
    assert.deepEqual(await found(() => ({ status: 'not_done' })), { status: 'not_done' });
    assert.deepEqual(await found(() => ({ status: 'unknown' })), { status: 'unknown' });
  });

  it('knows nothing when it fails, answers oddly, or cannot be asked', async () => {
    for (const odd of [null, undefined, 'done', { status: 'DONE' }, {}])
      assert.deepEqual(await found(() => odd), { status: 'unknown' });
    assert.deepEqual(await found(refuse(new Error('planted'))), { status: 'unknown' });
    assert.deepEqual(await found(() => ({ status: 'done', output: 1 }), { args: { to: 7 } }), {
      status: 'unknown',
    });
    const none = await new Bench().run('check');
    assert.deepEqual(none, { kind: 'returned', value: { status: 'unknown' } });
  });

  it('is not fenced, and may look at an attempt that had started', async () => {
    const bench = new Bench({
      tool: { check: () => ({ status: 'not_done' as const }) },
      info: { heartbeatDetails: { started: true } },
      server: [gone],
    });
    assert.deepEqual(await bench.run('check'), { kind: 'returned', value: { status: 'not_done' } });
  });

  it('is stopped by cancellation', async () => {
    const started = gate();
    const bench = new Bench({
      tool: {
        check: async (_, call) => {
          started.open();
          return untilAborted(call.signal);
        },
      },
    });
    const run = bench.run('check');
    await started.opened;
    bench.cancel('timedOut');
    assert.deepEqual(await run, { kind: 'returned', value: { status: 'unknown' } });
  });
});
