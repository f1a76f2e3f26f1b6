/**
 * Messages that reach a running task. Handlers check, record and answer at once; the loop acts (I8): an update
 * that waited for a turn would lock out the person who must decide something in it.
 */
import {
  defineQuery,
  defineSignal,
  defineUpdate,
  setDefaultSignalHandler,
  setHandler,
  type ApplicationFailure,
} from '@temporalio/workflow';

import { TOOL_OUTCOME_SIGNAL } from '../src/protocol/activities.ts';
import { callKey, type ToolResult } from '../src/protocol/calls.ts';
import { checkResolveCall } from '../src/protocol/guards.ts';
import { redact } from '../src/protocol/secrets.ts';
import { nearest } from '../src/protocol/suggest.ts';
import {
  FAILURE,
  type PendingDecision,
  type ResolveCallInput,
  type ResolveCallResult,
  type TaskStatus,
} from '../src/protocol/task.ts';
import { oneLine } from '../src/protocol/text.ts';
import { failed, succeeded, toldOutcome } from '../src/protocol/told-result.ts';
import type { OpenCall } from './call-book.ts';
import { plainFailure } from './plain-failure.ts';
import type { TaskState } from './task-state.ts';

const statusQuery = defineQuery<TaskStatus>('status');
const pendingQuery = defineQuery<PendingDecision[]>('pending');
const resolveCallUpdate = defineUpdate<ResolveCallResult, [ResolveCallInput]>('resolveCall');
const UPDATES = [resolveCallUpdate.name];
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
      validator: (...args) => {
        const problem = checkResolveCall(args);
        if (problem) throw invalid(problem);
        const call = find(state, args[0]);
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
      if (!outcome) return state.ignore(TOOL_OUTCOME_SIGNAL, "it does not hold a tool's outcome");
      const call = state.calls.get(callKey(outcome));
      if (!call || call.run_no !== outcome.run_no)
        return state.ignore(TOOL_OUTCOME_SIGNAL, 'no open call has these ids and this run');
      if (state.calls.save(call, outcome.result, Date.now())) changed();
    },
    { description: 'Sent by a tool that ended after its attempt was given up.' },
  );

  // The last, as it takes every signal that has come so far and has no handler of its own.
  setDefaultSignalHandler((name) => {
    const update = nearest(name, UPDATES);
    const remedy = update === null ? '' : `; "${update}" is an update: temporal workflow update execute`;
    state.ignore(name, `a task knows no signal of this name${remedy}`);
  });
}

/** The call that the input means, or a sentence that says why there is none. */
function find(state: TaskState, input: ResolveCallInput): OpenCall | string {
  const called = state.calls.inState('unknown').filter(({ planned }) => planned.call_id === input.call_id);
  const matching = called.filter(
    ({ planned }) => input.turn_id === undefined || planned.turn_id === input.turn_id,
  );
  const [call] = matching;
  if (!call && called[0])
    return `turn_id: the call belongs to another turn, ${called[0].planned.turn_id}; it may be left out`;
  if (call && matching.length === 1) return call;
  if (call) return 'turn_id: several calls have this call_id; say which turn is meant';
  const waiting = state.calls.asked().map(({ planned }) => planned.call_id);
  return `call_id: no call ${JSON.stringify(oneLine(input.call_id, 60))} waits for a decision; waiting: ${waiting.join(', ') || 'none'}`;
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
  return plainFailure(FAILURE.invalidInput, redact(problem));
}
