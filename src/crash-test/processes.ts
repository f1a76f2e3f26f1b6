/** The processes of a crash test. Each has a process group of its own, and none outlives the crash test. */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { CrashTestError } from './crash-test-error.ts';
import type { Answer, Protocol } from './messages.ts';

const KEPT_OUTPUT = 8_000;
const OUTPUT_LINES = 10;

/** The same ending as this file's, and the loader that it needs: a crash test runs compiled and from source. */
const ENDING = extname(import.meta.url);
const LOADER = ENDING === '.ts' ? ['--import', import.meta.resolve('tsx')] : [];

function sibling(name: string): string {
  return fileURLToPath(new URL(`./${name}${ENDING}`, import.meta.url));
}

/** A process that was started, with the end of what it printed. */
export class Held {
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  output = '';

  constructor(child: ChildProcess) {
    this.process = child;
    this.exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    const keep = (chunk: Buffer): void => {
      this.output = (this.output + chunk.toString()).slice(-KEPT_OUTPUT);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get alive(): boolean {
    return (
      this.process.pid !== undefined && this.process.exitCode === null && this.process.signalCode === null
    );
  }

  /** It was killed, by itself at a crash point or by somebody else. */
  get killed(): boolean {
    return this.process.signalCode === 'SIGKILL';
  }

  /** How it ended, and what it said at last. */
  get end(): string {
    const { signalCode, exitCode } = this.process;
    const last = this.output.trimEnd().split('\n').slice(-OUTPUT_LINES).join('\n');
    return `${signalCode ?? `exit code ${exitCode}`}${last === '' ? '' : `, ${last}`}`;
  }

  /** SIGKILL for it and for everything that it has started. Resolves when it is dead. */
  async kill(): Promise<void> {
    signalGroup(this.pid, 'SIGKILL');
    await this.exited;
  }
}

/** A child that has loaded the user's file and answers requests. */
export class Child extends Held {
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #requests = 0;

  constructor(child: ChildProcess) {
    super(child);
    child.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.ok) waiting?.resolve(answer.value);
      else waiting?.reject(new CrashTestError(answer.message));
    });
    void this.exited.then(() => {
      for (const { reject } of this.#waiting.values()) reject(this.#gone());
      this.#waiting.clear();
    });
  }

  /** Throws CrashTestError with the child's reason, or when it ends without an answer. */
  async ask<Name extends keyof Protocol>(
    name: Name,
    send: Protocol[Name]['send'],
  ): Promise<Protocol[Name]['answer']> {
    if (!this.alive || !this.process.connected) throw this.#gone();
    const id = ++this.#requests;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.process.send({ id, name, send }, (error) => {
        // When the channel breaks, the process is about to end, which says more.
        if (error === null) return;
        void this.exited.then(() => reject(this.#gone()));
      });
    });
  }

  #gone(): CrashTestError {
    return new CrashTestError(`a process with the agents file ended by itself: ${this.end}`);
  }
}

export class Processes {
  readonly #held = new Set<Held>();
  readonly #guard: Writable;
  readonly #guardEnded: Promise<unknown>;

  /** @param folder removed when the crash test is gone. */
  constructor(folder: string) {
    const guard = spawn(process.execPath, [...LOADER, sibling('guard'), folder], {
      // Out of reach of what kills our own group.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#guard = guard.stdin;
    // A guard that could not be started guards nothing; the rest of the cleaning up needs none.
    guard.once('error', () => undefined);
    this.#guard.on('error', () => undefined);
    this.#guardEnded = once(guard, 'exit').catch(() => undefined);
  }

  /** Starts a process that has the agents file loaded or is loading it. */
  child(role: 'observer' | 'worker', files: readonly string[], env: NodeJS.ProcessEnv): Child {
    const child = fork(sibling('child'), [role, ...files], {
      execArgv: LOADER,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    return this.#hold(new Child(child));
  }

  /** Starts any other command. */
  command(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Held {
    return this.#hold(
      new Held(spawn(file, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })),
    );
  }

  /** Kills everything that still runs, and waits for it. */
  async stop(): Promise<void> {
    await Promise.all([...this.#held].map((held) => held.kill()));
    this.#guard.end();
    await this.#guardEnded;
  }

  #hold<T extends Held>(held: T): T {
    if (held.process.pid === undefined) return held;
    this.#held.add(held);
    this.#guard.write(`+ ${held.pid}\n`);
    void held.exited.then(() => {
      // What a killed worker had started goes with it, as on a machine that is lost.
      signalGroup(held.pid, 'SIGKILL');
      this.#held.delete(held);
      this.#guard.write(`- ${held.pid}\n`);
    });
    return held;
  }
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  if (group === 0) return; // which would be our own
  try {
    process.kill(-group, signal);
  } catch {
    // Nobody is left in it.
  }
}
