/** Whether this run was made by an operator's reset: it then lacks what happened after the point of the reset. */
import { workflowInfo } from '@temporalio/workflow';

/** True in a run that a reset has made. The run that continues such a one as new has lost nothing. */
export function wasReset(): boolean {
  const { runId, originalExecutionRunId } = workflowInfo();
  return runId !== originalExecutionRunId;
}
