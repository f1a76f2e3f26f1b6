/** Errors as the service words them (agents-api.md 1.5, 5.4, 5.7). */

/** A refusal with an HTTP status and the service's error body. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly headers: Record<string, string>;
  /** Set when the refusal shows a mistake of the client; counted under this short name. */
  readonly violation: string | null;

  constructor(
    status: number,
    message: string,
    details: {
      type: string;
      code: string | null;
      param?: string | null;
      headers?: Record<string, string>;
      violation?: string;
    },
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.type = details.type;
    this.code = details.code;
    this.param = details.param ?? null;
    this.headers = details.headers ?? {};
    this.violation = details.violation ?? null;
  }

  body(): { error: { type: string; code: string | null; message: string; param: string | null } } {
    return { error: { type: this.type, code: this.code, message: this.message, param: this.param } };
  }
}

/** 400: the request itself is wrong. Always a violation. */
export function badRequest(
  message: string,
  param: string | null = null,
  violation = 'bad_request',
): ApiError {
  return new ApiError(400, message, {
    type: 'invalid_request_error',
    code: 'invalid_request_error',
    param,
    violation,
  });
}

/** 404 in the wording that was observed: "No managed agent resource found: …". */
export function notFound(id: string): ApiError {
  return new ApiError(404, `No managed agent resource found: ${id}`, {
    type: 'not_found_error',
    code: 'not_found_error',
  });
}

/** 409: a clash with the present state. A violation only where the client could have known. */
export function conflict(message: string, violation?: string, code = 'conflict_error'): ApiError {
  return new ApiError(409, message, {
    type: 'conflict_error',
    code,
    ...(violation === undefined ? {} : { violation }),
  });
}

/** The exact refusal that the SDK's own helper retries (agents-api.md 5.4, 8). */
export function unknownCall(callId: string, violation?: string): ApiError {
  return new ApiError(400, `Unknown pending tool call: ${callId}`, {
    type: 'invalid_request_error',
    code: 'invalid_request_error',
    ...(violation === undefined ? {} : { violation }),
  });
}
