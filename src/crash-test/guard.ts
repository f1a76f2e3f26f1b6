/**
 * Ends what a crash test has started when the crash test itself is gone, in whatever way. It reads `+ group` and
 * `- group` lines from stdin, which closes even after a SIGKILL; then it kills the process groups that are left and
 * removes the folder that is its argument.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [folder] = process.argv.slice(2);
const groups = new Set<number>();
const lines = createInterface({ input: process.stdin });
// A Ctrl-C is for the crash test, which takes its time to clean up.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

lines.on('line', (line) => {
  const [operation, group] = line.split(' ');
  if (operation === '+') groups.add(Number(group));
  else groups.delete(Number(group));
});
lines.on('close', () => {
  for (const group of groups) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  process.exit();
});
