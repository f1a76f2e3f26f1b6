/** Requests to the Temporal server about an execution that has ended: an outage must not lose what is known of it. */
import { setTimeout as wait } from 'node:timers/promises';

import type { Context } from '@temporalio/activity';
import {
  ActivityCompletionError,
  isGrpcServiceError,
  isRetryableError,
  ServiceError,
} from '@temporalio/client';

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5000;
/** The client's own retries last about half a minute; a server that is away for longer than this is given up. */
const MAX_MS = 10 * 60_000;

/**
 * Makes a request until the server answers it, in whatever way. Throws the server's refusal, and what the client
 * threw last when the worker shuts down or ten minutes are over.
 */
export async function untilAnswered<T>(context: Context, request: () => Promise<T>): Promise<T> {
  const end = Date.now() + MAX_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      return await request();
    } catch (error) {
      const stopping = context.cancellationDetails?.workerShutdown === true;
      if (!isUnanswered(error) || stopping || Date.now() > end) throw error;
      await wait(pause);
    }
  }
}

/** Refusals that say something have classes of their own, or a code that no retry changes. */
function isUnanswered(error: unknown): boolean {
  if (error instanceof ActivityCompletionError) return true;
  if (!(error instanceof ServiceError)) return false;
  return !isGrpcServiceError(error.cause) || isRetryableError(error.cause);
}
