/** Every command that a page shows is one: its name, its options and its arguments are taken as they are printed. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { program } from '../../src/cli/program.ts';
import { CRASH_POINTS } from '../../src/crash-test/points.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

/** The pages, and how many `holdfast` commands each shows at least: one that is not found is not checked. */
const pages = { 'README.md': 10, 'docs/design.md': 0, 'docs/crash-test.md': 2, 'docs/probe.md': 4 };

/** The command lines in the code blocks of a page, as a shell would take them. */
function commandLines(page: string): string[] {
  return [...read(page).matchAll(/^```(\w*)\n(.*?)\n```$/gms)]
    .filter(([, language]) => language === '')
    .flatMap(([, , block = '']) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.replace(/(^|\s)#\s.*$/, '').trim());
}

/** The words of a command line: quotes are taken off, nothing is expanded. */
function words(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );
}

/** Runs a command line up to where the command itself would begin. Throws for what is no command. */
function parse(args: string[]): void {
  const holdfast = program();
  for (const command of [holdfast, ...holdfast.commands])
    command.configureOutput({ writeErr: () => undefined });
  for (const command of holdfast.commands) command.action(() => undefined);
  holdfast.parse(args, { from: 'user' });
}

/** The rows of the tables below a heading, by their first cells. */
function rowsBelow(page: string, heading: string): string[] {
  const [, part = ''] = read(page).split(`\n## ${heading}\n`);
  return [...(part.split('\n## ')[0] ?? '').matchAll(/^\| ([^|]*?) *\|/gm)].map(([, cell = '']) => cell);
}

describe('the commands of the pages', () => {
  for (const [page, least] of Object.entries(pages)) {
    it(`${page} shows commands that are taken`, () => {
      const commands = commandLines(page).flatMap((line) => {
        const [, args] = /^(?:\w+=\S* )*(?:npx )?holdfast (.*)$/.exec(line) ?? [];
        return args === undefined ? [] : [args];
      });
      assert.ok(commands.length >= least, `${commands.length} commands`);
      for (const command of commands) assert.doesNotThrow(() => parse(words(command)), command);
    });

    it(`${page} names npm scripts that are there`, () => {
      const named = [...read(page).matchAll(/\bnpm run ([\w-]+)/g)].map(([, name = '']) => name);
      assert.deepEqual(
        named.filter((name) => !Object.hasOwn(scripts, name)),
        [],
      );
    });

    it(`${page} names commands and options that are there`, () => {
      const all = program().commands;
      for (const [, name = '', rest = ''] of read(page).matchAll(/`(?:npx )?holdfast ([a-z-]+)([^`\n]*)`/g)) {
        const command = all.find((one) => one.name() === name);
        assert.ok(command, `holdfast ${name}`);
        const flags = command.options.map(({ long }) => long);
        for (const [flag] of rest.matchAll(/--[a-z-]+/g)) assert.ok(flags.includes(flag), `${name} ${flag}`);
      }
    });
  }

  it('a command with an option that is not there would be seen', () => {
    assert.throws(() => parse(['probe', '--no-such-option']));
    assert.throws(() => parse(['no-such-command']));
    assert.throws(() => parse(['crash-test']));
    assert.throws(() => parse(['probe', '--listen', 'long']));
  });
});

describe('docs/crash-test.md', () => {
  const command = program().commands.find((one) => one.name() === 'crash-test');
  const flags = (command?.options ?? []).flatMap(({ long }) => long ?? []);

  it('lists every option of the command', () => {
    const listed = rowsBelow('docs/crash-test.md', 'Options').flatMap((cell) =>
      [...cell.matchAll(/`(--[a-z-]+)/g)].map(([, flag = '']) => flag),
    );
    assert.deepEqual(listed.toSorted(), flags.toSorted());
  });

  it('lists every crash point', () => {
    const listed = rowsBelow('docs/crash-test.md', 'Crash points').flatMap((cell) => {
      const names = [...cell.matchAll(/`([a-z_]*\.[a-z_]+)`/g)].map(([, name = '']) => name);
      const [family = ''] = (names[0] ?? '').split('.');
      return names.map((name) => (name.startsWith('.') ? `${family}${name}` : name));
    });
    assert.deepEqual(listed.toSorted(), CRASH_POINTS.toSorted());
  });
});

describe('docs/design.md', () => {
  it('has every folder of the source in its table of parts', () => {
    const listed = rowsBelow('docs/design.md', 'Parts').flatMap((cell) => /^`(.*)\/`$/.exec(cell)?.[1] ?? []);
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}`);
    assert.deepEqual(listed.toSorted(), [...folders, 'activities', 'workflows'].toSorted());
    for (const folder of listed) assert.ok(existsSync(join(root, folder)), folder);
  });
});
