import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/holdfast-test');
const FOLDERS = ['src', 'workflows', 'activities', 'test/support'];

/**
 * The folder of the present code compiled to JavaScript, agents of the tests included, made once for all test
 * processes. A worker starts from it in half the time that it takes from source, and crash tests start many.
 */
export function compiled(): string {
  return (made ??= find());
}

let made: string | undefined;

function find(): string {
  const hash = createHash('sha256');
  for (const file of FOLDERS.flatMap(sources)) hash.update(file).update(readFileSync(join(root, file)));
  for (const file of ['package-lock.json', 'tsconfig.json']) hash.update(readFileSync(join(root, file)));
  const folder = join(cache, `dist-${hash.digest('hex').slice(0, 20)}`);
  if (!existsSync(folder)) compile(folder);
  return join(folder, 'dist');
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return sources(path);
      return entry.name.endsWith('.ts') ? [path] : [];
    })
    .toSorted();
}

function compile(folder: string): void {
  mkdirSync(cache, { recursive: true });
  // Test files run side by side: a reader never sees half of it.
  const mine = mkdtempSync(join(cache, 'making-'));
  copyFileSync(join(root, 'package.json'), join(mine, 'package.json'));
  const config = {
    extends: join(root, 'tsconfig.build.json'),
    compilerOptions: {
      rootDir: root,
      outDir: join(mine, 'dist'),
      typeRoots: [join(root, 'node_modules/@types')],
      declaration: false,
    },
    include: FOLDERS.map((name) => join(root, name)),
  };
  writeFileSync(join(mine, 'tsconfig.json'), JSON.stringify(config));
  // It emits in spite of type errors, which are not this one's to find.
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { stdout } = spawnSync(tsc, ['-p', mine], { encoding: 'utf8' });
  if (!existsSync(join(mine, 'dist/src/cli/main.js'))) throw new Error(`nothing was compiled:\n${stdout}`);
  try {
    renameSync(mine, folder);
  } catch (error) {
    // Somebody else was faster.
    rmSync(mine, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}
