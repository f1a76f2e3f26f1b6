/**
 * An effect `once` tool in a run that an operator's reset has made (I2): what the run before it executed stands in
 * the history that was left behind, and is not executed again.
 */
import { Context } from '@temporalio/activity';

import type { ToolActivity } from '../src/protocol/activities.ts';
import { toolUnknown } from '../src/tools/tool-failures.ts';
import { FormerRuns } from './former-runs.ts';

/** Wraps the activity of a tool; `once` says what its definition says. A former result is given again; one that is not known yet is unknown. */
export function afterReset(tool: ToolActivity, once: boolean): ToolActivity {
  return async (args, call) => {
    const { former_runs_from: fromRun } = call;
    const looksBack = call.mode === 'execute' && (once || call.effect === 'once');
    if (fromRun === undefined || !looksBack) return tool(args, call);
    const { client, info } = Context.current();
    const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
    const former = await (await FormerRuns.read(client, workflowId, runId)).execution(call, fromRun);
    if (former === null) return tool(args, call);
    if (former.kind === 'unknown') throw toolUnknown('it had started before the task was reset');
    return { result: former.result, attempt: info.attempt };
  };
}
