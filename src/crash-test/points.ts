/**
 * The places at which a crash test kills a worker. `tool` points concern one tool and are tried with each of them;
 * `agent` points lie around the tools and are tried once with all tools of an agent.
 */
import type { FaultPoint } from '../faults/fault-point.ts';

/** The fault points of a worker, and one in the middle of the tool's own code, which has none. */
export type CrashPoint = FaultPoint | 'tool.running';

interface PointFacts {
  scope: 'agent' | 'tool';
  /** Where it lies, for people: "the worker was killed …". */
  when: string;
}

const POINTS: Readonly<Record<CrashPoint, PointFacts>> = {
  'session.before_create': { scope: 'agent', when: 'before the session was created' },
  'session.created': { scope: 'agent', when: 'after the session was created, before that was recorded' },
  'session.before_record': { scope: 'agent', when: 'before the session was recorded' },
  'stream.opened': { scope: 'agent', when: 'after the event stream was opened' },
  'input.posted': { scope: 'agent', when: 'after the message was posted to an existing session' },
  'item.seen': { scope: 'agent', when: 'after an item had come' },
  'follow.before_return': { scope: 'agent', when: 'before a new call was recorded' },
  'tool.before_fence': { scope: 'tool', when: 'before the tool was started' },
  'tool.after_fence': { scope: 'tool', when: 'after the start was recorded, before the tool did anything' },
  'tool.running': { scope: 'tool', when: 'in the middle of the tool' },
  'tool.after_effect': { scope: 'tool', when: 'after the tool had returned' },
  'tool.before_return': { scope: 'tool', when: 'before the result was recorded' },
  'result.recorded': { scope: 'tool', when: 'while the result was being recorded' },
  'result.before_post': { scope: 'tool', when: 'before the result was posted' },
  'result.posted': { scope: 'tool', when: 'after the result was posted' },
  'post.before_return': { scope: 'agent', when: 'after a result was posted beside another call' },
  'run.before_continue': { scope: 'agent', when: 'before the task continued as new' },
  'run.continued': { scope: 'agent', when: 'after the task had continued as new' },
  'turn.ended': { scope: 'agent', when: 'after the turn had ended, before the answer was read' },
  'task.before_end': { scope: 'agent', when: 'before the end of the task was recorded' },
};

/** Every point, in the order in which a task passes them. */
export const CRASH_POINTS = Object.keys(POINTS) as readonly CrashPoint[];

export function scopeOf(point: CrashPoint): 'agent' | 'tool' {
  return POINTS[point].scope;
}

export function whenOf(point: CrashPoint): string {
  return POINTS[point].when;
}

export function isCrashPoint(name: string): name is CrashPoint {
  return Object.hasOwn(POINTS, name);
}
