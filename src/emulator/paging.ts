/** List envelopes and cursors (agents-api.md 1.4). */
import { badRequest, notFound, type ApiError } from './api-error.ts';
import type { Faults, Occasion } from './faults.ts';

/** The lists differ in how they treat a bad limit and a bad cursor, as observed on the service. */
export type ListKind = 'sessions' | 'items' | 'turns' | 'subagents';

/** `limits`: how a limit out of range is treated; absent, as the list does by itself. */
export interface QueryRules {
  limits?: 'refused' | 'clamped';
  keys: 'refused' | 'ignored';
}

export interface ListQuery {
  query: URLSearchParams;
  /** Faults `strict_query` and `lenient_limit`: other treatment of limits out of range and of unknown keys. */
  rules: QueryRules;
  /** Query keys that this list knows besides the common ones. */
  extra?: (key: string) => boolean;
}

export interface ListPage {
  object: 'list';
  data: unknown[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** The rules of one request, from the faults that strike on it. */
export function queryRules(faults: Faults, occasion: Occasion): QueryRules {
  const strict = faults.take('strict_query', occasion);
  const lenient = faults.take('lenient_limit', occasion) !== undefined;
  const refused = strict !== undefined && strict.limits !== false;
  return {
    ...(refused ? { limits: 'refused' as const } : lenient ? { limits: 'clamped' as const } : {}),
    keys: strict !== undefined && strict.keys !== false ? 'refused' : 'ignored',
  };
}

const COMMON_KEYS = ['after', 'limit', 'order'];

/** One page of `rows`, which are in ascending order. `key` is the cursor of a row. */
export function page<T>(
  rows: readonly T[],
  key: (row: T) => string,
  show: (row: T) => unknown,
  kind: ListKind,
  query: ListQuery,
): ListPage {
  refuseUnknown(query);
  const limit = readLimit(query, kind);
  const order = query.query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') {
    throw badRequest(`Invalid value: '${order}'. Supported values are: 'asc', 'desc'.`, 'order');
  }
  const sorted = order === 'asc' ? [...rows] : rows.toReversed();
  const after = query.query.get('after');
  const start = after === null ? 0 : sorted.findIndex((row) => key(row) === after) + 1;
  if (after !== null && start === 0) throw badCursor(kind, after);
  const chosen = sorted.slice(start, start + limit);
  const [first, last] = [chosen[0], chosen.at(-1)];
  return {
    object: 'list',
    data: chosen.map(show),
    first_id: first === undefined ? null : key(first),
    last_id: last === undefined ? null : key(last),
    has_more: start + limit < sorted.length,
  };
}

function readLimit({ query, rules }: ListQuery, kind: ListKind): number {
  const raw = query.get('limit');
  if (raw === null) return 20;
  if (!/^-?\d+$/.test(raw)) {
    throw badRequest(`Invalid type for 'limit': expected an integer, but got a string instead.`, 'limit');
  }
  const limit = Number(raw);
  if (limit >= 1 && limit <= 100) return limit;
  const own = kind === 'turns' || kind === 'subagents' ? 'refused' : 'clamped';
  if ((rules.limits ?? own) === 'refused') {
    throw badRequest('limit must be between 1 and 100', 'limit');
  }
  return Math.min(100, Math.max(1, limit));
}

function refuseUnknown({ query, rules, extra }: ListQuery): void {
  if (rules.keys === 'ignored') return;
  for (const key of query.keys()) {
    if (COMMON_KEYS.includes(key) || extra?.(key) === true) continue;
    throw badRequest(`Unknown parameter: '${key}'.`, key);
  }
}

function badCursor(kind: ListKind, after: string): ApiError {
  switch (kind) {
    case 'items':
      return badRequest('Invalid session item ID in `after`', 'after');
    case 'subagents':
      return badRequest('Invalid resource ID in `after`', 'after');
    default:
      return notFound(after);
  }
}
