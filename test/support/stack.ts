/**
 * Everything a task needs, for one test file: the local Agents API in this process, worker processes of their own,
 * a task queue that nobody else uses, and a file in which tools leave their effects. Crashes are real: a worker is
 * killed with SIGKILL.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Client, WorkflowHandle } from '@temporalio/client';

import { AgentTasks, type AgentTask } from '../../src/client/index.ts';
import {
  startEmulator,
  type Counts,
  type Emulator,
  type PostRecord,
  type EmulatorOptions,
  type Step,
} from '../../src/emulator/index.ts';
import type { AgentTaskInput } from '../../src/protocol/task.ts';
import { connect, unique } from '../client/temporal.ts';
import { tester } from './agents.ts';
import { compiled } from './compiled.ts';
import { holdChild, signalGroup, stopChild } from './leash.ts';
import { assertStruck } from './strikes.ts';
import { until } from './until.ts';
import { workflowBundle } from './workflow-bundle.ts';

/** Room for a heartbeat timeout or two on a busy machine. */
const CRASH_MS = 90_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
const HEADERS = { authorization: 'Bearer test-key', 'openai-beta': 'agents=v1' };

/** A line of the effects file. */
export interface Effect {
  tool: string;
  call_id: string;
  key: string;
  attempt: number;
  pid: number;
}

/** A worker process. */
export class WorkerProcess {
  readonly child: ChildProcess;
  output = '';

