/**
 * The fault points of workflow code, as interceptors, so that the workflow itself knows nothing of them. Only a
 * worker armed by `HOLDFAST_FAULT` loads this module. A passed point is reported when the workflow task is done
 * and not yet answered: what the point says was decided, and the server does not know it.
 */
import {
  ContinueAsNew,
  proxySinks,
  workflowInfo,
  type Sinks,
  type WorkflowInterceptors,
  type WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';

import { ACTIVITY, type Activities } from '../src/protocol/activities.ts';
import { AGENT_TASK } from '../src/protocol/task.ts';

export interface FaultSinks extends Sinks {
  holdfastFaults: {
    passed(point: 'result.recorded' | 'run.before_continue' | 'run.continued' | 'task.before_end'): void;
  };
}

type PostingInput = Parameters<Activities['holdfast.followTurn' | 'holdfast.postInput']>[0];
type ScheduleActivity = NonNullable<WorkflowOutboundCallsInterceptor['scheduleActivity']>;

/** Looked up by this name. @public */
export function interceptors(): WorkflowInterceptors {
  const { holdfastFaults } = proxySinks<FaultSinks>();
  // The lock of a session is a workflow of this worker, too.
  if (workflowInfo().workflowType !== AGENT_TASK) return {};
  const scheduleActivity: ScheduleActivity = async (input, next) => {
    const { activityType, args } = input;
    if (activityType === ACTIVITY.followTurn || activityType === ACTIVITY.postInput) {
      const [{ postings }] = args as [PostingInput];
      if (postings.some(({ kind }) => kind === 'tool_result')) holdfastFaults.passed('result.recorded');
    }
    return next(input);
  };
  return {
    inbound: [
      {
        async execute(input, next) {
          if (workflowInfo().continuedFromExecutionRunId !== undefined)
            holdfastFaults.passed('run.continued');
          try {
            const result = await next(input);
            holdfastFaults.passed('task.before_end');
            return result;
          } catch (error) {
            if (!(error instanceof ContinueAsNew)) holdfastFaults.passed('task.before_end');
            throw error;
          }
        },
      },
    ],
    outbound: [
      {
        scheduleActivity,
        async continueAsNew(input, next) {
          holdfastFaults.passed('run.before_continue');
          return next(input);
        },
      },
    ],
  };
}
