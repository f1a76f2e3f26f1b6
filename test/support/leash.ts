import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

// The reaper of temporal-dev.sh: it reads "+ group" and "- group" lines, and when the pipe closes, because this
// process ended in whatever way, SIGKILL included, it stops the groups that it still holds.
const children = fileURLToPath(new URL('../../src/dev/children.sh', import.meta.url));
let pipe: Writable | undefined;

function tell(op: '+' | '-', group: number): void {
  if (pipe === undefined) {
    const reaper = spawn('bash', ['-c', '. "$0" && reaper', children], {
      detached: true, // so that whatever kills our own group does not kill it too
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    reaper.unref();
    pipe = reaper.stdin;
    (pipe as Writable & { unref?: () => void }).unref?.();
  }
  pipe.write(`${op} ${group}\n`);
}

/** The id of a child's process group. Throws when the child could not be started. */
function groupOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error(`could not start ${child.spawnfile}`);
  return child.pid;
}

/** Sends a signal to every process of a child's group. False when there is none any more. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-groupOf(child), signal);
  } catch {
    return false;
  }
}

/** What still runs in a child's group, as "pid command"; zombies do not. Empty where there is no `ps`. */
export function groupMembers(child: ChildProcess): string[] {
  const group = String(groupOf(child));
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,pgid=,stat=,args='], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [pid, pgid, stat, ...command] = line.trim().split(/\s+/);
    return pgid === group && !stat?.startsWith('Z') ? [`${pid} ${command.join(' ')}`] : [];
  });
}

/**
 * Makes sure that a child and the processes it starts do not outlive this process, however this one ends.
 * The child must have been spawned with `detached: true`, which gives it a process group of its own.
 */
export function holdChild(child: ChildProcess): void {
  const group = groupOf(child);
  tell('+', group);
  child.once('exit', () => {
    if (!signalGroup(child, 0)) tell('-', group);
  });
}

/**
 * Stops a held child: sends `signal` to its group, SIGKILL after `patienceMs`. Resolves when the child has ended;
 * at once when it had ended before.
 */
export async function stopChild(
  child: ChildProcess,
  signal: NodeJS.Signals,
  patienceMs: number,
): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    signalGroup(child, signal);
    const late = setTimeout(() => signalGroup(child, 'SIGKILL'), patienceMs);
    await ended;
    clearTimeout(late);
  }
  signalGroup(child, 'SIGKILL');
}
