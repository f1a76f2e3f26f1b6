/** Reads scripted agents from a file. */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { importModule } from '../load/import-module.ts';
import type { AgentScript } from './script.ts';
import { checkScript, ScriptError } from './step-check.ts';

/**
 * The scripts in a file: `.json` (a script or an array of them), or a `.js`/`.mjs`/`.ts` module whose
 * `default` or `scripts` export is one or an array. Throws a `ScriptError` naming the file and the field.
 */
export async function loadScripts(path: string): Promise<AgentScript[]> {
  const found = extname(path) === '.json' ? await readJson(path) : await readModule(path);
  const list = Array.isArray(found) ? (found as unknown[]) : [found];
  if (list.length === 0) throw new ScriptError(path, 'holds no script');
  return list.map((entry, index) => checkScript(entry, Array.isArray(found) ? `${path}: [${index}]` : path));
}

async function readJson(path: string): Promise<unknown> {
  const content = await readFile(path, 'utf8');
  try {
    return JSON.parse(content) as unknown;
  } catch (error) {
    throw new ScriptError(path, `is no valid JSON (${(error as Error).message})`);
  }
}

async function readModule(path: string): Promise<unknown> {
  const exports = await importModule(path);
  const found = exports['default'] ?? exports['scripts'];
  if (found === undefined) throw new ScriptError(path, "has neither a 'default' nor a 'scripts' export");
  return found;
}
