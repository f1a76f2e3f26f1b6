/** Text that crosses a boundary: well-formed, bounded, cut between code points. */

const REPLACEMENT = '\uFFFD';

/** Replaces lone surrogates, which JSON and UTF-8 encoders treat differently, by U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, REPLACEMENT);
}

/** The number of bytes of `text` in UTF-8. `text` must be well-formed. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit <= 0xdbff) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

/** The longest prefix of `text` that takes at most `maxBytes` in UTF-8, never cut inside a code point. */
export function prefixWithin(text: string, maxBytes: number): string {
  let bytes = 0;
  for (let i = 0; i < text.length;) {
    const point = text.codePointAt(i) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > maxBytes) return text.slice(0, i);
    i += point > 0xffff ? 2 : 1;
  }
  return text;
}

/**
 * `text` itself when it fits in `maxBytes` of UTF-8, else its beginning with a marker that says how much is
 * missing; the whole, marker included, then fits.
 */
export function truncate(text: string, maxBytes: number): string {
  const total = utf8Length(text);
  if (total <= maxBytes) return text;
  // The marker's numbers have at most as many digits as `total`, so its longest form bounds the cut.
  const longest = utf8Length(marker(total, total));
  const head = prefixWithin(text, Math.max(0, maxBytes - longest));
  return head + marker(total - utf8Length(head), total);
}

function marker(missing: number, total: number): string {
  return `\n[cut: ${missing} of ${total} bytes left out]`;
}

// oxlint-disable-next-line no-control-regex -- control characters are exactly what is to be found
const BLANKS = /[\s\u0000-\u001F\u007F-\u009F]+/g;

/** One line of at most `max` characters for people: control characters and white space folded. */
export function oneLine(text: string, max: number): string {
  // Only the beginning is looked at: arguments may be megabytes.
  const beginning = text.slice(0, max * 8);
  const folded = wellFormed(beginning).replace(BLANKS, ' ').trim();
  const points = Array.from(folded);
  const whole = points.length <= max && beginning.length === text.length;
  return whole ? folded : `${points.slice(0, max - 1).join('')}…`;
}

/** `text` as literal text inside markdown. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|#~]/g, (c) => `\\${c}`);
}
