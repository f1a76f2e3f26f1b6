/** Text that crosses a boundary: well-formed, bounded, cut between code points. */

const REPLACEMENT = '\uFFFD';

/** Replaces lone surrogates, which JSON and UTF-8 encoders treat differently, by U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, REPLACEMENT);
}

/** The number of bytes of `text` in UTF-8, a lone surrogate taken for the U+FFFD that it becomes. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length;) {
    const point = text.codePointAt(i) ?? 0;
    bytes += pointLength(point);
    i += point > 0xffff ? 2 : 1;
  }
  return bytes;
}

function pointLength(point: number): number {
  return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

/** The longest prefix of `text` that takes at most `maxBytes` in UTF-8, never cut inside a code point. */
export function prefixWithin(text: string, maxBytes: number): string {
  let bytes = 0;
  for (let i = 0; i < text.length;) {
    const point = text.codePointAt(i) ?? 0;
    bytes += pointLength(point);
    if (bytes > maxBytes) return text.slice(0, i);
    i += point > 0xffff ? 2 : 1;
  }
  return text;
}

/**
 * `text` itself when it fits in `maxBytes` of UTF-8, else its beginning with a marker that says how much is
 * missing; the whole, marker included, then fits. A limit too small for the marker leaves a bare beginning.
 */
export function truncate(text: string, maxBytes: number): string {
  const total = utf8Length(text);
  if (total <= maxBytes) return text;
  const room = maxBytes - cutMarkerLength(total);
  if (room < 0) return prefixWithin(text, maxBytes);
  const head = prefixWithin(text, room);
  return head + cutMarker(total - utf8Length(head), total);
}

/**
 * Makes a value of at most `maxBytes` by `make`, and a smaller one when its JSON would take more than twice that:
 * a control character takes one byte as text, and six as JSON.
 */
export function withinJson<T>(maxBytes: number, make: (maxBytes: number) => T): T {
  const made = make(maxBytes);
  return utf8Length(JSON.stringify(made)) <= 2 * maxBytes + 2 ? made : make(Math.floor(maxBytes / 3));
}

/** What stands at the end of a text that was cut. */
export function cutMarker(missing: number, total: number): string {
  return `\n[cut: ${missing} of ${total} bytes left out]`;
}

/** Bytes of the longest marker for a text of `total` bytes: no number in it has more digits than `total`. */
export function cutMarkerLength(total: number): number {
  return cutMarker(total, total).length;
}

// oxlint-disable-next-line no-control-regex -- control characters are exactly what is to be found
const BLANKS = /[\s\u0000-\u001F\u007F-\u009F]+/g;
/** Characters without width that reorder a line, so that it reads as something else. */
const DIRECTIONS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/**
 * One line of at most `max` characters for people: control characters and white space folded, marks that change
 * the direction of writing left out.
 */
export function oneLine(text: string, max: number): string {
  // Only the beginning is looked at: arguments may be megabytes.
  const beginning = text.slice(0, max * 8);
  const folded = wellFormed(beginning).replace(DIRECTIONS, '').replace(BLANKS, ' ').trim();
  const points = Array.from(folded);
  const whole = points.length <= max && beginning.length === text.length;
  return whole ? folded : `${points.slice(0, max - 1).join('')}…`;
}

/** `text` as literal text inside markdown. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|#~]/g, (c) => `\\${c}`);
}
