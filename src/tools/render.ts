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
import { truncate, utf8Length, wellFormed } from '../protocol/text.ts';
import type { InputContent, ToolOutput } from '../protocol/wire.ts';

const MAX_DEPTH = 100;

/** Why a value cannot be sent; the message names its kind and where it stands. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
}

/** Renders a tool's return value to at most `maxBytes`. Throws RenderError. */
export function renderOutput(value: unknown, maxBytes: number): ToolOutput {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return truncate(wellFormed(value), maxBytes);
  if (isContent(value)) return renderContent(value, maxBytes);
  const plain = toPlain(value, 'result', []);
  return truncate(wellFormed(JSON.stringify(plain)), maxBytes);
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

/** Text parts share what the images leave; an image cannot be cut. */
function renderContent(parts: InputContent[], maxBytes: number): InputContent[] {
  const images = parts.reduce(
    (sum, part) => sum + (part.type === 'input_image' ? (part.image_url?.length ?? 0) : 0),
    0,
  );
  if (images > maxBytes)
    throw new RenderError(`images of ${images} bytes, more than the limit of ${maxBytes}`);
  let left = maxBytes - images;
  return parts.map((part) => {
    if (part.type === 'input_image') return { type: 'input_image', image_url: part.image_url ?? '' };
    const text = truncate(wellFormed(part.text ?? ''), left);
    left = Math.max(0, left - utf8Length(text));
    return { type: 'input_text', text };
  });
}

function toPlain(value: unknown, path: string, parents: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
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
  if (prototype !== Object.prototype && prototype !== null) {
    throw new RenderError(`${path} is a ${className(prototype)}, not plain data`);
  }
  const plain: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const entry = read(value, key, path);
    if (entry !== undefined) plain[key] = toPlain(entry, `${path}.${key}`, inside);
  }
  return plain;
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
