/**
 * The faults that the emulator can play, one kind per row of agents-api.md section 6, section 12 and
 * Appendix A.12. The table is the runtime check of what the types promise.
 */
import type { RawObject } from './wire.ts';

/** What a fault applies to. All given conditions must hold; a kind accepts only the ones that it can see. */
export interface FaultMatch {
  /** HTTP method. */
  method?: string;
  /** Route such as `/agents/sessions/{session_id}/events`, or a real path; `*` stands for any text. */
  path?: string;
  /** Short type of an input event in the body: `message`, `cancel`, `tool_result`, `…_approval_request_result`. */
  input_type?: string;
  /** Type of a stream event, `*` allowed. */
  event_type?: string;
  /** Name of the function called. */
  tool?: string;
  call_id?: string;
}

interface Common {
  session_id?: string;
  match?: FaultMatch;
  /** How often it strikes; default 1, 0 = always. What one strike is stands with each kind. */
  times?: number;
  /** Chance per occasion, 0–1; drawn from `seed`, so a run can be repeated. */
  probability?: number;
  seed?: number;
  /** Lets the first N occasions pass. */
  after?: number;
}

/** Why a result comes for a settled call: the same again, another one, or its turn has ended without one. */
export type SettledCase = 'repeat' | 'other' | 'dropped';

type Shapes =
  // one strike = one request
  | { kind: 'delay'; ms: number; when?: 'before' | 'after' }
  | { kind: 'lost_reply' }
  | { kind: 'lost_request' }
  | { kind: 'status'; status: number; body?: unknown; headers?: Record<string, string> }
  | { kind: 'patch_answer'; patch: RawObject }
  | { kind: 'no_content_status' }
  | { kind: 'success_status'; status: number }
  | {
      kind: 'error_as';
      status: number;
      as_status?: number;
      type?: string | null;
      code?: string | null;
      headers?: Record<string, string>;
    }
  | { kind: 'not_found_code' }
  | { kind: 'beta_ignored' }
  | { kind: 'strict_query'; limits?: boolean; keys?: boolean }
  | { kind: 'lenient_limit' }
  | { kind: 'stale_session'; back?: number; for_ms?: number }
  | { kind: 'session_lag'; ms: number }
  | { kind: 'turn_lag'; ms: number }
  | { kind: 'hide_in_progress_items' }
  | { kind: 'list_lag'; ms: number }
  | { kind: 'unfiltered_list_lag'; ms: number }
  | { kind: 'create_key_honoured' }
  | {
      kind: 'key_handling';
      same_body?: 'repeat' | 'apply';
      other_body?: 'refuse' | 'repeat' | 'apply';
      status?: number;
      code?: string;
    }
  | { kind: 'atomic_batch' }
  | { kind: 'delete_once' }
  | { kind: 'result_limit'; bytes: number }
  | { kind: 'refuse_when_settled'; of?: SettledCase; status?: number }
  | { kind: 'reemit_result_item' }
  | { kind: 'steering_refused' }
  | { kind: 'steering_queued' }
  | { kind: 'lost_message' }
  | { kind: 'cancel_lag'; ms: number }
  // one strike = one call
  | { kind: 'early_result'; refusals?: number }
  // one strike = one step that calls
  | { kind: 'late_registration'; ms: number }
  | { kind: 'arguments_as'; as: 'string' | 'object' }
  | { kind: 'calls_one_by_one'; gap_ms?: number }
  | { kind: 'async_calls_run_on' }
  // one strike = one turn
  | { kind: 'out_of_order_start' }
  | { kind: 'keep_turn_error' }
  | { kind: 'unknown_item'; item?: RawObject }
  // one strike = one message item
  | { kind: 'null_id_item' }
  | { kind: 'empty_part' }
  // one strike = one stream
  | {
      kind: 'cut_stream';
      after_events?: number;
      before_type?: string;
      after_type?: string;
      mode?: 'eof' | 'reset' | 'half_frame';
    }
  | { kind: 'silent_stream' }
  | { kind: 'late_subscription'; ms: number }
  | { kind: 'suppress_deltas' }
  | { kind: 'reemit_on_reconnect'; same_id?: boolean }
  | { kind: 'initial_status_event' }
  | {
      kind: 'odd_bytes';
      chunk_bytes?: number;
      newline?: 'lf' | 'cr' | 'crlf';
      space?: boolean;
      noise?: boolean;
    }
  // one strike = one delivered event
  | { kind: 'duplicate_events'; new_id?: boolean }
  | { kind: 'drop_events' }
  | { kind: 'unknown_event'; event?: RawObject }
  | { kind: 'malformed_frame'; mode?: 'bad_json' | 'no_data' }
  | { kind: 'patch_event'; patch: RawObject };

