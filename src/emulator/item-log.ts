/**
 * The items of one session on disk: a line for each new or changed item, so that a long session costs
 * no more per change than a short one. How many lines count is said by the session's own file, which is
 * replaced in one go; lines beyond that belong to a change that a kill cut short, and are dropped.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { ItemRecord } from './records.ts';

interface Line {
  index: number;
  record: ItemRecord;
}

export class ItemLog {
  private readonly path: string;
  /** The wire items as they were last written; records get a new object for each change. */
  private written: ItemRecord['item'][] = [];
  private lines = 0;
  private emptied = false;

  constructor(path: string) {
    this.path = path;
  }

  /** Writes what changed; answers the number of lines that now count. */
  append(items: readonly ItemRecord[]): number {
    if (items.length < this.written.length) {
      this.emptied = true;
      return 0;
    }
    let text = '';
    for (const [index, record] of items.entries()) {
      if (this.written[index] === record.item) continue;
      const line: Line = { index, record };
      text += `${JSON.stringify(line)}\n`;
      this.written[index] = record.item;
      this.lines += 1;
    }
    if (text !== '') appendFileSync(this.path, text);
    return this.lines;
  }

  /** Reads the first `lines` lines and forgets the rest. */
  load(lines: number): ItemRecord[] {
    const items: ItemRecord[] = [];
    if (existsSync(this.path)) {
      const found = readFileSync(this.path, 'utf8').split('\n');
      const kept = found.slice(0, lines);
      if (found.length > lines + 1 || found.at(-1) !== '') {
        writeFileSync(`${this.path}.new`, kept.map((line) => `${line}\n`).join(''));
        renameSync(`${this.path}.new`, this.path);
      }
      for (const line of kept) {
        const { index, record } = JSON.parse(line) as Line;
        items[index] = record;
      }
    }
    this.written = items.map((record) => record.item);
    this.lines = lines;
    return items;
  }

  /** Removes the lines of a deleted session, once its file no longer counts them. */
  settle(): void {
    if (!this.emptied) return;
    this.emptied = false;
    rmSync(this.path, { force: true });
    this.written = [];
    this.lines = 0;
  }
}
