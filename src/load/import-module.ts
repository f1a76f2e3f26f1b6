/** Loads a module of the user's, in JavaScript or TypeScript, on every Node that Holdfast runs on. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const TYPESCRIPT = new Set(['.ts', '.mts', '.cts']);

/**
 * Imports the module at `path`. TypeScript is taken as it is, whatever `type` its package.json has. Rejects with
 * whatever the module throws, or with the compiler's message.
 */
export async function importModule(path: string): Promise<Record<string, unknown>> {
  const file = resolve(path);
  // When this file itself runs from source, whoever runs it has a TypeScript loader already.
  const native = TYPESCRIPT.has(extname(import.meta.url)) || !TYPESCRIPT.has(extname(file));
  return (native ? await import(pathToFileURL(file).href) : await importTypeScript(file)) as Record<
    string,
    unknown
  >;
}

/**
 * Compiles the module with its relative imports into one file and imports that. Packages stay outside: the module
 * shares this very copy of Holdfast and of everything else.
 */
async function importTypeScript(file: string): Promise<unknown> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    write: false,
    logLevel: 'silent',
  });
  const folder = placeFor(file);
  await mkdir(folder, { recursive: true });
  const compiled = join(folder, `.${basename(file)}.${process.pid}.mjs`);
  await writeFile(compiled, outputFiles[0]?.contents ?? '');
  try {
    return (await import(pathToFileURL(compiled).href)) as unknown;
  } finally {
    await rm(compiled, { force: true });
  }
}

/**
 * A folder from which the module's packages resolve: inside the nearest `node_modules`, where a file that a killed
 * process leaves behind bothers nobody; beside the module when there is none.
 */
function placeFor(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    if (existsSync(modules)) return join(modules, '.holdfast');
    if (folder === dirname(folder)) return dirname(file);
  }
}