export type FaultSpec = Shapes & Common;
export type FaultKind = FaultSpec['kind'];
export type FaultOf<K extends FaultKind> = Extract<FaultSpec, { kind: K }>;

type ParamType = 'count' | 'boolean' | 'string' | 'object' | 'any' | readonly string[];
interface KindRow {
  params: Record<string, ParamType>;
  needs: readonly string[];
  match: readonly (keyof FaultMatch)[];
}

const REQUEST = ['method', 'path', 'input_type'] as const;
const STREAM = ['method', 'path'] as const;
const DELIVERY = ['event_type'] as const;
const CALLING = ['tool', 'call_id'] as const;

function row(
  match: readonly (keyof FaultMatch)[],
  params: Record<string, ParamType> = {},
  needs: readonly string[] = [],
): KindRow {
  return { match, params, needs };
}

export const FAULT_KINDS: Readonly<Record<FaultKind, KindRow>> = {
  delay: row(REQUEST, { ms: 'count', when: ['before', 'after'] }, ['ms']),
  lost_reply: row(REQUEST),
  lost_request: row(REQUEST),
  status: row(REQUEST, { status: 'count', body: 'any', headers: 'object' }, ['status']),
  patch_answer: row(REQUEST, { patch: 'object' }, ['patch']),
  no_content_status: row(REQUEST),
  success_status: row(REQUEST, { status: 'count' }, ['status']),
  error_as: row(
    REQUEST,
    { status: 'count', as_status: 'count', type: 'any', code: 'any', headers: 'object' },
    ['status'],
  ),
  not_found_code: row(REQUEST),
  beta_ignored: row(REQUEST),
  strict_query: row(STREAM, { limits: 'boolean', keys: 'boolean' }),
  lenient_limit: row(STREAM),
  stale_session: row([], { back: 'count', for_ms: 'count' }),
  session_lag: row([], { ms: 'count' }, ['ms']),
  turn_lag: row([], { ms: 'count' }, ['ms']),
  hide_in_progress_items: row(STREAM),
  list_lag: row([], { ms: 'count' }, ['ms']),
  unfiltered_list_lag: row([], { ms: 'count' }, ['ms']),
  create_key_honoured: row([]),
  key_handling: row([], {
    same_body: ['repeat', 'apply'],
    other_body: ['refuse', 'repeat', 'apply'],
    status: 'count',
    code: 'string',
  }),
  atomic_batch: row([]),
  delete_once: row([]),
  result_limit: row(CALLING, { bytes: 'count' }, ['bytes']),
  refuse_when_settled: row(CALLING, { of: ['repeat', 'other', 'dropped'], status: 'count' }),
  reemit_result_item: row(CALLING),
  steering_refused: row([]),
  steering_queued: row([]),
  lost_message: row([]),
  cancel_lag: row([], { ms: 'count' }, ['ms']),
  early_result: row(CALLING, { refusals: 'count' }),
  late_registration: row(['tool'], { ms: 'count' }, ['ms']),
  arguments_as: row(['tool'], { as: ['string', 'object'] }, ['as']),
  calls_one_by_one: row(['tool'], { gap_ms: 'count' }),
  async_calls_run_on: row(['tool']),
  out_of_order_start: row([]),
  keep_turn_error: row([]),
  unknown_item: row([], { item: 'object' }),
  null_id_item: row([]),
  empty_part: row([]),
  cut_stream: row(STREAM, {
    after_events: 'count',
    before_type: 'string',
    after_type: 'string',
    mode: ['eof', 'reset', 'half_frame'],
  }),
  silent_stream: row(STREAM),
  late_subscription: row(STREAM, { ms: 'count' }, ['ms']),
  suppress_deltas: row(STREAM),
  reemit_on_reconnect: row(STREAM, { same_id: 'boolean' }),
  initial_status_event: row(STREAM),
  odd_bytes: row(STREAM, {
    chunk_bytes: 'count',
    newline: ['lf', 'cr', 'crlf'],
    space: 'boolean',
    noise: 'boolean',
  }),
  duplicate_events: row(DELIVERY, { new_id: 'boolean' }),
  drop_events: row(DELIVERY),
  unknown_event: row(DELIVERY, { event: 'object' }),
  malformed_frame: row(DELIVERY, { mode: ['bad_json', 'no_data'] }),
  patch_event: row(DELIVERY, { patch: 'object' }, ['patch']),
};
