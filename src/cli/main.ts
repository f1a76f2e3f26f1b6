#!/usr/bin/env node
/** The `holdfast` command. */
import { CommanderError } from 'commander';
import { EXIT, fail } from './output.ts';
import { program } from './program.ts';

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
