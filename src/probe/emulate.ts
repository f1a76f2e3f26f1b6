/**
 * From answers to the settings and permanent faults with which the emulator answers the same way. What no switch
 * plays is listed, so that nobody takes the emulator for what it is not.
 */
import type { FaultSpec, Settings } from '../emulator/index.ts';
import type { Measured, Values } from './question.ts';

export interface EmulatorPart {
  settings: Partial<Settings>;
  faults: FaultSpec[];
  /** Whether keys are checked: the emulator takes any, unless it is given the one to take. */
  check_key: boolean;
  /** Answers that the emulator does not give, as `Q1.part: value`. */
  cannot_play: string[];
}

export interface Answered {
  values: Values;
  measured: Measured;
}

const ALWAYS = { times: 0 } as const;
const CREATE = { method: 'POST', path: '/agents/sessions' };
const EVENTS = { method: 'POST', path: '/agents/sessions/{session_id}/events' };
const LISTS = {
  sessions: '/agents/sessions',
  items: '/agents/sessions/{session_id}/items',
  turns: '/agents/sessions/{session_id}/turns',
} as const;
/** Streams of one session, when more were taken than the probe opens. */
const MANY_STREAMS = 10_000;
const SMALL_RESULT = 262_143;
const HUGE_RESULT = 32 * 1024 * 1024;

type Rule = (out: EmulatorPart, values: Values, measured: Measured) => void;

/** `answers` by the id of their question; ids that are not known are passed by. */
export function emulatorFor(answers: Readonly<Record<string, Answered>>): EmulatorPart {
  const out: EmulatorPart = { settings: {}, faults: [], check_key: false, cannot_play: [] };
  for (const [id, rule] of Object.entries(RULES)) {
    const answer = answers[id];
    if (answer !== undefined) rule(out, answer.values, answer.measured);
  }
  return out;
}

/** Where the values decide by a table: the emulator's own answer adds nothing, and one that is not in it cannot be played. */
function choose(
  id: string,
  part: string,
  table: Readonly<Record<string, ((out: EmulatorPart, measured: Measured) => void) | null>>,
): Rule {
  return (out, values, measured) => {
    const value = values[part];
    if (value === undefined) return;
    const how = Object.hasOwn(table, value) ? table[value] : undefined;
    if (how === undefined) out.cannot_play.push(`${id}.${part}: ${value}`);
    else how?.(out, measured);
  };
}

function all(...rules: readonly Rule[]): Rule {
  return (out, values, measured) => {
    for (const rule of rules) rule(out, values, measured);
  };
}

function fault(spec: FaultSpec): (out: EmulatorPart) => void {
  return (out) => void out.faults.push({ ...spec, ...ALWAYS });
}

function set(settings: Partial<Settings>): (out: EmulatorPart) => void {
  return (out) => void Object.assign(out.settings, settings);
}

/** A status that is written into an answer's value, such as `refused 409`. */
function statusIn(value: string | undefined): number | null {
  const found = /\b([2-5]\d\d)\b/.exec(value ?? '');
  return found === null ? null : Number(found[1]);
}

/** The type and code of `type/code`, `none` standing for null. */
function errorIn(value: string | undefined): { type?: string | null; code?: string | null } {
  const [, type, code] = /^([^/]*)\/(.*)$/.exec(value ?? '') ?? [];
  if (type === undefined || code === undefined) return {};
  return { type: type === 'none' ? null : type, code: code === 'none' ? null : code };
}

const lags: Rule = (out, values, measured) => {
  const worst = (...parts: readonly string[]): number =>
    Math.max(
      ...parts.filter((part) => values[part] !== 'fresh').map((part) => measured[`${part}_ms`] ?? 0),
      0,
    );
  const session = worst('session_after_call', 'session_after_result', 'session_after_end');
  const turn = worst('turn_after_end');
  if (session > 0) fault({ kind: 'session_lag', ms: session })(out);
  if (turn > 0) fault({ kind: 'turn_lag', ms: turn })(out);
};

