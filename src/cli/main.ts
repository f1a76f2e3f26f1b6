#!/usr/bin/env node
/** The `holdfast` command. */
import { CommanderError } from 'commander';
import { EXIT, fail } from './output.ts';
import { program } from './program.ts';

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has told it already; help and version count as errors there.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    fail(error);
  }
}
