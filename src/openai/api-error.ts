/**
 * One error class for everything the Agents API may answer, with the one thing that callers need to know: what to
 * do next. Built on the HTTP status first, since codes differ between servers (agents-api.md 5.7, 12).
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';

import { redact } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';

/**
 * - `invalid`: refused for what it is; the same request is never taken.
 * - `unauthorized`, `exhausted`: refused for the key or the account, whatever the request: somebody must act.
 * - `not_found`: the thing is gone, or never was.
 * - `conflict`: the state does not allow it now: read it, then decide.
 * - `unavailable`: worth a retry later; `retryAfterMs` when the server said when.
 */
export type ApiErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'exhausted'
  | 'not_found'
  | 'conflict'
  | 'unavailable';

/** Codes that time does not cure, whatever status they come with (agents-api.md 2.2). */
const FINAL_CODES = new Set([
  'insufficient_quota',
  'usage_limit_exceeded',
  'billing_not_active',
  'credit_balance_exhausted',
  'project_spend_limit_exceeded',
  'organization_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
]);
/** What somebody can do where no retry helps. The sentence of a rejected key says it already. */
const REMEDIES: Partial<Record<ApiErrorKind, string>> = {
  invalid: 'the same request is never taken: correct what it names, then start a new task',
  exhausted: 'see to the billing and the limits of the account, then start a new task',
  not_found: 'check OPENAI_BASE_URL and the project of the key, then start a new task',
  conflict: 'look at the session, then start a new task',
};
const MAX_RETRY_AFTER_MS = 10 * 60_000;
const MAX_DETAIL = 500;
const MAX_WORD = 100;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: ApiErrorKind;
  /** HTTP status; null when there was no answer. */
  readonly status: number | null;
  readonly code: string | null;
  readonly param: string | null;
  /** The server's `x-request-id`, for its support. */
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  /** The server's own sentence, without secrets; empty for a rejected key, which servers like to echo. */
  readonly detail: string;

  constructor(fields: {
    kind: ApiErrorKind;
    status: number | null;
    code: string | null;
    param: string | null;
    requestId: string | null;
    retryAfterMs: number | null;
    detail: string;
    doing: string;
  }) {
    super(sentence(fields));
    this.kind = fields.kind;
    this.status = fields.status;
    this.code = fields.code;
    this.param = fields.param;
    this.requestId = fields.requestId;
    this.retryAfterMs = fields.retryAfterMs;
    this.detail = fields.detail;
  }

  /** True when the same request may succeed later. */
  get retryable(): boolean {
    return this.kind === 'unavailable';
  }

  /** The sentence for whoever finds a task ended by this: what was refused, and what to do. */
  get told(): string {
    const remedy = REMEDIES[this.kind];
    return remedy ? `${this.message}; ${remedy}` : this.message;
  }
}

/**
 * Turns whatever the client threw into an ApiError. `doing` names the request in words, for the message; what is in
 * `secrets` does not get into it. What comes neither from the server nor from the connection comes back as it is.
 */
export function toApiError(error: unknown, doing: string, secrets: readonly string[] = []): unknown {
  if (error instanceof ApiError) return error;
  if (isConnectionFailure(error)) return noAnswer(doing, connectionDetail(error));
  if (!(error instanceof APIError) || error.status === undefined) return error;
  const safe = (value: unknown, max: number): string | null =>
    typeof value === 'string' ? oneLine(redact(value, secrets), max) : null;
  const status = Number(error.status);
  const kind = kindOf(status, typeof error.code === 'string' ? error.code : null);
  const body: unknown = error.error;
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : null;
  return new ApiError({
    kind,
    status,
    code: safe(error.code, MAX_WORD),
    param: safe(error.param, MAX_WORD),
    requestId: safe(error.requestID, MAX_WORD),
    retryAfterMs: retryAfter(error.headers),
    detail: kind === 'unauthorized' ? '' : (safe(message, MAX_DETAIL) ?? ''),
    doing,
  });
}

/** The service gave no answer that can be used. `detail` says in a word or two why, and holds nothing of the answer. */
export function noAnswer(doing: string, detail: string): ApiError {
  return new ApiError({
    kind: 'unavailable',
    status: null,
    code: null,
    param: null,
    requestId: null,
    retryAfterMs: null,
    detail,
    doing,
  });
}

/** No answer, or one that broke off or was no JSON: fetch throws a TypeError with a cause for a cut body. */
function isConnectionFailure(error: unknown): boolean {
  if (error instanceof APIConnectionError || error instanceof SyntaxError) return true;
  return error instanceof TypeError && error.cause !== undefined;
}

function kindOf(status: number, code: string | null): ApiErrorKind {
  if (status === 402 || (code !== null && FINAL_CODES.has(code))) return 'exhausted';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  if (status === 409) return 'conflict';
  if (status === 408 || status === 425 || status === 429 || status >= 500) return 'unavailable';
  return 'invalid';
}

/**
 * `retry-after-ms`, or `retry-after` in seconds or as a date; capped, so that a wrong value cannot park a task. Zero
 * and the past are no answer: the caller's own pauses then keep it from asking again and again.
 */
function retryAfter(headers: Headers | undefined): number | null {
  const text = headers?.get('retry-after') ?? '';
  const seconds = numberIn(text);
  const inSeconds = seconds !== null ? seconds * 1000 : Date.parse(text) - Date.now();
  const wait = numberIn(headers?.get('retry-after-ms')) ?? inSeconds;
  return wait > 0 ? Math.min(wait, MAX_RETRY_AFTER_MS) : null;
}

function numberIn(text: string | null | undefined): number | null {
  const number = text?.trim() ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

/** The system's error code of a failed connection, which names no secret; the message may hold a URL. */
function connectionDetail(error: unknown): string {
  if (error instanceof APIConnectionTimeoutError) return 'timeout';
  if (error instanceof SyntaxError) return 'no JSON';
  for (let e: unknown = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if ('code' in e && typeof e.code === 'string') return e.code;
  }
  return error instanceof Error ? error.name : 'unknown';
}

function sentence(fields: {
  kind: ApiErrorKind;
  status: number | null;
  code: string | null;
  param: string | null;
  requestId: string | null;
  detail: string;
  doing: string;
}): string {
  const { kind, status, code, param, requestId, detail, doing } = fields;
  if (status === null) return `${doing}: the Agents API did not answer (${detail})`;
  const remedy =
    kind === 'unauthorized'
      ? ': the API key was refused; check OPENAI_API_KEY, its scopes (api.agents.read, api.agents.write) and its project'
      : `: ${detail || 'no message'}`;
  const facts = [code && `code ${code}`, param && `param ${param}`, requestId && `request ${requestId}`];
  const known = facts.filter(Boolean).join(', ');
  return `${doing}: HTTP ${status}${remedy}${known ? ` (${known})` : ''}`;
}
