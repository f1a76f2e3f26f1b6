/**
 * Messages that reach a running task. Handlers check, record and answer at once; the loop acts (I8): an update
 * that waited for a turn would lock out the person who must decide something in it.
 */
import {
  ApplicationFailure,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';

import { TOOL_OUTCOME_SIGNAL } from '../src/protocol/activities.ts';
import { callKey, type ToolResult } from '../src/protocol/calls.ts';
import { checkResolveCall } from '../src/protocol/guards.ts';
import {
  FAILURE,
  type PendingDecision,
  type ResolveCallInput,
  type ResolveCallResult,
  type TaskStatus,
} from '../src/protocol/task.ts';
import { failed, succeeded, toldOutcome } from '../src/protocol/told-result.ts';
import type { OpenCall } from './call-book.ts';
import type { TaskState } from './task-state.ts';

const statusQuery = defineQuery<TaskStatus>('status');
const pendingQuery = defineQuery<PendingDecision[]>('pending');
const resolveCallUpdate = defineUpdate<ResolveCallResult, [ResolveCallInput]>('resolveCall');
const toolOutcomeSignal = defineSignal<[unknown]>(TOOL_OUTCOME_SIGNAL);

/** Sets all handlers. `changed` wakes the loop. */
export function handleMessages(state: TaskState, changed: () => void): void {
  setHandler(statusQuery, () => state.status(), {
    description: 'Where the task stands, its calls and its turns.',
  });
  setHandler(pendingQuery, () => state.calls.pending(), {
    description: 'Calls that wait for a person (resolveCall).',
  });

  setHandler(
    resolveCallUpdate,
    (input) => {
      const call = find(state, input);
      if (typeof call === 'string') throw invalid(call);
      decide(state, call, input);
      changed();
      const { turn_id, call_id } = call.planned;
      return { turn_id, call_id, action: input.action, state: 'recorded' };
    },
    {
      description:
        'Answers for a call whose outcome is unknown: give its result, run it again, or report failure.',
      validator: (input) => {
        const problem = checkResolveCall(input);
        if (problem) throw invalid(problem);
        const call = find(state, input);
        if (typeof call === 'string') throw invalid(call);
        if (!call.asked)
          throw invalid('call_id: its outcome has only just become unknown; answer in a second');
      },
    },
  );

  setHandler(
    toolOutcomeSignal,
    (value) => {
      // What does not fit is ignored, never an error: the workflow task would fail.
      const outcome = toldOutcome(value);
      const call = outcome && state.calls.get(callKey(outcome));
      if (!call || call.run_no !== outcome.run_no) return;
      if (state.calls.save(call, outcome.result, Date.now())) changed();
    },
    { description: 'Sent by a tool that ended after its attempt was given up.' },
  );
}

/** The call that the input means, or a sentence that says why there is none. */
function find(state: TaskState, input: ResolveCallInput): OpenCall | string {
  const matching = state.calls
    .inState('unknown')
    .filter(({ planned }) => planned.call_id === input.call_id)
    .filter(({ planned }) => input.turn_id === undefined || planned.turn_id === input.turn_id);
  const [call] = matching;
  if (call && matching.length === 1) return call;
  if (call) return 'turn_id: several calls have this call_id; say which turn is meant';
  const waiting = state.calls.asked().map(({ planned }) => planned.call_id);
  return `call_id: no call ${JSON.stringify(input.call_id.slice(0, 80))} waits for a decision; waiting: ${waiting.join(', ') || 'none'}`;
}

function decide(state: TaskState, call: OpenCall, input: ResolveCallInput): void {
  if (input.action === 'run_again') state.calls.runAgain(call);
  else state.calls.save(call, resultOf(input), Date.now());
}

function resultOf({ action, error, output }: ResolveCallInput): ToolResult {
  if (action !== 'report_failure') return succeeded(output);
  return failed(error ?? 'The outcome of this call is unknown. Treat it as failed.');
}

function invalid(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, FAILURE.invalidInput);
}
