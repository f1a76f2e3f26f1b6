/**
 * The end of an effect `once` tool is reported by a request of its own, and its answer is waited for. The SDK
 * reports in the background, after heartbeats that may hang in retries for longer than the server waits: the
 * outcome of an execution could then be lost although it is known here.
 */
import { CompleteAsyncError, Context } from '@temporalio/activity';
import { ActivityNotFoundError, type Client } from '@temporalio/client';

import type { ToolActivity } from '../protocol/activities.ts';
import type { ToolCallInput, ToolExecution, ToolResult } from '../protocol/calls.ts';
import { tellOutcome } from './tell-outcome.ts';
import { isToolFailed } from './tool-failures.ts';
import { untilAnswered } from './until-answered.ts';

type Request = (activity: Client['activity'], token: Uint8Array) => Promise<void>;

/**
 * Wraps the activity of a tool; `once` says what its definition says. An end that the server no longer waits for is
 * told by signal. Throws CompleteAsyncError when the end has been reported, and leaves it to the SDK when the
 * server refuses the report.
 */
export function acknowledgedEnd(tool: ToolActivity, once: boolean): ToolActivity {
  return async (args, call) => {
    if (call.mode !== 'execute' || !(once || call.effect === 'once')) return tool(args, call);
    const context = Context.current();
    try {
      const execution = (await tool(args, call)) as ToolExecution;
      const complete: Request = (activity, token) => activity.complete(token, execution);
      if (!(await reported(context, call, complete, execution.result))) return execution;
    } catch (error) {
      if (!isToolFailed(error)) throw error;
      const fail: Request = (activity, token) => activity.fail(token, error);
      if (!(await reported(context, call, fail, { success: false, error: error.message }))) throw error;
    }
    throw new CompleteAsyncError();
  };
}

/** False when the server answers, and does not take the report. */
async function reported(
  context: Context,
  call: ToolCallInput,
  report: Request,
  result: ToolResult,
): Promise<boolean> {
  const { activity } = context.client;
  const { taskToken } = context.info;
  try {
    try {
      await report(activity, taskToken);
    } catch (error) {
      if (error instanceof ActivityNotFoundError) throw error;
      // No answer, or a refusal for what it is: a heartbeat is small enough to tell the two apart.
      await untilAnswered(context, () => activity.heartbeat(taskToken, { started: true })).catch(unlessGone);
      await report(activity, taskToken);
    }
  } catch (error) {
    if (!(error instanceof ActivityNotFoundError)) return false;
    await tellOutcome(context, call, result);
  }
  return true;
}

/** A heartbeat may be answered with news (cancelled, paused): the end can be reported all the same. */
function unlessGone(error: unknown): void {
  if (error instanceof ActivityNotFoundError) throw error;
}
