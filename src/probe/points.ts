/**
 * S1–S14: the points of agents-api.md 12, where servers of this wire were seen to differ, in its order. H1–H5: what
 * Holdfast leans on beside.
 */
import { is, type Question } from './question.ts';

const UNKNOWN_CALL = '400 unknown_call';
/** After these a read tells what became of a result. */
const RECONCILED = ['taken', 'refused 409', `refused ${UNKNOWN_CALL}`];

export const POINTS: readonly Question[] = [
  {
    id: 'S1',
    question: 'Which status do an accepted create and an accepted input have?',
    assumption: '201 and 202.',
    holdfast: 'Any 2xx is success.',
    holds: (v) => is(v, 'create', '201') && is(v, 'events', '202') && is(v, 'result', '202'),
    safe: (v) => !(v['result'] ?? '').startsWith('refused'),
    harm: 'A result under the ids of its call is refused: no task with tools can go on.',
  },
  {
    id: 'S2',
    question: 'Do parallel calls appear together, and what changes with one answer?',
    assumption: 'Together; the session keeps requires_action until none is left.',
    holdfast: 'The calls are gathered until the turn waits; only required_actions says what is open.',
    holds: (v) => is(v, 'appear', 'together') && is(v, 'after_one_answer', 'requires_action'),
  },
  {
    id: 'S3',
    question: 'Can a message to a running turn be refused?',
    assumption: 'Not after the first turn.',
    holdfast: 'After a 409 it waits for the end of the turn.',
    holds: (v) => is(v, 'refused', 'no'),
    safe: (v) => (v['refused'] ?? '').startsWith('409'),
    harm: 'The message is reported as refused instead of being posted later.',
  },
  {
    id: 'S4',
    question: 'Does session.error outlive a failed turn?',
    assumption: 'It may.',
    holdfast: 'Only the turn says how it ended.',
    holds: () => true,
    unasked: 'there is no cheap way to make a turn fail',
  },
  {
    id: 'S5',
    question: 'What is left when the runtime of a session is lost?',
    assumption: 'A failed session that takes no input.',
    holdfast: 'The task fails as SessionFailed.',
    holds: () => true,
    unasked: 'a runtime cannot be lost from outside',
  },
  {
    id: 'S6',
    question: 'What does a result meet that is not awaited any more?',
    assumption: 'A repeat is taken; another result, and one after a cancel, get 409.',
    holdfast: 'After a 2xx, a 409 or an unknown call, reads tell whether the call is still required.',
    holds: (v) =>
      is(v, 'repeat', 'taken') &&
      is(v, 'repeat_after_end', 'taken') &&
      is(v, 'other_result', 'refused 409') &&
      is(v, 'after_cancel', 'refused 409'),
    safe: (v) =>
      ['repeat', 'repeat_after_end', 'after_cancel'].every((part) => is(v, part, ...RECONCILED)) &&
      !is(v, 'other_result', 'taken'),
    harm: 'A result whose answer was lost is taken for a bad one, or a second one replaces the first.',
  },
  {
    id: 'S7',
    question: 'What does a used key meet with another body?',
    assumption: '409 idempotency_conflict.',
    holdfast: 'Nothing depends on it: another body has another key.',
    holds: (v) => is(v, 'other_body', 'refused 409 idempotency_conflict'),
  },
  {
    id: 'S8',
    question: 'Does a key make creating a session safe to repeat?',
    assumption: 'No: each create makes a session.',
    holdfast: 'Nothing depends on it: an earlier session is looked for by its metadata.',
    holds: (v) => is(v, 'same_key', 'second_session'),
  },
  {
    id: 'S9',
    question: 'Does a turn fail that waits too long for a tool?',
    assumption: 'It may.',
    holdfast: 'A waiting task looks at its turn from time to time; a late result is reported.',
    holds: () => true,
    unasked: 'the time is not known, and may be hours',
  },
  {
    id: 'S10',
    question: 'How many streams may a session have at once?',
    assumption: '64.',
    holdfast: 'A task opens one, and closes it when it waits.',
    holds: (v) => is(v, 'streams', '64'),
    safe: (v) => !is(v, 'streams', '1'),
    harm: 'A stream that is opened anew can be refused while the old one is not closed yet.',
  },
  {
    id: 'S11',
    question: 'What comes first in a turn: the user item or session.in_progress?',
    assumption: 'The user item.',
    holdfast: 'Nothing depends on the order of events.',
    holds: (v) => is(v, 'first', 'user_item'),
  },
  {
    id: 'S12',
    question: 'What does a new message hold when it is shown first?',
    assumption: 'No part.',
    holdfast: 'Text is taken from the saved item.',
    holds: (v) => is(v, 'new_message', 'no_part'),
  },
  {
    id: 'S13',
    question: 'What do a limit out of range and an unknown query key meet?',
    assumption: 'Clamped for sessions and items, 400 for turns; unknown keys are ignored.',
    holdfast: 'Nothing depends on it: only documented values are sent.',
    holds: (v) =>
      is(v, 'sessions_limit', 'clamped') &&
      is(v, 'items_limit', 'clamped') &&
      is(v, 'turns_limit', 'refused 400') &&
      is(v, 'sessions_key', 'ignored') &&
      is(v, 'items_key', 'ignored'),
  },
  {
    id: 'S14',
    question: 'How is an unknown session refused?',
    assumption: '404 not_found_error.',
    holdfast: 'The status 404, seen twice, says that a session is gone.',
    holds: (v) => is(v, 'status', '404') && is(v, 'code', 'not_found_error'),
    safe: (v) => is(v, 'status', '404'),
    harm: 'A session that is gone is not recognised: its task fails with another error, or goes on asking.',
  },
  {
    id: 'H1',
    question: 'How soon is a new session in the lists?',
    assumption: 'At once.',
    holdfast: 'After a lost create both lists are looked at for 3.5 seconds, and swept later.',
    holds: (v) => is(v, 'by_metadata', 'at_once') && is(v, 'newest', 'at_once'),
    safe: (v) => ['by_metadata', 'newest'].some((part) => v[part] === 'at_once' || v[part] === 'later'),
    harm: 'A session whose create was lost is not found: a second one is made, and the first swept minutes later.',
  },
  {
    id: 'H2',
    question: 'What does deleting do?',
    assumption: '409 while a turn runs; then the session is gone (404), its stream ends, a repeat is taken.',
    holdfast: 'The sweep cancels, deletes, and repeats that; 404 counts as done.',
    holds: (v) =>
      is(v, 'busy', 'refused 409') &&
      is(v, 'read_after', '404') &&
      is(v, 'stream', 'ends') &&
      is(v, 'again', 'taken'),
    safe: (v) => is(v, 'read_after', '404') && is(v, 'again', 'taken', 'refused 404'),
    harm: 'A deleted session is not recognised as gone.',
  },
  {
    id: 'H3',
    question: 'Does a cancel end the turn as cancelled, and do nothing to an idle session?',
    assumption: 'Yes.',
    holdfast: 'A cancelled task posts it until it takes effect, and waits, bounded, for the end of the turn.',
    holds: (v) => is(v, 'turn', 'cancelled') && is(v, 'idle', 'taken'),
    safe: (v) => is(v, 'turn', 'cancelled', 'completed'),
    harm: 'A cancelled task leaves its turn running at the server.',
  },
  {
    id: 'H4',
    question: 'How is a result for an unknown call refused?',
    assumption: '400 "Unknown pending tool call".',
    holdfast: 'The same bytes are tried again for a second, then reads decide.',
    holds: (v) => is(v, 'unknown_call', `refused ${UNKNOWN_CALL}`),
    safe: (v) => is(v, 'unknown_call', 'refused 409'),
    harm: 'A result that comes before its call is registered is taken for a bad one, and replaced by a failure.',
  },
  {
    id: 'H5',
    question: 'When is the usage of a turn known?',
    assumption: 'Not in its last event; a read shows it within seconds.',
    holdfast: 'It is waited for half a second, then reported as unknown.',
    holds: (v) => is(v, 'in_event', 'null') && is(v, 'read', 'shown'),
  },
];
