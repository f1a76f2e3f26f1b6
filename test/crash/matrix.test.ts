/** The crash matrix in short: every fault point once. `npm run crash` runs all of it. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { FAULT_POINTS } from '../../src/faults/fault-point.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { runCell } from './cell.ts';
import { cells, SHAPES } from './cells.ts';

/** Both tools, side by side and one after the other: the shape in which most can go wrong. */
const SHAPE = 'parallel-once';

describe('a worker killed at', { concurrency: 4 }, () => {
  before(() => workflowBundle(true));

  for (const cell of cells([], [SHAPE]).filter(({ hit }) => hit === 1)) {
    it(cell.point, async () => {
      const result = await runCell(cell, { heartbeat: '2s', timeoutMs: 60_000 });
      assert.deepEqual(result.problems, []);
    });
  }
});

it('no fault point is left out of the matrix', () => {
  for (const point of FAULT_POINTS) {
    const shapes = new Set(cells([point]).map(({ shape }) => shape));
    assert.ok(shapes.size >= 2, `${point} is struck in ${shapes.size} of ${SHAPES.length} shapes`);
  }
});
