/** A call whose outcome nobody knows: noted at once, and a person is asked a moment later. */
import { sleep } from '@temporalio/workflow';

import type { OpenCall } from './call-book.ts';
import type { TaskContext } from './context.ts';

/**
 * How long an outcome is unknown before a person is asked. A tool may still tell its end by itself. And a worker
 * that answers a query out of turn has state that no workflow task has made durable: an answer to that, in the same
 * workflow task, could not be replayed. The timer proves that the one before was completed.
 */
const ASK_AFTER_MS = 1000;
const NOBODY_SAID =
  'The outcome of this call is unknown, and nobody has said how it ended: it may have taken effect.';

/** Notes that the outcome of a call is unknown, and why. */
export function loseOutcome(context: TaskContext, call: OpenCall, why: string): void {
  const since = Date.now();
  context.state.calls.lose(call, why, since);
  context.background(
    sleep(ASK_AFTER_MS, { summary: 'before a person is asked' }).then(() => {
      if (call.unknown_since === since) call.asked = true;
    }),
  );
  limitWait(context, call);
}

/** Where the worker has a limit, the model is told after it that nobody knows. Also for calls of an earlier run. */
export function limitWait(context: TaskContext, call: OpenCall): void {
  const { unknown_limit_ms: limit } = context.opened.settings;
  const { unknown_since: since, note } = call;
  if (since === null || limit === null || limit === undefined) return;
  context.background(
    sleep(Math.max(since + limit - Date.now(), 1), { summary: 'limit for a person to answer' }).then(() => {
      if (call.unknown_since !== since) return;
      context.state.calls.save(call, { success: false, error: NOBODY_SAID }, Date.now());
      call.note = `nobody answered in time: ${note}`;
    }),
  );
}
