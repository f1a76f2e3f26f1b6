/** A task's history, over all of its runs, read from the server: what a test knows without asking the workflow. */
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
export type HistoryEvent = NonNullable<History['events']>[number];

/** The events of every run of the chain that begins with `firstRunId`, in order. */
export async function chainHistory(
  client: Client,
  taskId: string,
  firstRunId: string,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (let runId: string | null | undefined = firstRunId; runId;) {
    const run: HistoryEvent[] = (await client.workflow.getHandle(taskId, runId).fetchHistory()).events ?? [];
    events.push(...run);
    runId = run.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return events;
}

/** The type of an event, for example `activityTaskStarted`. */
export function eventType(event: HistoryEvent): string {
  const key = Object.keys(event).find((name) => name.endsWith('EventAttributes')) ?? '';
  return key.replace(/EventAttributes$/, '');
}

/** When the server wrote an event, in ms since the epoch. */
export function eventMs(event: HistoryEvent): number {
  return Number(event.eventTime?.seconds ?? 0) * 1000 + (event.eventTime?.nanos ?? 0) / 1e6;
}

/** The timers of a history, in order: how long each was to take, in seconds, and whether it fired. */
export function timersOf(events: readonly HistoryEvent[]): { seconds: number; fired: boolean }[] {
  return events.flatMap(({ timerStartedEventAttributes: started }) => {
    if (!started) return [];
    const { seconds, nanos } = started.startToFireTimeout ?? {};
    const fired = events.some((event) => event.timerFiredEventAttributes?.timerId === started.timerId);
    return [{ seconds: Number(seconds ?? 0) + (nanos ?? 0) / 1e9, fired }];
  });
}

/** The server's number for a workflow task whose decision something new has overtaken. */
const UNHANDLED_COMMAND = 1;

/**
 * Why workflow tasks failed, in words. A task that would end, or continue as new, when something new comes in the
 * same moment is asked once more by the server: that is no fault.
 */
export function failedTasks(events: readonly HistoryEvent[]): string[] {
  return events.flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && Number(failed.cause) !== UNHANDLED_COMMAND
      ? [`${failed.cause}: ${failed.failure?.message}`]
      : [],
  );
}

/** Ids of the activities that were given up by a heartbeat timeout after the server had heard `started`. */
export function lostAfterStart(events: readonly HistoryEvent[]): string[] {
  return events.flatMap((event) => {
    const timedOut = event.activityTaskTimedOutEventAttributes;
    const [details] = timedOut?.failure?.timeoutFailureInfo?.lastHeartbeatDetails?.payloads ?? [];
    if (!timedOut || !details) return [];
    const heard = defaultPayloadConverter.fromPayload<{ started?: boolean } | null>(details);
    if (heard?.started !== true) return [];
    const scheduled = events.find(
      ({ eventId, activityTaskScheduledEventAttributes }) =>
        activityTaskScheduledEventAttributes && String(eventId) === String(timedOut.scheduledEventId),
    );
    return [scheduled?.activityTaskScheduledEventAttributes?.activityId ?? ''];
  });
}
