/** Keys: the same from any process, different for anything that differs (I1, I2; agents-api.md 5.6). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { callIdempotencyKey, resultPostKey, sessionKey } from '../../src/openai/keys.ts';

describe('keys', () => {
  it('are the ones that earlier versions derived: tasks in flight depend on it', () => {
    assert.equal(sessionKey('default', 'task', 'run'), 'f1d52016f3f3de85fb37f4a7db8583404322650f');
    assert.equal(callIdempotencyKey('s', 't', 'c'), 'hf_aec10f5c2523c2313a0b2e11013bf8e841da0381');
    assert.equal(resultPostKey('s', 't', 'c', '{}'), 'hf_2573abb2381680ad0d0e01e29c1730790de5b5e9');
  });

  it('differ when any part does, and no two parts run together', () => {
    const parts = fc.array(fc.string({ maxLength: 6 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const [x, y] = [a, b].map(([one = '', two = '', three = '']) => callIdempotencyKey(one, two, three));
        assert.equal(x === y, JSON.stringify(a) === JSON.stringify(b));
      }),
    );
    assert.notEqual(callIdempotencyKey('ab', 'c', 'd'), callIdempotencyKey('a', 'bc', 'd'));
    assert.notEqual(resultPostKey('s', 't', 'c', '{"a":1}'), resultPostKey('s', 't', 'c', '{"a":2}'));
    assert.equal(new Set([0, 1, 2].map((repeat) => resultPostKey('s', 't', 'c', '{}', repeat))).size, 3);
  });

  it('fit where they go: a metadata value, and a header of 256 characters', () => {
    const long = 'x'.repeat(10_000);
    assert.ok(sessionKey(long, long, long).length <= 64);
    for (const key of [callIdempotencyKey(long, long, long), resultPostKey(long, long, long, long)])
      assert.match(key, /^hf_[0-9a-f]{40}$/);
  });
});
