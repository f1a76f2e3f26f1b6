/** The outside world of these agents: lines in a file. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

const file = process.env['OUTSIDE_FILE'] ?? '';

export function lines(): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

export function addLine(line: string): void {
  appendFileSync(file, `${line}\n`);
}
