/**
 * The task as the Temporal server sees it, looked at a few times a second. Nothing here asks a worker, so it works
 * while there is none.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';

import { DemoError } from './demo-error.ts';

const EVERY_MS = 150;

/** An activity that a worker runs now. Times in ms since the epoch. */
export interface Running {
  id: string;
  name: string;
  summary: string;
  attempt: number;
  /** Process id of the worker: workers call themselves `pid@host`. */
  pid: number;
  /** What this attempt has told; null before its first heartbeat. */
  heartbeat: Record<string, unknown> | null;
}

/** An activity that has completed: a fact in the workflow's history. */
export interface Completed {
  eventId: number;
  name: string;
  summary: string;
  result: unknown;
}

export interface Sight {
  running: Running[];
  completed: Completed[];
  lastEventId: number;
  /** The workflow has ended, in whatever way. */
  ended: boolean;
}

type Found<T> = T | undefined | null | false;
type Description = Awaited<ReturnType<WorkflowHandle['describe']>>;
type Pending = NonNullable<Description['raw']['pendingActivities']>[number];
type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];

export interface TaskWatchOptions {
  handle: WorkflowHandle;
  /** Called with every look, before anything is concluded from it. */
  onSight: (sight: Sight) => void;
  /** Called with every look; throws when waiting has no point any more. */
  check: () => Promise<void>;
  /** How long a condition may take, in ms. */
  limitMs: number;
  signal: AbortSignal;
}

export class TaskWatch {
  readonly #options: TaskWatchOptions;

  constructor(options: TaskWatchOptions) {
    this.#options = options;
  }

  /**
   * Looks until `find` finds something, which it returns.
   * @param what completes "the task ended before …" and "… did not come"
   * @throws DemoError when the task ends first, or time runs out; the reason of `signal` when it aborts
   */
  async until<T>(what: string, find: (sight: Sight) => Found<T> | Promise<Found<T>>): Promise<T> {
    const { signal, limitMs, check } = this.#options;
    const end = Date.now() + limitMs;
    for (;;) {
      signal.throwIfAborted();
      await check();
      const sight = await this.look();
      const found = await find(sight);
      if (found !== undefined && found !== null && found !== false) return found;
      if (sight.ended) throw new DemoError(`the task ended before ${what}`);
      if (Date.now() > end) throw new DemoError(`waited ${limitMs / 1000} s in vain until ${what}`);
      await sleep(EVERY_MS, undefined, { signal });
    }
  }

  /** One look. */
  async look(): Promise<Sight> {
    const { handle, onSight } = this.#options;
    // In this order: what has completed in between is then seen as completed, and not as lost.
    const description = await handle.describe();
    const { events } = await handle.fetchHistory();
    const scheduled = new Map<number, { id: string; name: string; summary: string }>();
    const completed: Completed[] = [];
    for (const event of events ?? []) {
      const { activityTaskScheduledEventAttributes: begun, activityTaskCompletedEventAttributes: done } =
        event;
      if (begun) {
        scheduled.set(Number(event.eventId), {
          id: begun.activityId ?? '',
          name: begun.activityType?.name ?? '',
          summary: text(decode(event.userMetadata?.summary)),
        });
      }
      const what = done ? scheduled.get(Number(done.scheduledEventId)) : undefined;
      if (what) {
        const result = decode(done?.result?.payloads?.[0]);
        completed.push({ eventId: Number(event.eventId), name: what.name, summary: what.summary, result });
      }
    }
    const summaries = new Map([...scheduled.values()].map(({ id, summary }) => [id, summary]));
    const sight: Sight = {
      running: (description.raw.pendingActivities ?? []).flatMap((each) => running(each, summaries)),
      completed,
      lastEventId: Number(events?.at(-1)?.eventId ?? 0),
      ended: description.status.name !== 'RUNNING',
    };
    onSight(sight);
    return sight;
  }
}

/** PENDING_ACTIVITY_STATE_STARTED of Temporal's API. */
const STARTED = 2;

function running(pending: Pending, summaries: ReadonlyMap<string, string>): Running[] {
  if (Number(pending.state) !== STARTED) return [];
  const id = pending.activityId ?? '';
  const startedAt = optionalTsToMs(pending.lastStartedTime) ?? 0;
  const heartbeatAt = optionalTsToMs(pending.lastHeartbeatTime) ?? 0;
  // A new attempt is handed the details of the lost one: those are not its own.
  const own = heartbeatAt >= startedAt;
  return [
    {
      id,
      name: pending.activityType?.name ?? '',
      summary: summaries.get(id) ?? '',
      attempt: pending.attempt ?? 1,
      pid: Number.parseInt(pending.lastWorkerIdentity ?? '', 10) || 0,
      heartbeat: own ? (decode(pending.heartbeatDetails?.payloads?.[0]) as Running['heartbeat']) : null,
    },
  ];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function decode(payload: Payload | null | undefined): unknown {
  return payload ? defaultPayloadConverter.fromPayload(payload) : null;
}
