/** docs/probe.md says what the probe asks, and shows a profile that is one. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { program } from '../../src/cli/program.ts';
import { loadProfile, QUESTIONS } from '../../src/probe/index.ts';

const page = readFileSync(new URL('../../docs/probe.md', import.meta.url), 'utf8');

/** Rows of the tables of the page, each cell trimmed. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('docs/probe.md', () => {
  it('lists every question as it is asked and judged', () => {
    const listed = rows.filter(([id]) => /^[QSH]\d+$/.test(id ?? ''));
    assert.deepEqual(
      listed,
      QUESTIONS.map(({ id, question, assumption, holdfast, harm }) => [
        id,
        question,
        assumption,
        harm === undefined ? holdfast : `${holdfast} **Else:** ${harm}`,
      ]),
    );
  });

  it('shows a run that has every question', () => {
    const shown = [...page.matchAll(/^([QSH]\d+) +(?:holds|differs, safe|BREAKS)? +(\S.*)$/gm)];
    assert.deepEqual(
      new Map(shown.map(([, id, question]) => [id, question])),
      new Map(
        QUESTIONS.toSorted((a, b) => Number(a.unasked !== undefined) - Number(b.unasked !== undefined)).map(
          ({ id, question }) => [id, question],
        ),
      ),
    );
  });

  it('lists every option of the command', () => {
    const command = program().commands.find((one) => one.name() === 'probe');
    const flags = command?.options.map((option) => option.long);
    const listed = rows
      .map(([flag]) => /`(--[a-z-]+)/.exec(flag ?? '')?.[1])
      .filter((flag) => flag !== undefined);
    assert.deepEqual(listed.toSorted(), flags?.toSorted());
  });

  it('shows a profile that is taken', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'));
    try {
      const file = join(folder, 'profile.json');
      const sample = /^```json\n(.*?)^```$/ms.exec(page)?.[1] ?? '';
      writeFileSync(file, sample);
      assert.deepEqual(await loadProfile(file), JSON.parse(sample));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
