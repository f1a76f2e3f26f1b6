import { workflowInfo } from '@temporalio/workflow';

import { AGENT_TASK, FAILURE } from '../src/protocol/task.ts';
import { oneLine } from '../src/protocol/text.ts';
import { plainFailure } from './plain-failure.ts';

/**
 * Stands for every workflow type that does not exist here, for example `AgentTask`: what somebody has mistyped fails
 * at once and says so, where else its workflow task would fail again and again. A child was started by a newer
 * version of this code, and waits for a worker of that version.
 */
export async function unknownType(): Promise<never> {
  const { workflowType, parent } = workflowInfo();
  const shown = JSON.stringify(oneLine(workflowType, 60));
  if (parent) throw new Error(`this worker has no workflow ${shown}: it waits for one that has`);
  return Promise.reject(
    plainFailure(
      FAILURE.invalidInput,
      `workflow type: there is no ${shown}, a task is started with "${AGENT_TASK}"`,
    ),
  );
}
