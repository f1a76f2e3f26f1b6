/** Delivered means confirmed: by a read after the post, and doubted only after two of them (I4). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Settled, Unconfirmed } from '../../src/protocol/unconfirmed.ts';

const SPACING = 1000;
const nothing = { confirmed: [], requiredAgain: [] };

describe('Unconfirmed', () => {
  it('confirms what a read no longer asks for, and keeps the rest', () => {
    const waiting = new Unconfirmed(['a', 'b'], SPACING);
    assert.deepEqual(waiting.settle(new Set(['b', 'other']), 0), { confirmed: ['a'], requiredAgain: [] });
    assert.equal(waiting.size, 1);
  });

  it('asks for another post only after two reads that are far enough apart', () => {
    const waiting = new Unconfirmed(['a'], SPACING);
    const required = new Set(['a']);
    assert.deepEqual(waiting.settle(required, 5000), nothing);
    assert.deepEqual(waiting.settle(required, 5000), nothing, 'one moment is one read');
    assert.deepEqual(waiting.settle(required, 5999), nothing);
    assert.deepEqual(waiting.settle(required, 6000), { confirmed: [], requiredAgain: ['a'] });
    assert.equal(waiting.size, 0);
    assert.deepEqual(waiting.settle(required, 9000), nothing, 'said once');
  });

  it('confirms after one stale read', () => {
    const waiting = new Unconfirmed(['a'], SPACING);
    waiting.settle(new Set(['a']), 0);
    assert.deepEqual(waiting.settle(new Set(), 5000), { confirmed: ['a'], requiredAgain: [] });
  });

  it('begins anew when the same result is posted again', () => {
    const waiting = new Unconfirmed(['a'], SPACING);
    waiting.settle(new Set(['a']), 0);
    waiting.add('a');
    assert.equal(waiting.size, 1);
    assert.deepEqual(waiting.settle(new Set(['a']), 1500), nothing);
  });

  it('settles everything when the turn has ended', () => {
    const waiting = new Unconfirmed(['a'], SPACING);
    waiting.add('b');
    assert.deepEqual(waiting.settleAll(), ['a', 'b']);
    assert.deepEqual(waiting.settleAll(), []);
  });
});

describe('Settled', () => {
  const quiet = { requiredAgain: [], doubtful: false };
  const doubtful = { requiredAgain: [], doubtful: true };

  it('asks for another post only after two reads in a row that are far enough apart', () => {
    const settled = new Settled(['a', 'b'], SPACING);
    const required = new Set(['a']);
    assert.deepEqual(settled.look(new Set(['other']), 0), quiet);
    assert.deepEqual(settled.look(required, 1000), doubtful);
    assert.deepEqual(settled.look(required, 1999), doubtful);
    assert.deepEqual(settled.look(required, 2000), { requiredAgain: ['a'], doubtful: true });
  });

  it('begins anew after a read that does not ask', () => {
    const settled = new Settled(['a'], SPACING);
    const required = new Set(['a']);
    settled.look(required, 0);
    assert.deepEqual(settled.look(new Set(), 500), quiet);
    assert.deepEqual(settled.look(required, 1500), doubtful);
    assert.deepEqual(settled.look(required, 2500), { requiredAgain: ['a'], doubtful: true });
  });
});
