/** The servers of both sides are killed in the middle of a task and come back with what they had on disk. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

import { Client, Connection } from '@temporalio/client';

import { AgentTasks, type AgentTask } from '../../src/client/index.ts';
import type { Counters, Step } from '../../src/emulator/index.ts';
import { compiled } from '../support/compiled.ts';
import { startDevServer } from '../support/dev-server.ts';
import { freePort } from '../support/free-port.ts';
import { holdChild, stopChild } from '../support/leash.ts';
import { withStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const pay = (hold_ms: number): Step => ({ call: { name: 'pay', arguments: { amount: 5, hold_ms } } });

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-servers-'));
  try {
    await test(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `holdfast emulator` as a process of its own, on a data directory. */
class EmulatorProcess {
  readonly #port: number;
  readonly #folder: string;
  #child: ChildProcess | null = null;

  constructor(port: number, folder: string) {
    this.#port = port;
    this.#folder = folder;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  async start(): Promise<void> {
    const command = [join(compiled(), 'src/cli/main.js'), 'emulator'];
    const child = spawn(
      process.execPath,
      [...command, '--port', String(this.#port), '--data', this.#folder],
      { detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    holdChild(child);
    this.#child = child;
    let output = '';
    child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
    await until('the emulator serves', () => {
      if (child.exitCode !== null) throw new Error('the emulator ended early; it says why above');
      return output.includes('Local Agents API');
    });
  }

  async kill(): Promise<void> {
    if (this.#child) await stopChild(this.#child, 'SIGKILL', 0);
  }

  async counters(): Promise<Counters> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}/__emulator/counters`);
    return (await answer.json()) as Counters;
  }
}

describe('the Agents API', { concurrency: 3 }, () => {
  async function withEmulator(
    test: (stack: Stack, emulator: EmulatorProcess) => Promise<void>,
  ): Promise<void> {
    await withFolder(async (folder) => {
      const emulator = new EmulatorProcess(await freePort(), folder);
      try {
        await withStack((stack) => test(stack, emulator));
      } finally {
        await emulator.kill();
      }
    });
  }

  async function assertExact(emulator: EmulatorProcess, task: AgentTask, text: string): Promise<void> {
    const record = await task.result();
    assert.equal(record.output_text, text);
    const { totals, sessions, violations } = await emulator.counters();
    assert.deepEqual(Object.keys(sessions), [record.session_id], 'one session');
    assert.equal(totals.creates, 1);
    assert.equal(totals.turns_started, 1);
    assert.equal(totals.results_accepted, record.tool_calls_total);
    assert.equal(totals.results_refused, 0);
    assert.deepEqual(violations, []);
    assert.equal(totals.streams_open, 0);
  }

  it('is killed while the agent writes, and comes back: the answer is complete', () =>
    withEmulator(async (stack, emulator) => {
      await emulator.start();
      await stack.worker({ OPENAI_BASE_URL: emulator.url });
      const text = 'word '.repeat(200);
      const task = await stack.start([pay(0), { say: text, delta_ms: 20 }]);
      await until('the agent writes', async () => {
        const { totals } = await emulator.counters();
        return totals.results_accepted === 1 && totals.streams_open === 1;
      });
      await emulator.kill();
      await until('the follower has noticed', async () => {
        const { raw } = await stack.handle(task).describe();
        return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1);
      });
      await emulator.start();
      await assertExact(emulator, task, text);
      assert.equal(stack.effects().length, 1);
    }));

  it('is killed while a tool runs, and comes back after the tool: the saved result is posted', () =>
    withEmulator(async (stack, emulator) => {
      await emulator.start();
      await stack.worker({ OPENAI_BASE_URL: emulator.url });
      const task = await stack.start([pay(2000), { say: '{{pay}}' }]);
      await until('the tool runs', () => stack.effects().length === 1);
      await emulator.kill();
      await until('the post is tried again', async () => {
        const { raw } = await stack.handle(task).describe();
        return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 2);
      });
      await emulator.start();
      await assertExact(emulator, task, '{"paid":5}');
      assert.equal(stack.effects().length, 1);
    }));

  it('is not reachable yet when the worker and the task start: one session, once it is', () =>
    withEmulator(async (stack, emulator) => {
      await stack.worker({ OPENAI_BASE_URL: emulator.url });
      const task = await stack.start([pay(0), { say: '{{pay}}' }]);
      await until('the creation is tried again', async () => {
        const { raw } = await stack.handle(task).describe();
        const [opening] = raw.pendingActivities ?? [];
        assert.ok(!opening || opening.activityType?.name === 'holdfast.openSession');
        return (opening?.attempt ?? 0) > 2;
      });
      assert.equal((await task.status()).state, 'opening');
      await emulator.start();
      await assertExact(emulator, task, '{"paid":5}');
      assert.equal(stack.effects().length, 1);
    }));
});

describe('the Temporal server, with a database file', { concurrency: 3 }, () => {
  /** A server of the test's own, with a client and a way to kill and restart it. */
  async function withServer(
    test: (
      stack: Stack,
      server: { address: string; tasks: AgentTasks; restart: () => Promise<void>; kill: () => Promise<void> },
    ) => Promise<void>,
  ): Promise<void> {
    await withFolder(async (folder) => {
      const dbFile = join(folder, 'temporal.db');
      let server = await startDevServer({ dbFile });
      const { address, port } = server;
      const connection = await Connection.connect({ address });
      try {
        await withStack(async (stack) => {
          const client = new Client({ connection });
          const tasks = new AgentTasks(client, { taskQueue: stack.taskQueue });
          await test(stack, {
            address,
            tasks,
            kill: () => server.kill(),
            restart: async () => {
              server = await startDevServer({ dbFile, port });
            },
          });
        });
      } finally {
        await connection.close();
        await server.kill();
      }
    });
  }

  async function assertExact(stack: Stack, task: AgentTask, text: string): Promise<void> {
    const record = await task.result();
    assert.equal(record.output_text, text);
    const { totals, violations } = stack.emulator.counters();
    assert.equal(totals.creates, 1);
    assert.equal(totals.turns_started, 1);
    assert.equal(totals.results_accepted, record.tool_calls_total);
    assert.equal(totals.results_refused, 0);
    assert.deepEqual(violations, []);
    assert.equal(stack.effects('pay').length, 1);
  }

  const input = (steps: Step[]) => ({ agent: 'tester', input: `script: ${JSON.stringify(steps)}` });

  it('is killed while a once tool runs, and is back before it ends', () =>
    withServer(async (stack, { address, tasks, kill, restart }) => {
      await stack.worker({ TEMPORAL_ADDRESS: address, HOLDFAST_HEARTBEAT_TIMEOUT: '10s' });
      const task = await tasks.start(input([pay(6000), { say: '{{pay}}' }]));
      await until('the tool runs', () => stack.effects().length === 1);
      await kill();
      await restart();
      await assertExact(stack, task, '{"paid":5}');
    }));

  it('is killed while a once tool runs, and is away for long: the tool tells its end, nobody is asked', () =>
    withServer(async (stack, { address, tasks, kill, restart }) => {
      await stack.worker({ TEMPORAL_ADDRESS: address, HOLDFAST_HEARTBEAT_TIMEOUT: '2s' });
      const task = await tasks.start(input([pay(2000), { say: '{{pay}}' }]));
      await until('the tool runs', () => stack.effects().length === 1);
      await kill();
      // The tool ends meanwhile, and the client's own retries, which last for 25 s or so, come to nothing.
      await wait(35_000);
      await restart();
      await assertExact(stack, task, '{"paid":5}');
    }));

  it('is killed while the agent works: the turn is followed on', () =>
    withServer(async (stack, { address, tasks, kill, restart }) => {
      await stack.worker({ TEMPORAL_ADDRESS: address });
      const task = await tasks.start(input([{ wait_ms: 4000 }, pay(0), { say: '{{pay}}' }]));
      await until('the stream is open', () => stack.emulator.counters().totals.streams_open === 1);
      await kill();
      await restart();
      await assertExact(stack, task, '{"paid":5}');
    }));
});
