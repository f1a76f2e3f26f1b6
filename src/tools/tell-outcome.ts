import type { Context } from '@temporalio/activity';

import { TOOL_OUTCOME_SIGNAL, type ToolOutcome } from '../protocol/activities.ts';
import type { ToolCallInput, ToolResult } from '../protocol/calls.ts';
import { errorClass } from './tool-failures.ts';
import { untilAnswered } from './until-answered.ts';

/**
 * Tells the workflow by signal how an execution ended that the server no longer waits for. The first outcome wins
 * there. Never throws: what cannot be told is in the log.
 */
export async function tellOutcome(context: Context, call: ToolCallInput, result: ToolResult): Promise<void> {
  const { client, info, log } = context;
  const { session_id, turn_id, call_id, run_no, name: tool } = call;
  const { workflowId } = info.workflowExecution ?? {};
  if (workflowId === undefined) return;
  const ids = { session_id, turn_id, call_id, tool };
  const outcome: ToolOutcome = { turn_id, call_id, run_no, result };
  const handle = client.workflow.getHandle(workflowId);
  try {
    await untilAnswered(context, () => handle.signal(TOOL_OUTCOME_SIGNAL, outcome));
    log.info('a tool ended after it was given up; the task was told', ids);
  } catch (error) {
    log.warn('a tool ended after it was given up; the task could not be told', {
      ...ids,
      error: errorClass(error),
    });
  }
}