  constructor(child: ChildProcess) {
    this.child = child;
    holdChild(child);
    child.stdout?.on('data', (data: Buffer) => (this.output += data.toString()));
    child.stderr?.on('data', (data: Buffer) => (this.output += data.toString()));
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits until it polls. Throws with its output when it ends before. */
  async ready(): Promise<this> {
    const running = (): boolean => {
      if (!this.alive) throw new Error(`the worker ended early:\n${this.output}`);
      return this.output.includes('"state":"RUNNING"');
    };
    // Bundling the workflow code takes its time on a busy machine.
    await until('the worker starts', running, 90_000);
    return this;
  }

  /** Sends a signal to the process and whatever it started. */
  signal(signal: NodeJS.Signals): void {
    signalGroup(this.child, signal);
  }

  /** A crash. */
  async kill(): Promise<void> {
    await stopChild(this.child, 'SIGKILL', 5000);
  }

  /** SIGTERM; resolves when the process has ended by itself. */
  async stop(patienceMs = 20_000): Promise<number | null> {
    await stopChild(this.child, 'SIGTERM', patienceMs);
    return this.child.exitCode;
  }

  /** Waits for a crash at a fault point. */
  async crashed(): Promise<void> {
    await until('the worker crashes', () => !this.alive, CRASH_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.output}`);
    });
    if (this.child.signalCode !== 'SIGKILL') throw new Error(`the worker did not crash:\n${this.output}`);
  }
}

/** Runs a test with a stack of its own. What it threw counts, whatever else is wrong after it. */
export async function withStack(
  test: (stack: Stack) => Promise<void>,
  options?: EmulatorOptions,
): Promise<void> {
  const stack = await Stack.start(options);
  try {
    await test(stack);
  } catch (error) {
    await stack.stop().catch(() => undefined);
    throw error;
  }
  await stack.stop();
}

export class Stack {
  readonly emulator: Emulator;
  readonly client: Client;
  readonly tasks: AgentTasks;
  readonly taskQueue: string;
  readonly #folder: string;
  readonly #bundle: string;
  readonly #workers: WorkerProcess[] = [];

  private constructor(emulator: Emulator, client: Client, taskQueue: string, bundle: string) {
    this.emulator = emulator;
    this.client = client;
    this.taskQueue = taskQueue;
    this.tasks = new AgentTasks(client, { taskQueue, workerTimeoutMs: 20_000 });
    this.#folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
    this.#bundle = bundle;
    writeFileSync(this.effectsFile, '');
  }

  static async start(options: EmulatorOptions = {}): Promise<Stack> {
    const [emulator, client, bundle] = await Promise.all([
      startEmulator({ deltaMs: 1, ...options }),
      connect(),
      workflowBundle(),
    ]);
    return new Stack(emulator, client, unique('queue'), bundle);
  }

  get effectsFile(): string {
    return join(this.#folder, 'effects.jsonl');
  }

  effects(tool?: string): Effect[] {
    const lines = readFileSync(this.effectsFile, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Effect).filter((effect) => !tool || effect.tool === tool);
  }

  /** Lets tools go on that hold until this word. */
  release(word: string): void {
    writeFileSync(`${this.effectsFile}.${word}`, '');
  }

  /** Starts a worker process and waits until it polls. `agents` is a file of `test/support`. */
  async worker(env: Record<string, string> = {}, agents = 'agents'): Promise<WorkerProcess> {
    const code = compiled();
    const child = spawn(
      process.execPath,
      [
        join(code, 'src/cli/main.js'),
        'worker',
        '--agents',
        join(code, `test/support/${agents}.js`),
        '--task-queue',
        this.taskQueue,
      ],
      {
        cwd: root,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          OPENAI_BASE_URL: this.emulator.url,
          OPENAI_API_KEY: 'test-key',
          HOLDFAST_WORKFLOW_BUNDLE: env['HOLDFAST_FAULT'] ? await workflowBundle(true) : this.#bundle,
          // A lost worker is noticed soon, so that the tests are; the default is 10 s.
          HOLDFAST_HEARTBEAT_TIMEOUT: '2s',
          HOLDFAST_CANCEL_WAIT: '10s',
          EFFECTS_FILE: this.effectsFile,
          ...env,
        },
      },
    );
    const worker = new WorkerProcess(child);
    this.#workers.push(worker);
    return worker.ready();
  }

  /** Starts a task of the agent `tester` whose model plays these steps. */
  async start(steps: Step[], input: Partial<AgentTaskInput> = {}): Promise<AgentTask> {
    return this.tasks.start(
      { agent: 'tester', input: `script: ${JSON.stringify(steps)}`, ...input },
      { taskId: unique('task') },
    );
  }

  /** A session that no task made, with the tool `note`; its first turn plays these steps. Gives its id. */
  async session(steps: Step[]): Promise<string> {
    const note = { type: 'function', name: 'note', description: 'd', parameters: { type: 'object' } };
    const { id } = (await this.api('POST', '/agents/sessions', {
      environment: { type: 'none' },
      agent: { model: 'm', tools: [note] },
      input: `script: ${JSON.stringify(steps)}`,
    })) as { id: string };
    return id;
  }

  /** Somebody else than the task sends a message to its session: a turn that waits for one goes on. */
  async say(sessionId: string, text = 'Go on.'): Promise<void> {
    const content = [{ type: 'input_text', text }];
    const input = [{ type: 'message', role: 'user', content }];
    const events = [{ type: 'agent.session.input.message', input }];
    const { status } = await this.#request('POST', `/agents/sessions/${sessionId}/events`, { events });
    if (status !== 202) throw new Error(`the message was refused: HTTP ${status}`);
  }

  async #request(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${this.emulator.url}${path}`, {
      method,
      headers: { ...HEADERS, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** What the service answers to a read, for example of `/agents/sessions/ID`. */
  async read<T>(path: string): Promise<T> {
    const answer = await this.#request('GET', path);
    return (await answer.json()) as T;
  }

  handle(task: { taskId: string }): WorkflowHandle {
    return this.client.workflow.getHandle(task.taskId);
  }

  /** Types of the task's history events so far. */
  async eventTypes(task: { taskId: string }): Promise<string[]> {
    const history = await this.handle(task).fetchHistory();
    return (history.events ?? []).map((event) =>
      String(Object.keys(event).find((key) => key.endsWith('EventAttributes'))).replace(
        'EventAttributes',
        '',
      ),
    );
  }

  /** The posts of a session that carry one type of input, for example `tool_result`. */
  posts(sessionId: string, type: string): PostRecord[] {
    return this.emulator.posts(sessionId).filter((post) => post.input_types.includes(type));
  }

  /** The emulator's counters for the one session that a task has. */
  counts(sessionId: string): Counts {
    const counts = this.emulator.counters().sessions[sessionId];
    if (!counts) throw new Error(`the emulator knows no session ${sessionId}`);
    return counts;
  }

  /** Asks the API past all workers, as anybody with a key could. Throws for a refusal. */
  async api(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.#request(method, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** A session whose first turn is over, for a task to attach to: its id is known before the task is. */
  async readySession(): Promise<string> {
    const body = { agent: tester.config, environment: { type: 'none' }, input: 'script: [{"say":"Ready."}]' };
    const { id } = (await this.api('POST', '/agents/sessions', body)) as { id: string };
    await until('the session is idle', async () => {
      const { status } = (await this.api('GET', `/agents/sessions/${id}`)) as { status: string };
      return status === 'idle';
    });
    return id;
  }

  /** Cancels a session's turn past all workers. */
  async cancelTurn(sessionId: string): Promise<void> {
    const events = [{ type: 'agent.session.input.cancel' }];
    await this.api('POST', `/agents/sessions/${sessionId}/events`, { events });
  }

  /** The status of a session's newest turn. */
  async turnStatus(sessionId: string): Promise<string | undefined> {
    const { data } = (await this.api('GET', `/agents/sessions/${sessionId}/turns`)) as {
      data: { status: string }[];
    };
    return data[0]?.status;
  }

  /** How often a fault has struck so far. */
  struck(fault: { id: string } | undefined): number {
    return this.emulator.faults().find(({ id }) => id === fault?.id)?.struck ?? 0;
  }

  /** Ends everything. Throws when an armed fault has never struck. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.emulator.close();
    await this.client.connection.close();
    rmSync(this.#folder, { recursive: true, force: true });
    assertStruck(this.emulator);
  }
}
