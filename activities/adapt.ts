import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';

import { Heartbeats } from '../src/tools/heartbeats.ts';
import { toFailure } from './failures.ts';

/** What an activity's work is given. */
export interface Adapted {
  context: Context;
  /** Aborts when the activity is really to stop: cancelled, given up, paused or reset. */
  signal: AbortSignal;
  /** Aborts when this worker shuts down: followers hand over, everything else just finishes. */
  shutdown: AbortSignal;
  heartbeats: Heartbeats;
}

/** Runs an activity's work with heartbeats and signals of its own, and turns API errors into failures. */
export async function adapt<T>(
  workerShutdown: AbortSignal,
  work: (adapted: Adapted) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const cancel = new AbortController();
  const shutdown = new AbortController();
  const look = (): void => {
    if (context.cancellationDetails?.workerShutdown) shutdown.abort();
    else cancel.abort(new CancelledFailure('cancelled'));
  };
  const { cancellationSignal } = context;
  cancellationSignal.addEventListener('abort', look, { once: true });
  if (cancellationSignal.aborted) look();
  const heartbeats = new Heartbeats(context);
  heartbeats.start();
  try {
    const either = AbortSignal.any([workerShutdown, shutdown.signal]);
    return await work({ context, signal: cancel.signal, shutdown: either, heartbeats });
  } catch (error) {
    throw toFailure(error, context.info.attempt);
  } finally {
    heartbeats.stop();
    cancellationSignal.removeEventListener('abort', look);
  }
}
