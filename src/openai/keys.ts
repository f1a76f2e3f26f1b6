/** Keys that name a piece of work at the service, the same from whatever process they are derived. */
import { createHash } from 'node:crypto';

function digest(parts: readonly string[], length: number): string {
  // Length-prefixed, so that no two lists of parts run together.
  const joined = parts.map((part) => `${part.length}:${part}`).join('');
  return createHash('sha256').update(joined).digest('hex').slice(0, length);
}

/**
 * The key of a task's session (I1): the first run id survives continue-as-new and reset, and changes when a
 * workflow id is used again.
 */
export function sessionKey(namespace: string, workflowId: string, firstRunId: string): string {
  return digest([namespace, workflowId, firstRunId], 40);
}

/** The key of a call, for the tool's own use and for the post of its result (I2, agents-api.md 5.6). */
export function callIdempotencyKey(sessionId: string, turnId: string, callId: string): string {
  return `hf_${digest([sessionId, turnId, callId], 40)}`;
}

/**
 * The key of a posted result. It covers the bytes: after a refusal another result goes out for the same call, and
 * a key must never be used again with another body. `repeat` counts the posts that had no effect.
 */
export function resultPostKey(
  sessionId: string,
  turnId: string,
  callId: string,
  body: string,
  repeat = 0,
): string {
  const parts = [sessionId, turnId, callId, body];
  return `hf_${digest(repeat === 0 ? parts : [...parts, String(repeat)], 40)}`;
}
