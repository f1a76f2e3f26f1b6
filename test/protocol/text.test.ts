/** Text that crosses a boundary: it fits, it is well-formed, and what is missing is said (scenarios 17, 19). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  escapeMarkdown,
  oneLine,
  prefixWithin,
  truncate,
  utf8Length,
  wellFormed,
} from '../../src/protocol/text.ts';

/** Whole code points, astral ones included. */
const text = fc.string({ unit: 'binary', maxLength: 200 });
/** Any sequence of UTF-16 units, lone surrogates included. */
const units = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd800, max: 0xdfff })), {
    maxLength: 80,
  })
  .map((codes) => String.fromCharCode(...codes));
const bytes = (value: string): number => Buffer.byteLength(value, 'utf8');
const isWellFormed = (value: string): boolean => Buffer.from(value, 'utf8').toString('utf8') === value;

describe('wellFormed', () => {
  it('gives what a UTF-8 encoder would, and changes nothing that is well-formed', () => {
    fc.assert(
      fc.property(units, (value) => {
        assert.equal(wellFormed(value), Buffer.from(value, 'utf8').toString('utf8'));
      }),
    );
    fc.assert(fc.property(text, (value) => assert.equal(wellFormed(value), value)));
  });
});

describe('utf8Length', () => {
  it('counts as a UTF-8 encoder does, lone surrogates included', () => {
    fc.assert(fc.property(fc.oneof(text, units), (value) => assert.equal(utf8Length(value), bytes(value))));
  });
});

describe('prefixWithin', () => {
  it('is the longest prefix of whole code points that fits', () => {
    fc.assert(
      fc.property(text, fc.nat(300), (value, max) => {
        const prefix = prefixWithin(value, max);
        assert.ok(value.startsWith(prefix));
        assert.ok(isWellFormed(prefix));
        assert.ok(bytes(prefix) <= max);
        const next = String.fromCodePoint(value.codePointAt(prefix.length) ?? 0);
        if (prefix !== value) assert.ok(bytes(prefix + next) > max);
      }),
    );
  });
});

describe('truncate', () => {
  const MARKER = /\n\[cut: (\d+) of (\d+) bytes left out\]$/;

  it('fits every limit, is well-formed, and says how much of how much is missing', () => {
    fc.assert(
      fc.property(fc.oneof(text, units.map(wellFormed)), fc.nat(400), (value, max) => {
        const cut = truncate(value, max);
        assert.ok(bytes(cut) <= max, `${bytes(cut)} bytes for a limit of ${max}`);
        assert.ok(isWellFormed(cut));
        if (bytes(value) <= max) return assert.equal(cut, value);
        const [marker, missing, total] = MARKER.exec(cut) ?? [];
        // A limit that has no room for the marker leaves a bare beginning.
        if (marker === undefined) return assert.ok(max < 60 && value.startsWith(cut));
        assert.equal(Number(total), bytes(value));
        const head = cut.slice(0, -marker.length);
        assert.ok(value.startsWith(head));
        assert.equal(Number(missing), bytes(value) - bytes(head));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps limit-1 and limit, cuts limit+1 and 50 MB', () => {
    const limit = 256 * 1024;
    for (const size of [limit - 1, limit]) assert.equal(truncate('x'.repeat(size), limit).length, size);
    for (const size of [limit + 1, 50_000_000]) {
      const cut = truncate('x'.repeat(size), limit);
      assert.ok(cut.length <= limit && cut.length > limit - 70);
      const [, missing, total] = MARKER.exec(cut) ?? [];
      assert.equal(Number(total), size);
      assert.equal(Number(missing), size - cut.replace(MARKER, '').length);
    }
  });

  it('never cuts a code point in two', () => {
    for (let limit = 60; limit < 80; limit++) {
      assert.doesNotMatch(truncate('😀'.repeat(40), limit), /\uFFFD/);
      assert.ok(isWellFormed(truncate('é😀'.repeat(40), limit)));
    }
  });
});

describe('oneLine', () => {
  it('is one well-formed line of at most `max` characters', () => {
    fc.assert(
      fc.property(fc.oneof(text, units), fc.integer({ min: 1, max: 50 }), (value, max) => {
        const line = oneLine(value, max);
        assert.ok(Array.from(line).length <= max);
        assert.ok(isWellFormed(line));
        assert.doesNotMatch(line, /[\n\r\t\u2028\u2029]/);
        // oxlint-disable-next-line no-control-regex -- the very thing that must not be there
        assert.doesNotMatch(line, /[\u0000-\u001F\u007F-\u009F]/);
      }),
    );
  });

  it('says by an ellipsis that something is missing, and only then', () => {
    assert.equal(oneLine('  a\n\tb  ', 10), 'a b');
    assert.equal(oneLine('abcdef', 6), 'abcdef');
    assert.equal(oneLine('abcdefg', 6), 'abcde…');
    assert.equal(oneLine(`a${' '.repeat(100)}b`, 5), 'a…');
    assert.equal(oneLine('😀'.repeat(5), 3), '😀😀…');
  });

  it('does not let text turn the line around for its readers', () => {
    assert.doesNotMatch(
      oneLine('pay \u202Ednik\u202C \u2066x\u2069 \u200Fy', 40),
      /[\u200E\u200F\u202A-\u202E\u2066-\u2069]/,
    );
  });
});

describe('escapeMarkdown', () => {
  it('leaves no character that markdown reads', () => {
    assert.equal(escapeMarkdown('a*b_[c](d)`#|~<>\\'), 'a\\*b\\_\\[c\\](d)\\`\\#\\|\\~\\<\\>\\\\');
  });
});
