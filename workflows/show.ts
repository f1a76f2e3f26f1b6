/** Shows a task to people: current details in the Web UI, search attributes in lists. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

import { SEARCH_ATTRIBUTES, type TaskState as StateName } from '../src/protocol/task.ts';
import { currentDetails } from './details.ts';
import type { TaskState } from './task-state.ts';

const STATE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);
const SESSION_ID = defineSearchAttributeKey(SEARCH_ATTRIBUTES.sessionId, SearchAttributeType.KEYWORD);
const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);

/** Call it after every change. Details cost nothing; search attributes, an event each, are written when they differ. */
export function show(state: TaskState): void {
  setCurrentDetails(currentDetails(state));
  const { opened } = state;
  if (!opened?.search_attributes) return;
  // A tool round is not worth two events: it counts as working.
  const name = state.name === 'running_tools' ? searchedAs(state) : state.name;
  const known = workflowInfo().typedSearchAttributes;
  if (known.get(STATE) === name) return;
  upsertSearchAttributes([
    { key: STATE, value: name },
    ...(known.get(SESSION_ID) === opened.session_id
      ? []
      : [
          { key: SESSION_ID, value: opened.session_id },
          { key: AGENT, value: opened.label },
        ]),
  ]);
}

/**
 * A call of unknown outcome is found as waiting before a person is asked about it: nothing is to be written when the
 * asking begins, see `ASK_AFTER_MS`.
 */
function searchedAs({ calls }: TaskState): StateName {
  return calls.inState('unknown').length > 0 ? 'waiting_for_person' : 'working';
}