const keys: Rule = (out, values) => {
  const { no_key: noKey, wrong_key: wrongKey, no_beta: noBeta } = values;
  if (noKey === 'taken') out.cannot_play.push('Q17.no_key: taken');
  out.check_key = wrongKey !== undefined && wrongKey !== 'taken';
  if (noBeta === 'taken') fault({ kind: 'beta_ignored' })(out);
  else if (noBeta !== undefined && (noBeta !== '400' || values['no_beta_error'] !== OWN_BETA_ERROR)) {
    out.cannot_play.push(`Q17.no_beta: ${noBeta} ${values['no_beta_error'] ?? ''}`.trim());
  }
  const error = values['no_key_error'];
  if (noKey !== undefined && noKey !== 'taken' && (noKey !== '401' || error !== OWN_KEY_ERROR)) {
    fault({ kind: 'error_as', status: 401, as_status: Number(noKey), ...errorIn(error) })(out);
  }
  const same = wrongKey === noKey && values['wrong_key_error'] === error;
  if (out.check_key && !same) out.cannot_play.push(`Q17.wrong_key: ${wrongKey} unlike no key`);
};
const OWN_KEY_ERROR = 'invalid_request_error/none';
const OWN_BETA_ERROR = 'invalid_request_error/invalid_beta';

const statuses: Rule = (out, values) => {
  const { create, events, result } = values;
  if (create !== undefined && create !== '201') {
    fault({ kind: 'success_status', status: Number(create), match: CREATE })(out);
  }
  const posted = events ?? result;
  if (posted !== undefined && statusIn(posted) !== null && !posted.startsWith('refused')) {
    if (posted !== '202') fault({ kind: 'success_status', status: Number(posted), match: EVENTS })(out);
  }
  if (result !== undefined && result !== posted) out.cannot_play.push(`S1.result: ${result}`);
};

/** The three cases of a settled result, each with its refusal; the emulator repeats alike in and after a turn. */
const settled: Rule = (out, values) => {
  const rows = [
    ['repeat', 'repeat', 'taken'],
    ['other', 'other_result', 'refused 409'],
    ['dropped', 'after_cancel', 'refused 409'],
  ] as const;
  for (const [of, part, own] of rows) {
    const value = values[part];
    if (value === undefined || value === own) continue;
    if (value === 'refused 400 unknown_call') fault({ kind: 'refuse_when_settled', of })(out);
    else if (value === 'refused 409') fault({ kind: 'refuse_when_settled', of, status: 409 })(out);
    else out.cannot_play.push(`S6.${part}: ${value}`);
  }
  const { repeat, repeat_after_end: later } = values;
  if (later !== undefined && later !== repeat) out.cannot_play.push(`S6.repeat_after_end: ${later}`);
};

/** Taken in the first turn, a message is treated there as in any other. */
const messages: Rule = (out, values, measured) => {
  choose('Q6', 'later_turn', {
    joins: null,
    next_turn: fault({ kind: 'steering_queued' }),
    'refused 409': fault({ kind: 'steering_refused' }),
  })(out, values, measured);
  const { first_turn: first, later_turn: later } = values;
  if (first === undefined || first === 'refused 409') return;
  if (first === 'joins' || first === 'next_turn') set({ firstTurnSteering: true })(out);
  if (first !== (later ?? 'joins')) out.cannot_play.push(`Q6.first_turn: ${first}`);
};

const steering: Rule = (out, values) => {
  const { refused, retry } = values;
  if (refused === undefined || refused === 'no') return;
  if (!out.faults.some(({ kind }) => kind === 'steering_refused')) fault({ kind: 'steering_refused' })(out);
  if (refused !== OWN_STEERING || retry !== 'false') out.cannot_play.push(`S3.refused: ${refused}, ${retry}`);
};
const OWN_STEERING = '409 active_turn_not_steerable';

