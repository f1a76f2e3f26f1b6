/** What may end a tool before it ends by itself: its time limit, a cancellation, the worker's shutdown. */
import type { Context } from '@temporalio/activity';

export type StopReason = 'limit' | 'cancel' | 'shutdown';

export interface Stop<Reason extends StopReason> {
  /** Resolves when the tool is to stop; never rejects. */
  promise: Promise<Reason>;
  clear(): void;
}

/** Node's timers take at most this; longer limits are kept by Temporal alone. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms`. */
export function timeLimit(ms: number): Stop<'limit'> {
  const { promise, resolve } = withResolvers<'limit'>();
  const handle = setTimeout(() => resolve('limit'), Math.min(ms, MAX_TIMER_MS));
  return { promise, clear: () => clearTimeout(handle) };
}

/**
 * Resolves when the activity is cancelled. A `once` tool is not stopped because the server gave it up, paused or
 * reset it: finishing tells more than an abort would.
 */
export function cancellation(context: Context, once: boolean): Stop<'cancel' | 'shutdown'> {
  const { cancellationSignal: signal } = context;
  const { promise, resolve } = withResolvers<'cancel' | 'shutdown'>();
  const look = (): void => {
    const details = context.cancellationDetails;
    if (details?.workerShutdown) resolve('shutdown');
    else if (details?.cancelRequested || !once) resolve('cancel');
  };
  signal.addEventListener('abort', look, { once: true });
  if (signal.aborted) look();
  return { promise, clear: () => signal.removeEventListener('abort', look) };
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  const made: { resolve?: (value: T) => void } = {};
  const promise = new Promise<T>((resolve) => {
    made.resolve = resolve;
  });
  return { promise, resolve: (value) => made.resolve?.(value) };
}
