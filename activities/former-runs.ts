/**
 * What an operator's reset has taken out of a task's history (I1, I2). The new run knows nothing of what the one
 * before it did after that point; the effects and the session are there all the same. So an activity that must not
 * do its work twice looks into the histories that were left: a reset names the run that it was made from.
 */
import type { Client } from '@temporalio/client';
import { ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';

import { hasStarted, TOOL_FAILURE, TOOL_OUTCOME_SIGNAL } from '../src/protocol/activities.ts';
import { callKey, type ToolExecution, type ToolResult } from '../src/protocol/calls.ts';
import { toldOutcome } from '../src/protocol/told-result.ts';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];
type Payloads = Parameters<typeof decodeArrayFromPayloads>[1];
type Scheduled = NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>;

/** A task that was reset more often is looked at in part; each look costs a history. */
const MAX_RUNS = 50;

/** How an execution that a reset left behind ended, as far as it is known. */
export type FormerExecution = { kind: 'result'; result: ToolResult } | { kind: 'unknown' };

export class FormerRuns {
  readonly #client: Client;
  readonly #runs: HistoryEvent[][];

  private constructor(client: Client, runs: HistoryEvent[][]) {
    this.#client = client;
    this.#runs = runs;
  }

  /** Reads what was left behind by the resets that led to a run. Throws when a history cannot be read. */
  static async read(client: Client, workflowId: string, runId: string): Promise<FormerRuns> {
    const runs: HistoryEvent[][] = [];
    const seen = new Set<string>();
    const visit = async (id: string, isLost: (event: HistoryEvent) => boolean): Promise<void> => {
      if (seen.has(id) || seen.size === MAX_RUNS) return;
      seen.add(id);
      const { events } = await client.workflow.getHandle(workflowId, id).fetchHistory();
      runs.push((events ?? []).filter(isLost));
      for (const event of events ?? []) {
        const base = event.workflowTaskFailedEventAttributes?.baseRunId;
        const point = Number(event.eventId);
        // Up to its point, a run that was reset stands in the present history as well.
        if (base) await visit(base, ({ eventId }) => Number(eventId) >= point);
      }
      const next = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
      if (next && id !== runId) await visit(next, () => true);
    };
    // Of the present run, what was told to it by signal.
    await visit(runId, (event) => Boolean(event.workflowExecutionSignaledEventAttributes));
    return new FormerRuns(client, runs);
  }

  /** What became of a call's executions from run number `fromRun` on; null when none of them started. */
  async execution(
    call: { turn_id: string; call_id: string },
    fromRun: number,
  ): Promise<FormerExecution | null> {
    const key = callKey(call);
    let found: FormerExecution | null = null;
    for (const events of this.#runs) {
      for (const event of events) {
        const end =
          (await this.#told(event, key, fromRun)) ?? (await this.#executed(event, events, key, fromRun));
        if (end?.kind === 'result') return end;
        found ??= end;
      }
    }
    return found;
  }

  /** The result of the first activity of a type that completed; undefined when none did. */
  async firstResult(activityType: string): Promise<unknown> {
    for (const events of this.#runs) {
      for (const event of events) {
        const scheduled = event.activityTaskScheduledEventAttributes;
        if (scheduled?.activityType?.name !== activityType) continue;
        const completed = endOf(event, events)?.activityTaskCompletedEventAttributes;
        if (completed) return this.#decode(completed.result?.payloads);
      }
    }
    return undefined;
  }

  /** An outcome that an execution told by itself. */
  async #told(event: HistoryEvent, key: string, fromRun: number): Promise<FormerExecution | null> {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName !== TOOL_OUTCOME_SIGNAL) return null;
    // Anybody may have sent it: one that cannot be decoded tells nothing.
    const outcome = toldOutcome(await this.#decode(signal.input?.payloads).catch(() => null));
    if (!outcome || callKey(outcome) !== key || outcome.run_no < fromRun) return null;
    return { kind: 'result', result: outcome.result };
  }

  async #executed(
    event: HistoryEvent,
    events: readonly HistoryEvent[],
    key: string,
    fromRun: number,
  ): Promise<FormerExecution | null> {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const run = scheduled && runNumber(scheduled, key);
    if (!run || run < fromRun) return null;
    const end = endOf(event, events);
    // It may still run: then it tells its end by itself.
    if (!end) return { kind: 'unknown' };
    const { activityTaskCompletedEventAttributes: completed } = end;
    if (completed) {
      const { result } = (await this.#decode(completed.result?.payloads)) as ToolExecution;
      return { kind: 'result', result };
    }
    const failure =
      end.activityTaskFailedEventAttributes?.failure ?? end.activityTaskTimedOutEventAttributes?.failure;
    // Cancelled while it waited for a worker.
    if (!failure) return null;
    const { loadedDataConverter } = this.#client.options;
    const error = await decodeOptionalFailureToOptionalError(loadedDataConverter, failure);
    if (error instanceof TimeoutFailure)
      return hasStarted(error.lastHeartbeatDetails) ? { kind: 'unknown' } : null;
    if (!(error instanceof ApplicationFailure)) return { kind: 'unknown' };
    if (error.type === TOOL_FAILURE.failed)
      return { kind: 'result', result: { success: false, error: error.message } };
    return error.type === TOOL_FAILURE.notStarted || error.type === 'NotFoundError'
      ? null
      : { kind: 'unknown' };
  }

  async #decode(payloads: Payloads): Promise<unknown> {
    const [value] = await decodeArrayFromPayloads(this.#client.options.loadedDataConverter, payloads);
    return value;
  }
}

/** The number in an activity id `<call key>/<run>`; null for another call's, and for a check. */
function runNumber({ activityId }: Scheduled, key: string): number | null {
  if (!activityId?.startsWith(`${key}/`)) return null;
  const rest = activityId.slice(key.length + 1);
  return /^\d+$/.test(rest) ? Number(rest) : null;
}

/** The event with which an activity ended in its run. */
function endOf({ eventId }: HistoryEvent, events: readonly HistoryEvent[]): HistoryEvent | undefined {
  return events.find((event) => {
    const end =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes;
    return end && Number(end.scheduledEventId) === Number(eventId);
  });
}
