/** Equal values have equal text, whatever order a server sends their keys in. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { canonicalJson, isRecord } from '../../src/protocol/json.ts';

/** The same value with the keys of every object in another order. */
function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, entry]) => [key, reordered(entry)]));
}

describe('canonicalJson', () => {
  it('does not depend on the order of keys, and loses nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        assert.equal(canonicalJson(reordered(parsed)), canonicalJson(parsed));
        assert.deepEqual(JSON.parse(canonicalJson(parsed)), parsed);
      }),
    );
  });

  it('tells different values apart', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [x, y]: unknown[] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))];
        let equal = true;
        try {
          assert.deepStrictEqual(x, y);
        } catch {
          equal = false;
        }
        assert.equal(canonicalJson(x) === canonicalJson(y), equal);
      }),
    );
  });

  it('treats what JSON cannot hold as JSON does', () => {
    assert.equal(canonicalJson({ b: undefined, a: [undefined, 1] }), '{"a":[null,1]}');
    assert.equal(canonicalJson(undefined), 'null');
    assert.equal(canonicalJson(JSON.parse('{"__proto__":1,"a":2}')), '{"__proto__":1,"a":2}');
  });
});

describe('isRecord', () => {
  it('takes objects only', () => {
    for (const value of [{}, Object.create(null), new Map()]) assert.ok(isRecord(value));
    for (const value of [null, undefined, [], 'a', 1, () => 1]) assert.ok(!isRecord(value));
  });
});
