/** Text and JSON from the command line. */
import { readFileSync } from 'node:fs';
import { oneLine } from '../protocol/text.ts';
import { UsageError } from './output.ts';

/**
 * The text of a file, or of stdin for `-`.
 * @throws UsageError
 */
export function readText(option: string, file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new UsageError(
      `${option}: cannot read ${file} (${String((error as NodeJS.ErrnoException).code ?? error)})`,
    );
  }
}

/** @throws UsageError that names the option; shells that eat quotes are the usual reason */
export function parseJson(option: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const instead = option === '--json' ? ' use --json-file' : ' write \\" for each';
    const hint = option === '--json-file' ? '' : `; where the shell eats quotes (PowerShell, cmd)${instead}`;
    throw new UsageError(`${option}: not JSON, ${oneLine((error as Error).message, 150)}${hint}`);
  }
}