const otherBody: Rule = (out, values) => {
  const value = values['other_body'];
  if (value === undefined || value === 'refused 409 idempotency_conflict') return;
  const status = statusIn(value);
  if (value === 'no_effect') fault({ kind: 'key_handling', other_body: 'repeat' })(out);
  else if (value === 'applied') fault({ kind: 'key_handling', other_body: 'apply' })(out);
  else if (status !== null) {
    fault({ kind: 'key_handling', status, code: value.split(' ').at(-1) ?? 'none' })(out);
  } else out.cannot_play.push(`S7.other_body: ${value}`);
};

/** One fault for each list, since only the first one of a kind strikes. */
const lists: Rule = (out, values) => {
  for (const [name, path] of Object.entries(LISTS)) {
    const own = name === 'turns' ? 'refused 400' : 'clamped';
    const limit = values[`${name}_limit`] ?? own;
    const key = values[`${name}_key`] ?? 'ignored';
    const match = { method: 'GET', path };
    for (const [part, value] of [
      ['limit', limit],
      ['key', key],
    ] as const) {
      if (!['clamped', 'ignored', 'refused 400'].includes(value))
        out.cannot_play.push(`S13.${name}_${part}: ${value}`);
    }
    const strictLimit = limit === 'refused 400' && own === 'clamped';
    const strictKey = key === 'refused 400';
    if (strictLimit || strictKey) {
      fault({ kind: 'strict_query', limits: strictLimit, keys: strictKey, match })(out);
    }
    if (limit === 'clamped' && own !== 'clamped') fault({ kind: 'lenient_limit', match })(out);
  }
};

const streams: Rule = (out, values) => {
  const value = values['streams'];
  if (value === undefined) return;
  set({ maxListeners: value === 'more' ? MANY_STREAMS : Number(value) })(out);
};

const tooMany: Rule = (out, values) => {
  const { status, error, retry_after: wait } = values;
  if (status === undefined) return;
  if (status !== '429' || error !== 'rate_limit_error/too_many_streams' || wait === 'given') {
    const headers = wait === 'given' ? { headers: { 'retry-after': '1' } } : {};
    fault({ kind: 'error_as', status: 429, as_status: Number(status), ...errorIn(error), ...headers })(out);
  }
};

const notFound: Rule = (out, values) => {
  const { status, code, type } = values;
  if (status === undefined) return;
  if (Number(status) < 400) {
    out.cannot_play.push(`S14.status: ${status}`);
    return;
  }
  if (status === '404' && code === 'not_found_error' && type === 'not_found_error') return;
  const error = errorIn(`${type ?? 'none'}/${code ?? 'none'}`);
  fault({ kind: 'error_as', status: 404, as_status: Number(status), ...error })(out);
};

const deletion: Rule = (out, values) => {
  const { busy, read_after: read, stream, again } = values;
  if (busy !== undefined && busy !== 'refused 409') out.cannot_play.push(`H2.busy: ${busy}`);
  if (read !== undefined && read !== '404') out.cannot_play.push(`H2.read_after: ${read}`);
  if (stream !== undefined && stream !== 'ends') out.cannot_play.push(`H2.stream: ${stream}`);
  if (again === 'refused 404') fault({ kind: 'delete_once' })(out);
  else if (again !== undefined && again !== 'taken') out.cannot_play.push(`H2.again: ${again}`);
};

const lag = (kind: 'list_lag' | 'unfiltered_list_lag', name: string) => ({
  at_once: null,
  later: (out: EmulatorPart, measured: Measured) => fault({ kind, ms: measured[name] ?? 0 })(out),
  too_late: (out: EmulatorPart, measured: Measured) => fault({ kind, ms: measured[name] ?? 0 })(out),
});

