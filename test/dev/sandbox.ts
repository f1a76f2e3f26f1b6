import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../support/free-port.ts';
import { holdChild, signalGroup } from '../support/leash.ts';

const RUN_LIMIT_MS = 90_000;
/** The project's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A run of `temporal-dev.sh` in a sandbox. */
export interface Run {
  child: ChildProcess;
  out: () => string;
  err: () => string;
  /** The exit code, or -1 when a signal ended it; a run that takes over 90 seconds is killed. */
  ended: Promise<number>;
}

/**
 * A copy of the project with the real `temporal-dev.sh` and stand-ins for what it starts, with a home folder of its
 * own, so that neither the caller's settings nor his cache are seen or touched.
 */
export class Sandbox {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-dev-')));
  readonly cache = join(this.folder, 'home/.cache/holdfast/bin');

  constructor() {
    for (const file of ['temporal-dev.sh', 'package.json', 'package-lock.json']) {
      copyFileSync(join(root, file), join(this.folder, file));
    }
    cpSync(join(root, 'src/dev'), join(this.folder, 'src/dev'), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    for (const path of ['src/cli/main.ts', 'src/examples/demo/main.ts']) {
      mkdirSync(join(this.folder, path, '..'), { recursive: true });
      copyFileSync(join(root, 'test/dev/stand-in.ts'), join(this.folder, path));
    }
    mkdirSync(join(this.folder, 'home'));
    mkdirSync(join(this.folder, 'bin'));
  }

  /** Writes an executable shell script into the sandbox's `bin` folder, which is not on PATH by itself. */
  program(name: string, body: string): string {
    const path = join(this.folder, 'bin', name);
    writeFileSync(path, `#!/usr/bin/env bash\n${body}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A PATH with the sandbox's own programs and these of the system's, and nothing else: no network, no Go. */
  pathWith(...programs: string[]): string {
    const bin = join(this.folder, 'system');
    mkdirSync(bin, { recursive: true });
    for (const program of programs) {
      const found = spawnSync('bash', ['-c', 'type -P "$0"', program], { encoding: 'utf8' }).stdout.trim();
      if (found === '') throw new Error(`this machine has no ${program}`);
      rmSync(join(bin, program), { force: true });
      symlinkSync(found, join(bin, program));
    }
    return [join(this.folder, 'bin'), bin].join(delimiter);
  }

  /** Starts the sandbox's script, or the project's own, in a process group of its own, as a terminal does. */
  start(args: string[], env: Record<string, string> = {}, project = this.folder): Run {
    // HOLDFAST_TEST_BASH: another bash to run the script with, such as the 3.2 of macOS.
    const bash =
      process.env['HOLDFAST_TEST_BASH'] ?? spawnSync('bash', ['-c', 'type -P bash']).stdout.toString().trim();
    const child = spawn(bash, [join(project, 'temporal-dev.sh'), ...args], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'], HOME: join(this.folder, 'home'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    holdChild(child);
    const text = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => (text[name] += chunk.toString()));
    }
    const tooLong = setTimeout(() => signalGroup(child, 'SIGKILL'), RUN_LIMIT_MS);
    const ended = once(child, 'close').then(([code]: (number | null)[]) => {
      clearTimeout(tooLong);
      return code ?? -1;
    });
    return { child, out: () => text.stdout, err: () => text.stderr, ended };
  }

  /** Runs the script to its end. */
  async run(
    args: string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number; out: string; err: string }> {
    const run = this.start(args, env);
    const code = await run.ended;
    return { code, out: run.out(), err: run.err() };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process as `ps` sees it. */
export interface Process {
  pid: number;
  parent: number;
  command: string;
}

/** Every process that runs; zombies do not. */
export function processes(): Process[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [pid, parent, stat, ...command] = line.trim().split(/\s+/);
    if (pid === undefined || stat === undefined || stat.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), command: command.join(' ') }];
  });
}

/** A run's own process and all its descendants. */
export function familyOf(run: Run): Process[] {
  const all = processes();
  const family = all.filter((each) => each.pid === run.child.pid);
  for (const member of family) family.push(...all.filter((each) => each.parent === member.pid));
  return family;
}

/** Those of these processes that still run. */
export function stillRunning(family: Process[]): Process[] {
  const now = processes();
  return family.filter((each) =>
    now.some((other) => other.pid === each.pid && other.command === each.command),
  );
}

/** Variables that name three free ports. */
export async function somePorts(): Promise<Record<string, string>> {
  const [server, ui, emulator] = await freePorts(3);
  return {
    HOLDFAST_TEMPORAL_PORT: String(server),
    HOLDFAST_UI_PORT: String(ui),
    HOLDFAST_EMULATOR_PORT: String(emulator),
  };
}

/** Fails unless the script said one thing, in one line, and that like `pattern`. */
export function assertOneLine(text: string, pattern: RegExp): void {
  assert.match(text, /^temporal-dev\.sh: [^\n]+\n$/);
  assert.match(text, pattern);
}
