/**
 * `holdfast crash-test` as a process of its own, each with an outside world and a folder for temporary files. `run`
 * and `launch` start it from source, `runCompiled` as users have it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { CrashTestReport } from '../../src/crash-test/index.ts';
import { finished, launch, type Finished } from '../cli/command.ts';
import { compiled } from '../support/compiled.ts';
import { holdChild } from '../support/leash.ts';

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-'));

  get #env(): NodeJS.ProcessEnv {
    return {
      OUTSIDE_FILE: join(this.folder, 'outside'),
      TMPDIR: this.folder,
      // A lost worker is noticed soon, so that the tests are.
      HOLDFAST_HEARTBEAT_TIMEOUT: '1s',
    };
  }

  get lines(): string[] {
    const file = join(this.folder, 'outside');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  }

  /** What crash tests left in their folder for temporary files. */
  get left(): string[] {
    return readdirSync(this.folder).filter((name) => name.startsWith('holdfast-crash-test-'));
  }

  launch(args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    return launch(['crash-test', ...args], { ...this.#env, ...env });
  }

  async run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
    const child = this.launch(args, env);
    child.stdin?.end();
    return finished(child);
  }

  async runCompiled(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
    const child = spawn(process.execPath, [join(compiled(), 'src/cli/main.js'), 'crash-test', ...args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#env, ...env },
    });
    holdChild(child);
    return finished(child);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** The path of an agents file of these tests. */
export function agentsFile(name: string): string {
  return fileURLToPath(new URL(`agents/${name}.ts`, import.meta.url));
}

export function report({ stdout }: Finished): CrashTestReport {
  return JSON.parse(stdout) as CrashTestReport;
}
