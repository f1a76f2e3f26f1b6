/**
 * Example values for a JSON schema: what the built-in agent passes to a tool it knows nothing about.
 * Pure; the same schema always gives the same value.
 */
import { isObject, type RawObject } from './wire.ts';

/** Recursive schemas stop here: optional properties are left out, arrays are empty. */
const MAX_DEPTH = 6;

const FORMATS: Record<string, string> = {
  'date-time': '2026-01-15T09:30:00Z',
  date: '2026-01-15',
  time: '09:30:00Z',
  duration: 'PT1H',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000001',
};

/** An example value that fits `schema`, as well as its keywords can be followed without solving a `pattern`. */
export function exampleOf(schema: unknown): unknown {
  return build(schema, isObject(schema) ? schema : {}, 'value', 0);
}

function build(schema: unknown, root: RawObject, name: string, depth: number): unknown {
  if (!isObject(schema)) return `example ${name}`;
  const merged = resolve(schema, root);
  const given = stated(merged);
  if (given !== undefined) return given.value;
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = merged[keyword];
    if (Array.isArray(branches) && branches.length > 0) {
      const rest = { ...merged };
      delete rest[keyword];
      return build({ ...rest, ...resolve(branches[0], root) }, root, name, depth);
    }
  }
  switch (typeOf(merged)) {
    case 'object':
      return buildObject(merged, root, depth);
    case 'array':
      return buildArray(merged, root, name, depth);
    case 'string':
      return buildString(merged, name);
    case 'integer':
    case 'number':
      return buildNumber(merged);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return `example ${name}`;
  }
}

/** A value the schema's author wrote down: `examples`, `default`, `enum` and `const` go before everything. */
function stated(schema: RawObject): { value: unknown } | undefined {
  if ('const' in schema) return { value: schema['const'] };
  const { examples, enum: options } = schema;
  if (Array.isArray(examples) && examples.length > 0) return { value: examples[0] };
  if ('default' in schema) return { value: schema['default'] };
  if (Array.isArray(options) && options.length > 0) return { value: options[0] };
  return undefined;
}

/** Follows local `$ref`s and folds `allOf` in. */
function resolve(schema: unknown, root: RawObject): RawObject {
  let current = isObject(schema) ? schema : {};
  for (let hops = 0; hops < 16 && typeof current['$ref'] === 'string'; hops += 1) {
    const { $ref: ref, ...beside } = current;
    const target = lookUp(ref, root);
    current = isObject(target) ? { ...target, ...beside } : beside;
  }
  const { allOf, ...rest } = current;
  if (!Array.isArray(allOf)) return current;
  let merged: RawObject = {};
  for (const part of [rest, ...(allOf as unknown[])]) {
    const next = resolve(part, root);
    merged = {
      ...merged,
      ...next,
      ...combine('properties', merged, next),
      ...(Array.isArray(merged['required']) && Array.isArray(next['required'])
        ? { required: [...(merged['required'] as unknown[]), ...(next['required'] as unknown[])] }
        : {}),
    };
  }
  return merged;
}

function combine(key: string, a: RawObject, b: RawObject): RawObject {
  const [left, right] = [a[key], b[key]];
  return isObject(left) && isObject(right) ? { [key]: { ...left, ...right } } : {};
}

function lookUp(ref: string, root: RawObject): unknown {
  if (!ref.startsWith('#')) return undefined;
  let current: unknown = root;
  for (const part of ref.slice(1).split('/').filter(Boolean)) {
    if (!isObject(current)) return undefined;
    current = current[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return current;
}

function typeOf(schema: RawObject): string | undefined {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null';
  if (typeof type === 'string') return type;
  if (isObject(schema['properties'])) return 'object';
  return 'items' in schema ? 'array' : undefined;
}

function buildObject(schema: RawObject, root: RawObject, depth: number): RawObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  const result: RawObject = {};
  for (const [key, property] of Object.entries(properties)) {
    if (depth >= MAX_DEPTH && !required.includes(key)) continue;
    if (depth >= MAX_DEPTH * 2) continue;
    result[key] = build(property, root, key, depth + 1);
  }
  return result;
}

function buildArray(schema: RawObject, root: RawObject, name: string, depth: number): unknown[] {
  const fixed = schema['prefixItems'];
  if (Array.isArray(fixed)) return fixed.map((one) => build(one, root, name, depth + 1));
  const least = numberAt(schema, 'minItems') ?? 0;
  const most = numberAt(schema, 'maxItems') ?? Infinity;
  const length = depth >= MAX_DEPTH ? least : Math.min(Math.max(least, 1), most);
  return Array.from({ length }, () => build(schema['items'], root, name, depth + 1));
}

function buildString(schema: RawObject, name: string): string {
  const format = schema['format'];
  const known = typeof format === 'string' ? FORMATS[format] : undefined;
  if (known !== undefined) return known;
  const least = numberAt(schema, 'minLength') ?? 0;
  const most = numberAt(schema, 'maxLength') ?? Infinity;
  const text = `example ${name}`;
  return (text.length < least ? text.padEnd(least, 'x') : text).slice(0, most);
}

/** 1 when the bounds allow it: libraries state the whole safe range as bounds, and -2^53 helps nobody. */
function buildNumber(schema: RawObject): number {
  const whole = schema['type'] === 'integer';
  const step = numberAt(schema, 'multipleOf') ?? (whole ? 1 : 0);
  const nudge = whole ? 1 : 0.5;
  const above = numberAt(schema, 'exclusiveMinimum');
  const below = numberAt(schema, 'exclusiveMaximum');
  const least = Math.max(
    numberAt(schema, 'minimum') ?? -Infinity,
    above === undefined ? -Infinity : above + nudge,
  );
  const most = Math.min(
    numberAt(schema, 'maximum') ?? Infinity,
    below === undefined ? Infinity : below - nudge,
  );
  const wished = Math.max(least, Math.min(1, most));
  if (step === 0) return wished;
  const upper = Math.ceil(wished / step) * step;
  return upper <= most ? upper : Math.floor(most / step) * step;
}

function numberAt(schema: RawObject, key: string): number | undefined {
  const value = schema[key];
  return typeof value === 'number' ? value : undefined;
}
