/** From what a tool returned to what is posted: final, bounded, and never a missing field (scenarios 17 and 19). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import vm from 'node:vm';
import * as fc from 'fast-check';
import type { InputContent } from '../../src/protocol/wire.ts';
import { RenderError, renderOutput } from '../../src/tools/render.ts';

const LIMIT = 256 * 1024;
const SECRET = 'hunter2-planted';
const render = (value: unknown, limit = LIMIT): unknown => renderOutput(value, limit);

class Point {
  x = 1;
}
const cycle: Record<string, unknown> = { name: 'a' };
cycle['self'] = cycle;
const shared = { a: 1 };
function nested(depth: number): unknown {
  let value: unknown = 'core';
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
}
function throwing(): never {
  throw new Error(SECRET);
}

describe('values that can be sent', () => {
  const table: [string, unknown, unknown][] = [
    ['undefined', undefined, null],
    ['null', null, null],
    ['an empty text', '', ''],
    ['text', 'as it is\n', 'as it is\n'],
    ['0', 0, '0'],
    ['false', false, 'false'],
    ['an object', { a: [1, 'x', null], b: { c: true } }, '{"a":[1,"x",null],"b":{"c":true}}'],
    ['undefined inside', { a: undefined, b: [undefined] }, '{"b":[null]}'],
    ['a hole', [1, , 2], '[1,null,2]'], // oxlint-disable-line no-sparse-arrays -- the case
    ['an empty list', [], '[]'],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a Date inside', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['an object of another realm', vm.runInNewContext('({ a: [1] })'), '{"a":[1]}'],
    ['the same object twice', { a: shared, b: shared }, '{"a":{"a":1},"b":{"a":1}}'],
    ['a 20-deep object', nested(20), `${'{"a":'.repeat(20)}"core"${'}'.repeat(20)}`],
    ['a key named __proto__', JSON.parse('{"__proto__":{"a":1},"b":2}'), '{"__proto__":{"a":1},"b":2}'],
    ['a lone surrogate', 'a\uD800b', 'a\uFFFDb'],
    ['a lone surrogate inside', { '\uDC00': 'a\uD800' }, '{"\uFFFD":"a\uFFFD"}'],
  ];
  for (const [name, value, expected] of table) it(name, () => assert.deepEqual(render(value), expected));

  it('any JSON value reads back as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const output = render(value);
        const expected: unknown = JSON.parse(JSON.stringify(value));
        if (expected === null || typeof expected === 'string') return assert.equal(output, expected);
        if (typeof output !== 'string') throw new Error('not text');
        assert.deepEqual(JSON.parse(output), expected);
      }),
    );
  });
});

describe('values that are refused by name', () => {
  const table: [string, unknown, RegExp][] = [
    ['a BigInt', { n: 1n }, /^result\.n is a bigint, which JSON cannot hold$/],
    ['a symbol', Symbol('s'), /^result is a symbol/],
    ['a function', { f: throwing }, /^result\.f is a function/],
    ['NaN', [Number.NaN], /^result\[0\] is NaN/],
    ['Infinity', Infinity, /^result is Infinity/],
    ['an invalid Date', new Date(Number.NaN), /^result is an invalid Date$/],
    ['a Map', { m: new Map() }, /^result\.m is a Map, not plain data$/],
    ['a Set', new Set(), /^result is a Set/],
    ['a Buffer', Buffer.from('x'), /^result is a Buffer/],
    ['an Error', new Error(SECRET), /^result is a Error, not plain data$/],
    ['a class instance', new Point(), /^result is a Point/],
    ['an object that makes its own JSON', { toJSON: () => 1 }, /^result\.toJSON is a function/],
    ['a promise', { p: Promise.resolve(1) }, /^result\.p is a Promise/],
    ['a cycle', cycle, /^result\.self contains itself$/],
    ['too deep a nest', nested(101), /nested too deeply$/],
  ];
  for (const [name, value, words] of table) {
    it(name, () => assert.throws(() => render(value), { name: 'RenderError', message: words }));
  }

  // Whatever the value does while it is read, no text of it may come out (I11).
  const hostile: [string, () => unknown][] = [
    ['a getter that throws', () => Object.defineProperty({}, 'a', { enumerable: true, get: throwing })],
    ['a list whose element cannot be read', () => Object.defineProperty([1], 0, { get: throwing })],
    [
      'a part whose type cannot be read',
      () => [Object.defineProperty({}, 'type', { enumerable: true, get: throwing })],
    ],
    ['a proxy without keys', () => new Proxy({}, { ownKeys: throwing })],
    ['a proxy without prototype', () => new Proxy({}, { getPrototypeOf: throwing })],
    [
      'a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return { proxy };
      },
    ],
    ['a Date that lies', () => Object.assign(new Date(), { toISOString: throwing })],
    [
      'a class name that throws',
      () => Object.create(Object.defineProperty({}, 'constructor', { get: throwing })),
    ],
  ];
  for (const [name, make] of hostile) {
    it(name, () => {
      assert.throws(
        () => render(make()),
        (error) => error instanceof RenderError && !error.message.includes(SECRET),
      );
    });
  }
});

describe('limits', () => {
  const MARKER = /\n\[cut: (\d+) of (\d+) bytes left out\]$/;
  const size = (output: unknown): number =>
    typeof output === 'string' ? Buffer.byteLength(output) : Buffer.byteLength(JSON.stringify(output));

  it('keeps limit-1 and limit, cuts limit+1 and 50 MB with a marker', () => {
    for (const length of [LIMIT - 1, LIMIT]) assert.equal(render('x'.repeat(length)), 'x'.repeat(length));
    for (const length of [LIMIT + 1, 50_000_000]) {
      const output = render('x'.repeat(length));
      assert.ok(size(output) <= LIMIT);
      const [, missing, total] = MARKER.exec(String(output)) ?? [];
      assert.deepEqual([Number(total), Number(missing)], [length, length - String(output).indexOf('\n[cut')]);
    }
  });

  it('cuts further what takes much more room as JSON', () => {
    const output = render('\u0001'.repeat(LIMIT));
    const bytes = Buffer.byteLength(JSON.stringify(output));
    assert.ok(bytes > 1.9 * LIMIT && bytes <= 2 * LIMIT + 2, `${bytes} bytes`);
    assert.match(String(output), MARKER);
    const parts = render([{ type: 'input_text', text: '\u0001'.repeat(LIMIT - 100) }]);
    assert.ok(Buffer.byteLength(JSON.stringify(parts)) <= 2 * LIMIT + 2);
  });

  it('cuts JSON like text', () => {
    const output = render({ rows: 'ü'.repeat(LIMIT) });
    assert.ok(size(output) <= LIMIT);
    assert.match(String(output), MARKER);
    assert.doesNotMatch(String(output), /\uFFFD/);
  });

  const text = (value: string): InputContent => ({ type: 'input_text', text: value });
  const image = (bytes: number): InputContent => ({
    type: 'input_image',
    image_url: `data:,${'i'.repeat(bytes - 6)}`,
  });

  it('sends parts as parts, and nothing but their own fields', () => {
    const parts = [{ ...text('see'), note: 'x' }, image(20)];
    assert.deepEqual(render(parts), [text('see'), image(20)]);
    assert.equal(render([{ type: 'input_text' }]), '[{"type":"input_text"}]', 'no part without its text');
    assert.equal(render([{ type: 'output_text', text: 'a' }]), '[{"type":"output_text","text":"a"}]');
  });

  it('cuts text parts to what the images leave, and says once how much of the whole is missing', () => {
    const output = render(
      [text('a'.repeat(600)), image(300), text('b'.repeat(600)), text('c'.repeat(600))],
      1500,
    );
    assert.ok(size(output) <= 1500, `${size(output)} bytes`);
    assert.ok(Array.isArray(output));
    const texts = (output as InputContent[]).map((part) => part.text ?? '');
    const kept = texts.join('').replace(MARKER, '').length;
    const [, missing, total] = MARKER.exec(texts.at(-1) ?? '') ?? [];
    assert.deepEqual([Number(total), Number(missing)], [1800, 1800 - kept]);
    assert.ok(kept > 700);
    assert.ok(!texts.includes('') || texts.indexOf('') === 1, 'no empty text part: the API refuses it');
  });

  it('refuses images, and numbers of parts, that do not fit', () => {
    assert.throws(
      () => render([text('a'), image(2000)], 1000),
      /^RenderError: result has 2 parts, more than fit in 1000 bytes$/,
    );
    assert.throws(
      () =>
        render(
          Array.from({ length: 100 }, () => text('a')),
          1000,
        ),
      RenderError,
    );
    assert.throws(
      () =>
        render(
          Array.from({ length: 100 }, () => image(10)),
          1000,
        ),
      RenderError,
    );
  });

  it('fits every limit, whatever the parts', () => {
    const part = fc.oneof(
      fc.string({ maxLength: 300, unit: 'binary' }).map(text),
      fc.integer({ min: 6, max: 120 }).map(image),
    );
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1024, max: 4096 }),
        (parts, limit) => {
          let output: unknown;
          try {
            output = render(parts, limit);
          } catch (error) {
            return assert.ok(error instanceof RenderError);
          }
          if (output === '') return assert.ok(parts.every((one) => one.text === ''));
          const bytes = (output as InputContent[]).reduce(
            (sum, one) => sum + Buffer.byteLength(one.text ?? one.image_url ?? ''),
            0,
          );
          assert.ok(bytes <= limit, `${bytes} bytes for a limit of ${limit}`);
          for (const one of output as InputContent[])
            assert.ok(one.type === 'input_image' || one.text !== '');
        },
      ),
    );
  });
});
