/**
 * Small checks for JSON bodies. A failed check is a 400 in the service's documented wording
 * (agents-api.md 5.7), with `param` naming the field.
 */
import { badRequest, type ApiError } from './api-error.ts';
import { isObject } from './wire.ts';

export type Check = (value: unknown, path: string) => void;
interface Field {
  check: Check;
  required: boolean;
}

function kindName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'object':
      return 'an object';
    case 'number':
      return Number.isInteger(value) ? 'an integer' : 'a number';
    case 'string':
      return 'a string';
    case 'boolean':
      return 'a boolean';
    default:
      return `a value of type ${typeof value}`;
  }
}

function wrongType(path: string, expected: string, value: unknown): ApiError {
  return badRequest(
    `Invalid type for '${path}': expected ${expected}, but got ${kindName(value)} instead.`,
    path,
  );
}

/** A string; `min` and `max` count UTF-16 units. */
export function text(limits: { min?: number; max?: number } = {}): Check {
  return (value, path) => {
    if (typeof value !== 'string') throw wrongType(path, 'a string', value);
    if (limits.min !== undefined && value.length < limits.min) {
      throw badRequest(
        `Invalid '${path}': string too short. Expected a string with minimum length ${limits.min}, ` +
          `but got one of length ${value.length} instead.`,
        path,
      );
    }
    if (limits.max !== undefined && value.length > limits.max) {
      throw badRequest(
        `Invalid '${path}': string too long. Expected a string with maximum length ${limits.max}, ` +
          `but got one of length ${value.length} instead.`,
        path,
      );
    }
  };
}

export const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') throw wrongType(path, 'a boolean', value);
};

export function whole(limits: { min?: number } = {}): Check {
  return (value, path) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongType(path, 'an integer', value);
    if (limits.min !== undefined && value < limits.min) {
      throw badRequest(
        `Invalid '${path}': expected an integer >= ${limits.min}, but got ${value} instead.`,
        path,
      );
    }
  };
}

export function oneOf(...options: readonly string[]): Check {
  return (value, path) => {
    if (typeof value !== 'string') throw wrongType(path, 'a string', value);
    if (!options.includes(value)) throw unsupported(value, options, path);
  };
}

function unsupported(value: unknown, options: readonly string[], path: string): ApiError {
  const listed = options.map((option) => `'${option}'`).join(', ');
  return badRequest(`Invalid value: '${String(value)}'. Supported values are: ${listed}.`, path);
}

export function nullable(check: Check): Check {
  return (value, path) => {
    if (value !== null) check(value, path);
  };
}

export function list(check: Check, limits: { min?: number; max?: number } = {}): Check {
  return (value, path) => {
    if (!Array.isArray(value)) throw wrongType(path, 'an array', value);
    if (limits.min !== undefined && value.length < limits.min) {
      throw badRequest(
        `Invalid '${path}': empty array. Expected an array with minimum length ${limits.min}, but got an empty array instead.`,
        path,
      );
    }
    if (limits.max !== undefined && value.length > limits.max) {
      throw badRequest(
        `Invalid '${path}': array too long. Expected an array with maximum length ${limits.max}, ` +
          `but got an array with length ${value.length} instead.`,
        path,
      );
    }
    value.forEach((entry, index) => check(entry, `${path}[${index}]`));
  };
}

/** Any JSON object. */
export const anyObject: Check = (value, path) => {
  if (!isObject(value)) throw wrongType(path, 'an object', value);
};

export function required(check: Check): Field {
  return { check, required: true };
}

/** An object with exactly these fields; unknown ones are refused as the service does. */
export function fields(shape: Record<string, Check | Field>): Check {
  return (value, path) => {
    if (!isObject(value)) throw wrongType(path === '' ? 'body' : path, 'an object', value);
    const at = (key: string): string => (path === '' ? key : `${path}.${key}`);
    for (const [key, entry] of Object.entries(shape)) {
      if (typeof entry !== 'function' && entry.required && value[key] === undefined) {
        throw badRequest(`Missing required parameter: '${at(key)}'.`, at(key));
      }
    }
    for (const key of Object.keys(value)) {
      const entry = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (entry === undefined) throw badRequest(`Unknown parameter: '${at(key)}'.`, at(key));
      const check = typeof entry === 'function' ? entry : entry.check;
      if (value[key] !== undefined) check(value[key], at(key));
    }
  };
}

/** An object whose string field `tag` selects the check. */
export function tagged(tag: string, variants: Record<string, Check>): Check {
  return (value, path) => {
    if (!isObject(value)) throw wrongType(path, 'an object', value);
    const at = `${path}.${tag}`;
    if (value[tag] === undefined) throw badRequest(`Missing required parameter: '${at}'.`, at);
    const name = value[tag];
    if (typeof name !== 'string') throw wrongType(at, 'a string', name);
    const check = Object.hasOwn(variants, name) ? variants[name] : undefined;
    if (check === undefined) throw unsupported(name, Object.keys(variants), at);
    check(value, path);
  };
}

/** Up to 16 string pairs, keys up to 64 and values up to 512 characters (agents-api.md 1.3). */
export const metadata: Check = (value, path) => {
  if (!isObject(value)) throw wrongType(path, 'an object', value);
  const entries = Object.entries(value);
  if (entries.length > 16) {
    throw badRequest(
      `Invalid '${path}': too many properties. Expected an object with at most 16 properties, ` +
        `but got an object with ${entries.length} properties instead.`,
      path,
    );
  }
  for (const [key, entry] of entries) {
    text({ min: 1, max: 64 })(key, `${path}.${key.slice(0, 64)}`);
    text({ max: 512 })(entry, `${path}.${key}`);
  }
};
