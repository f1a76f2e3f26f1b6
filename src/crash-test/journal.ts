/**
 * What tools did, written by the workers while they do it: one JSON line an entry, in a file, because a worker that
 * is killed says nothing more. Every entry is there before the tool goes on.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

import type { ToolOutput } from '../protocol/wire.ts';

/** How the tool's own code ended: what would be posted, or what the model would be told. */
export type Outcome = { ok: true; output: ToolOutput } | { ok: false; error: string };

export type JournalEvent =
  | { event: 'begin' }
  | { event: 'end'; outcome: Outcome }
  | { event: 'check'; status: 'done' | 'not_done' | 'unknown'; outcome: Outcome | null };

export type JournalEntry = JournalEvent & {
  tool: string;
  call_id: string;
  key: string;
  /** The worker's process. */
  pid: number;
  /** Milliseconds since the epoch. */
  at: number;
};

export class Journal {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  clear(): void {
    writeFileSync(this.path, '');
  }

  /** Writes an entry and returns when the kernel has it: SIGKILL takes nothing back. */
  write(entry: JournalEntry): void {
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`);
  }

  /** The entries so far, oldest first. */
  read(): JournalEntry[] {
    const lines = readFileSync(this.path, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as JournalEntry);
  }
}
