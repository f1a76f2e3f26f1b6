/** Recorded histories of every shape replay with the present code (scenario 46). */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';

import { workflowBundle } from '../support/workflow-bundle.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const folder = new URL('histories/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
const SHAPES = [
  'attached',
  'cancelled',
  'continue-as-new-1',
  'continue-as-new-2',
  'handover',
  'invalid-input',
  'parallel',
  'plain',
  'sequential',
  'tool-failed',
  'tool-lost',
  'turn-failed',
  'unknown-outcome',
];

function history(file: string): ReturnType<typeof historyFromJSON> {
  return historyFromJSON(JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
}

describe('replay', () => {
  it('every shape is recorded', () => {
    assert.deepEqual(
      files.map((file) => file.replace('.json', '')),
      SHAPES,
    );
  });

  it('no recording tells where its code lay', () => {
    for (const file of files)
      assert.ok(!/stackTrace|file:/.test(readFileSync(new URL(file, folder), 'utf8')), file);
  });

  for (const file of files) {
    it(`${file} replays`, async () => {
      await Worker.runReplayHistory({ workflowBundle: { codePath: await workflowBundle() } }, history(file));
    });
  }

  it('a reordered command is caught', async () => {
    const workflowsPath = fileURLToPath(new URL('reordered.ts', import.meta.url));
    await assert.rejects(
      Worker.runReplayHistory({ workflowsPath }, history('sequential.json')),
      DeterminismViolationError,
    );
  });
});
