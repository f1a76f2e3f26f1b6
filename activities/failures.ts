/** From an error of the API layer to what Temporal is to do about it. */
import { ApplicationFailure } from '@temporalio/common';

import { ApiError } from '../src/openai/api-error.ts';
import { FAILURE } from '../src/protocol/task.ts';
import { withoutStack } from '../src/protocol/without-stack.ts';
import { InvalidInputError } from '../src/schema/invalid-input.ts';

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;

/**
 * Temporal alone retries: an unavailable service after its own `Retry-After`, else later and later with jitter;
 * what a retry cannot change ends the activity with a plain sentence. The cause is left out (I11).
 */
export function toFailure(error: unknown, attempt: number): unknown {
  const failure = failureOf(error, attempt);
  return failure === null ? error : withoutStack(failure);
}

function failureOf(error: unknown, attempt: number): ApplicationFailure | null {
  if (error instanceof InvalidInputError)
    return ApplicationFailure.nonRetryable(error.message, FAILURE.invalidInput, { attempts: attempt });
  if (!(error instanceof ApiError)) return null;
  if (!error.retryable)
    return ApplicationFailure.nonRetryable(error.told, FAILURE.apiRefused, { attempts: attempt });
  const backoff = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 10), MAX_WAIT_MS);
  return ApplicationFailure.create({
    message: error.message,
    type: 'ApiUnavailable',
    nextRetryDelay: error.retryAfterMs ?? Math.round(backoff * (0.75 + Math.random() / 4)),
  });
}
