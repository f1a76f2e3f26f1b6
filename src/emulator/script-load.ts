/** Reads scripted agents from a file. */
import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AgentScript } from './script.ts';
import { checkScript, ScriptError } from './step-check.ts';
import { isObject } from './wire.ts';

/**
 * The scripts in a file: `.json` (a script or an array of them), or a `.js`/`.mjs`/`.ts` module whose
 * `default` or `scripts` export is one or an array. Throws a `ScriptError` naming the file and the field.
 */
export async function loadScripts(path: string): Promise<AgentScript[]> {
  const found = extname(path) === '.json' ? await readJson(path) : await importModule(path);
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

/** Node before 22.18 reads no TypeScript by itself; then the loader that the package brings does it. */
async function importAny(path: string): Promise<unknown> {
  const { href } = pathToFileURL(path);
  try {
    return (await import(href)) as unknown;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    const { tsImport } = await import('tsx/esm/api');
    return (await tsImport(href, import.meta.url)) as unknown;
  }
}

async function importModule(path: string): Promise<unknown> {
  const module: unknown = await importAny(resolve(path));
  const exports = isObject(module) ? module : {};
  const found = exports['default'] ?? exports['scripts'];
  if (found === undefined) throw new ScriptError(path, "has neither a 'default' nor a 'scripts' export");
  return found;
}
