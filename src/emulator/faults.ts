/** The fault switchboard: which fault strikes on which occasion. */
import { FAULT_KINDS, type FaultKind, type FaultMatch, type FaultOf, type FaultSpec } from './fault-kinds.ts';
import { isObject } from './wire.ts';

/** What is known at the place where a fault may strike. */
export interface Occasion {
  session_id?: string | undefined;
  method?: string;
  route?: string;
  path?: string;
  input_types?: readonly string[];
  event_type?: string;
  tools?: readonly string[];
  call_id?: string;
}

interface Armed {
  id: string;
  spec: FaultSpec;
  passed: number;
  struck: number;
  random: () => number;
}

/** How a fault stands: what was set, how often it struck, and how often it still may (null = for ever). */
export interface FaultStatus {
  id: string;
  spec: FaultSpec;
  struck: number;
  left: number | null;
}

export class Faults {
  private armed: Armed[] = [];
  private nextId = 1;

  /** Checks and arms the faults, in order. Throws an Error naming what is wrong; then none is armed. */
  add(specs: readonly unknown[]): FaultStatus[] {
    const checked = specs.map(checkFault);
    return checked.map((spec) => {
      const armed = {
        id: `fault_${this.nextId}`,
        spec,
        passed: 0,
        struck: 0,
        random: seeded(spec.seed ?? this.nextId),
      };
      this.nextId += 1;
      this.armed.push(armed);
      return statusOf(armed);
    });
  }

  /** Takes faults away: all, or one by id, or all of a kind. Answers how many went. */
  clear(which: { id?: string; kind?: string } = {}): number {
    const before = this.armed.length;
    const all = which.id === undefined && which.kind === undefined;
    this.armed = this.armed.filter(
      ({ id, spec }) => !(all || id === which.id || (which.kind !== undefined && spec.kind === which.kind)),
    );
    return before - this.armed.length;
  }

  list(): FaultStatus[] {
    return this.armed.map(statusOf);
  }

  /** The fault of this kind that strikes on this occasion (and `fits`), if one does; it is counted as struck. */
  take<K extends FaultKind>(
    kind: K,
    occasion: Occasion,
    fits: (spec: FaultOf<K>) => boolean = () => true,
  ): FaultOf<K> | undefined {
    for (const fault of this.armed) {
      if (fault.spec.kind !== kind || !applies(fault.spec, occasion)) continue;
      if (!fits(fault.spec as FaultOf<K>)) continue;
      const times = fault.spec.times ?? 1;
      if (times !== 0 && fault.struck >= times) continue;
      if (fault.passed < (fault.spec.after ?? 0)) {
        fault.passed += 1;
        continue;
      }
      if (fault.spec.probability !== undefined && fault.random() >= fault.spec.probability) continue;
      fault.struck += 1;
      return fault.spec as FaultOf<K>;
    }
    return undefined;
  }
}

function statusOf(fault: Armed): FaultStatus {
  const times = fault.spec.times ?? 1;
  return {
    id: fault.id,
    spec: fault.spec,
    struck: fault.struck,
    left: times === 0 ? null : times - fault.struck,
  };
}

function applies(spec: FaultSpec, occasion: Occasion): boolean {
  if (spec.session_id !== undefined && spec.session_id !== occasion.session_id) return false;
  const match = spec.match;
  if (match === undefined) return true;
  return (
    (match.method === undefined || match.method.toUpperCase() === occasion.method) &&
    (match.path === undefined ||
      globFits(match.path, occasion.route) ||
      globFits(match.path, occasion.path)) &&
    (match.input_type === undefined || (occasion.input_types ?? []).includes(match.input_type)) &&
    (match.event_type === undefined || globFits(match.event_type, occasion.event_type)) &&
    (match.tool === undefined || (occasion.tools ?? []).includes(match.tool)) &&
    (match.call_id === undefined || match.call_id === occasion.call_id)
  );
}

/** Glob comparison with `*` only. */
function globFits(pattern: string, value: string | undefined): boolean {
  if (value === undefined) return false;
  const source = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${source.join('.*')}$`).test(value);
}

/** A small repeatable generator (xorshift32), so that a seed gives the same failures again. */
function seeded(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4_294_967_296;
  };
}

const COMMON: Record<string, (value: unknown) => boolean> = {
  kind: () => true,
  session_id: (value) => typeof value === 'string',
  match: isObject,
  times: isCount,
  after: isCount,
  seed: isCount,
  probability: (value) => typeof value === 'number' && value >= 0 && value <= 1,
};

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Checks one fault against the table of kinds. Throws an Error that names the bad part. */
export function checkFault(value: unknown): FaultSpec {
  if (!isObject(value)) throw new Error('a fault must be a JSON object');
  const kind = value['kind'];
  if (typeof kind !== 'string' || !Object.hasOwn(FAULT_KINDS, kind)) {
    throw new Error(`unknown fault kind '${String(kind)}'; known: ${Object.keys(FAULT_KINDS).join(', ')}`);
  }
  const row = FAULT_KINDS[kind as FaultKind];
  for (const [key, entry] of Object.entries(value)) {
    const common = COMMON[key];
    const param = Object.hasOwn(row.params, key) ? row.params[key] : undefined;
    if (common === undefined && param === undefined) {
      throw new Error(`fault '${kind}' has no parameter '${key}'; it takes ${known(row.params)}`);
    }
    const good = common !== undefined ? common(entry) : param !== undefined && hasType(entry, param);
    if (!good) throw new Error(`fault '${kind}': bad value for '${key}': ${JSON.stringify(entry)}`);
  }
  for (const need of row.needs) {
    if (value[need] === undefined) throw new Error(`fault '${kind}' needs '${need}'`);
  }
  checkMatch(kind, value['match'], row.match);
  return value as unknown as FaultSpec;
}

function checkMatch(kind: string, match: unknown, allowed: readonly (keyof FaultMatch)[]): void {
  if (!isObject(match)) return;
  for (const [key, entry] of Object.entries(match)) {
    if (!allowed.some((one) => one === key)) {
      throw new Error(
        `fault '${kind}' cannot match on '${key}'; it can on ${allowed.join(', ') || 'session_id only'}`,
      );
    }
    if (typeof entry !== 'string') throw new Error(`fault '${kind}': match.${key} must be a string`);
  }
}

function known(params: Record<string, unknown>): string {
  return [...Object.keys(params), ...Object.keys(COMMON)].join(', ');
}

function hasType(value: unknown, type: string | readonly string[]): boolean {
  switch (type) {
    case 'count':
      return isCount(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string';
    case 'object':
      return isObject(value);
    case 'any':
      return true;
    default:
      return typeof value === 'string' && type.includes(value);
  }
}
