/**
 * From what a tool returned to the bytes that are saved and posted (I3). Made where the tool ran, so that the
 * recorded value is the final one.
 *
 * - text stays as it is; `null` and nothing become null;
 * - plain JSON data becomes compact JSON; a valid Date becomes its ISO text; `undefined` fields are left out;
 * - a list of `{type: "input_text" | "input_image"}` parts is sent as parts;
 * - everything else is refused by name, not guessed at: BigInt, NaN, functions, Map, Buffer, class instances,
 *   cycles, getters that throw.
 */
import { isRecord } from '../protocol/json.ts';
import {
  cutMarker,
  cutMarkerLength,
  prefixWithin,
  truncate,
  utf8Length,
  wellFormed,
  withinJson,
} from '../protocol/text.ts';
import type { InputContent, ToolOutput } from '../protocol/wire.ts';

const MAX_DEPTH = 100;
/** What a part takes beside its text or image. */
const PART_BYTES = 48;

/** Why a value cannot be sent; the message names its kind and where it stands. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
}

/** Renders a tool's return value to at most `maxBytes`. Throws RenderError, whatever the value does when read. */
export function renderOutput(value: unknown, maxBytes: number): ToolOutput {
  try {
    if (value === undefined || value === null) return null;
    if (isContent(value)) return withinJson(maxBytes, (max) => renderContent(value, max));
    const plain = toPlain(value, 'result', []);
    const text = typeof plain === 'string' ? plain : JSON.stringify(plain);
    return withinJson(maxBytes, (max) => truncate(text, max));
  } catch (error) {
    if (error instanceof RenderError) throw error;
    // A getter or a proxy threw: its text may hold anything (I11).
    throw new RenderError('result cannot be read');
  }
}

function isContent(value: unknown): value is InputContent[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every(
    (part) =>
      isRecord(part) &&
      ((part['type'] === 'input_text' && typeof part['text'] === 'string') ||
        (part['type'] === 'input_image' && typeof part['image_url'] === 'string')),
  );
}

/**
 * Images are kept whole or refused; the texts, taken as one, are cut to what is left. Empty text parts are left out,
 * since the API refuses them (agents-api.md 5.1).
 */
function renderContent(content: readonly InputContent[], maxBytes: number): InputContent[] | string {
  const parts = content
    .map((part): InputContent =>
      part.type === 'input_text'
        ? { type: 'input_text', text: wellFormed(part.text) }
        : { type: 'input_image', image_url: wellFormed(part.image_url) },
    )
    .filter((part) => part.text !== '');
  let fixed = parts.length * PART_BYTES;
  let texts = 0;
  for (const part of parts) {
    fixed += utf8Length(part.image_url ?? '');
    texts += utf8Length(part.text ?? '');
  }
  if (parts.length === 0) return '';
  const room = maxBytes - fixed;
  if (texts <= room) return parts;
  const roomForText = room - cutMarkerLength(texts) - PART_BYTES;
  if (roomForText < 0)
    throw new RenderError(`result has ${parts.length} parts, more than fit in ${maxBytes} bytes`);
  return cutTexts(parts, roomForText, texts);
}

function cutTexts(parts: readonly InputContent[], room: number, total: number): InputContent[] {
  const cut: InputContent[] = [];
  let left = room;
  let isCut = false;
  for (const part of parts) {
    if (part.type === 'input_image') {
      cut.push(part);
    } else if (!isCut) {
      const text = prefixWithin(part.text, left);
      left -= utf8Length(text);
      isCut = text !== part.text;
      if (text !== '') cut.push({ type: 'input_text', text });
    }
  }
  cut.push({ type: 'input_text', text: cutMarker(total - (room - left), total) });
  return cut;
}

function toPlain(value: unknown, path: string, parents: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
      return wellFormed(value);
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      throw new RenderError(`${path} is ${value}, which JSON cannot hold`);
    case 'object':
      return value === null ? null : objectToPlain(value, path, parents);
    default:
      throw new RenderError(`${path} is a ${typeof value}, which JSON cannot hold`);
  }
}

function objectToPlain(value: object, path: string, parents: readonly object[]): unknown {
  if (parents.includes(value)) throw new RenderError(`${path} contains itself`);
  if (parents.length >= MAX_DEPTH) throw new RenderError(`${path} is nested too deeply`);
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    return value.map((entry: unknown, index) =>
      entry === undefined ? null : toPlain(entry, `${path}[${index}]`, inside),
    );
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new RenderError(`${path} is an invalid Date`);
    return value.toISOString();
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isPlainPrototype(prototype))
    throw new RenderError(`${path} is a ${className(prototype)}, not plain data`);
  const plain: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const entry = read(value, key, path);
    if (entry !== undefined) plain.push([wellFormed(key), toPlain(entry, `${path}.${key}`, inside)]);
  }
  // Unlike assignment, this makes a field of any name, `__proto__` included.
  return Object.fromEntries(plain);
}

/** Of no class: no prototype at all, or the root of this or of another realm. */
function isPlainPrototype(prototype: unknown): boolean {
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function read(value: object, key: string, path: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    throw new RenderError(`${path}.${key} cannot be read`);
  }
}

function className(prototype: unknown): string {
  const constructor = (prototype as { constructor?: { name?: unknown } }).constructor;
  return typeof constructor?.name === 'string' && constructor.name !== ''
    ? constructor.name
    : 'class instance';
}
