import { extname } from 'node:path';

/** Lets modules in TypeScript be imported, when one of `paths` is such; without that nothing is loaded. */
export async function allowTypeScript(paths: readonly string[]): Promise<void> {
  if (!paths.some((path) => ['.ts', '.mts', '.cts'].includes(extname(path)))) return;
  const { register } = await import('tsx/esm/api');
  register();
}