const RULES: Readonly<Record<string, Rule>> = {
  Q1: all(
    choose('Q1', 'same_message', {
      no_effect: null,
      second_turn: fault({ kind: 'key_handling', same_body: 'apply' }),
    }),
    choose('Q1', 'same_result', { taken: null }),
  ),
  Q2: choose('Q2', 'missing', { nothing: null }),
  Q3: all(
    choose('Q3', 'status', { not_shown: null, shown: fault({ kind: 'initial_status_event' }) }),
    choose('Q3', 'event_id', {
      none: null,
      new: fault({ kind: 'reemit_on_reconnect' }),
      same: fault({ kind: 'reemit_on_reconnect', same_id: true }),
    }),
  ),
  Q4: lags,
  Q5: all(
    choose('Q5', 'two_results', { taken: null }),
    choose('Q5', 'order', { kept: null }),
    choose('Q5', 'refused_second', { first_stays: null, nothing_stays: fault({ kind: 'atomic_batch' }) }),
  ),
  Q6: messages,
  Q7: tooMany,
  Q10: choose('Q10', 'keep_alive', {
    comments: (out, { interval_ms: ms }) => set({ pingMs: Math.max(1, ms ?? 0) })(out),
  }),
  Q13: all(
    choose('Q13', 'over_4_mib', { 'refused 400': null, taken: set({ maxResultBytes: HUGE_RESULT }) }),
    choose('Q13', 'kib_256', { taken: null, 'refused 400': set({ maxResultBytes: SMALL_RESULT }) }),
  ),
  Q14: all(
    choose('Q14', 'call', { asks: null, runs_on: fault({ kind: 'async_calls_run_on' }) }),
    choose('Q14', 'late_result', { 'refused 409': null, 'refused 400 unknown_call': null }),
  ),
  Q15: choose('Q15', 'event_ids', {
    unique: null,
    repeated: (out, { share }) =>
      fault({ kind: 'duplicate_events', probability: Math.min(1, (share ?? 0.5) * 2) })(out),
  }),
  Q17: keys,
  Q18: choose('Q18', 'first_event', {
    seen: null,
    missed: (out, { deaf_ms: ms }) => fault({ kind: 'late_subscription', ms: ms ?? 1000 })(out),
  }),
  Q19: all(
    choose('Q19', 'on_stream', { once: null, again: fault({ kind: 'reemit_result_item' }) }),
    choose('Q19', 'saved', { once: null }),
  ),
  S1: statuses,
  S2: all(
    choose('S2', 'appear', {
      together: null,
      one_by_one: (out, { gap_ms: ms }) => fault({ kind: 'calls_one_by_one', gap_ms: ms ?? 40 })(out),
    }),
    choose('S2', 'after_one_answer', { requires_action: null }),
  ),
  S3: steering,
  S6: settled,
  S7: otherBody,
  S8: choose('S8', 'same_key', {
    second_session: null,
    same_session: fault({ kind: 'create_key_honoured' }),
  }),
  S10: streams,
  S11: choose('S11', 'first', { user_item: null, in_progress: fault({ kind: 'out_of_order_start' }) }),
  S12: choose('S12', 'new_message', { no_part: null, one_empty_part: fault({ kind: 'empty_part' }) }),
  S13: lists,
  S14: notFound,
  H1: all(
    choose('H1', 'by_metadata', lag('list_lag', 'by_metadata_ms')),
    choose('H1', 'newest', lag('unfiltered_list_lag', 'newest_ms')),
  ),
  H2: deletion,
  H3: (out, values, measured) => {
    choose('H3', 'turn', { cancelled: null })(out, values, measured);
    choose('H3', 'idle', { taken: null })(out, values, measured);
    const ms = measured['cancel_ms'] ?? 0;
    if (values['turn'] === 'cancelled' && ms > SLOW_CANCEL_MS) fault({ kind: 'cancel_lag', ms })(out);
  },
  H4: choose('H4', 'unknown_call', { 'refused 400 unknown_call': null }),
  H5: (out, values, measured) => {
    choose('H5', 'in_event', { null: null })(out, values, measured);
    const ms = values['read'] === 'not_shown' ? NEVER_MS : measured['usage_ms'];
    if (ms !== undefined) set({ usageDelayMs: ms })(out);
  },
};
/** Below it a cancel is as quick as the requests around it. */
const SLOW_CANCEL_MS = 250;
const NEVER_MS = 86_400_000;
