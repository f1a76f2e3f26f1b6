/**
 * Named places between two durable facts, where a test may stop the process. In production nothing listens and a
 * fault point is one comparison. `HOLDFAST_FAULT` arms them in a worker process (see `src/worker/faults.ts`).
 * The `result.recorded`, `run.…` and `task.…` points lie in workflow code, which only a worker armed that way
 * watches (see `workflows/fault-points.ts`).
 */
export const FAULT_POINTS = [
  'session.before_create',
  'session.created',
  'session.before_record',
  'stream.opened',
  'input.posted',
  'item.seen',
  'follow.before_return',
  'tool.before_fence',
  'tool.after_fence',
  'tool.after_effect',
  'tool.before_return',
  'result.recorded',
  'result.before_post',
  'result.posted',
  'post.before_return',
  'run.before_continue',
  'run.continued',
  'turn.ended',
  'task.before_end',
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

type Listener = (point: FaultPoint) => void;
let listener: Listener | null = null;

/** Passes a named place. Does nothing unless a test listens. */
export function faultPoint(point: FaultPoint): void {
  listener?.(point);
}

/** Sets the one listener, or removes it with null. */
export function onFaultPoint(next: Listener | null): void {
  listener = next;
}
