/** What the command prints: results on stdout, everything for people on stderr, each error in one line. */
import { redact } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, cancelled: 3 } as const;

/** A mistake in the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const MAX_MESSAGE = 1500;

/** One line, or more, of the command's result. */
export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** A line for people beside the result. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Tells an error in one line, without what looks like a key, and sets the exit code that belongs to it. */
export function fail(error: unknown): void {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  // A bad environment is told in a line for each variable.
  const lines = name === 'ConfigError' ? message.replaceAll('\n', '; ') : message;
  say(`holdfast: ${oneLine(redact(lines), MAX_MESSAGE)}`);
  // By name: the classes would drag the Temporal client in before it is needed.
  const usage = name === 'UsageError' || name === 'InvalidInputError';
  process.exitCode = usage ? EXIT.usage : EXIT.failed;
}
