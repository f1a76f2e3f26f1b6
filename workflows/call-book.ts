/**
 * The calls of a task: which are open, what is saved, what is posted, what is settled. Plain data with explicit
 * snapshot and restore, so that continue-as-new carries everything owed (I10).
 */
import type { PlannedCall, ToolResult } from '../src/protocol/calls.ts';
import { callKey } from '../src/protocol/calls.ts';
import type { CallReport, CallState, PendingDecision } from '../src/protocol/task.ts';

const RECENT = 50;
/** Keys of settled calls of one turn. They go into the next run's input, which may take 2 MiB. */
const MAX_KEYS = 5000;
const MAX_KEPT_BYTES = 1024 * 1024;

/** An open call: from the follower's finding to the confirmation of its result. */
export interface OpenCall {
  planned: PlannedCall;
  state: CallState;
  /** Run in progress or last tried; 0 before the first. */
  run_no: number;
  /** Attempts known of all runs. */
  attempts: number;
  started_at: number | null;
  ended_at: number | null;
  /** Saved, and kept until it is confirmed (I4). */
  result: ToolResult | null;
  note: string | null;
  /** Since when the outcome is unknown, in ms since the epoch. */
  unknown_since: number | null;
  /** A person is asked about the unknown outcome: it is not only just unknown. */
  asked: boolean;
  /** How often the service did not take the result; grows the pause before the next post. */
  post_failures: number;
  /** Not to be posted before this time, in ms since the epoch. */
  post_after: number;
  /** The result was refused for what it is and replaced once. */
  replaced: boolean;
  /** The run that a person, or the tool's check, allowed after an unknown outcome; 0 while there was none. */
  again_run: number;
}

export interface CallBookSnapshot {
  open: OpenCall[];
  settled: CallReport[];
  /** Keys of all settled calls of the current turn. */
  settled_keys: string[];
  total: number;
  failed: number;
}

export class CallBook {
  readonly #open = new Map<string, OpenCall>();
  #settled: CallReport[] = [];
  #settledKeys: string[] = [];
  /** Calls settled in this turn and run, with their results; not carried to the next run. */
  readonly #delivered = new Map<string, OpenCall>();
  #total = 0;
  #failed = 0;

  static restore(snapshot: CallBookSnapshot): CallBook {
    const book = new CallBook();
    for (const call of snapshot.open) {
      // The timers of the run before have ended with it.
      book.#open.set(callKey(call.planned), { ...call, asked: true, post_after: 0 });
    }
    book.#settled = snapshot.settled;
    book.#settledKeys = snapshot.settled_keys;
    book.#total = snapshot.total;
    book.#failed = snapshot.failed;
    return book;
  }

  snapshot(): CallBookSnapshot {
    return {
      open: this.open(),
      settled: this.#settled,
      settled_keys: this.#settledKeys,
      total: this.#total,
      failed: this.#failed,
    };
  }

  /** Takes a call that the service asks for. One that is known already, settled or not, is left as it is (I2). */
  add(planned: PlannedCall, now: number): void {
    const key = callKey(planned);
    if (this.#open.has(key)) return;
    const settled = this.#settledKeys.indexOf(key);
    if (settled >= 0) {
      // Asked for from an old snapshot: make it one of the recent keys, which the next follower is told.
      this.#settledKeys.push(...this.#settledKeys.splice(settled, 1));
      return;
    }
    const answer = planned.plan.kind === 'answer' ? planned.plan.result : null;
    this.#open.set(key, {
      planned,
      state: answer ? 'saved' : 'planned',
      run_no: 0,
      attempts: 0,
      started_at: null,
      ended_at: answer ? now : null,
      result: answer,
      note: null,
      unknown_since: null,
      asked: false,
      post_failures: 0,
      post_after: 0,
      replaced: false,
      again_run: 0,
    });
  }

  get(key: string): OpenCall | undefined {
    return this.#open.get(key);
  }

  open(): OpenCall[] {
    return [...this.#open.values()];
  }

  inState(...states: CallState[]): OpenCall[] {
    return this.open().filter((call) => states.includes(call.state));
  }

  /** Saves a result; the first one wins (design: self-resolving). Returns false when there is one already. */
  save(call: OpenCall, result: ToolResult, now: number): boolean {
    if (call.result !== null) return false;
    call.result = result;
    call.state = 'saved';
    call.ended_at = now;
    call.unknown_since = null;
    call.note = null;
    return true;
  }

  /** Lets a call run once more after an unknown outcome: what earlier runs did is answered for. */
  runAgain(call: OpenCall): void {
    call.state = 'planned';
    call.unknown_since = null;
    call.note = null;
    call.again_run = call.run_no + 1;
  }

  /** Nobody seems to want the result. It is kept until a later read says so too (I4). */
  drop(call: OpenCall, note: string): void {
    call.state = 'dropped';
    call.note = note;
  }

  /** A read shows that a call is no longer asked for. */
  confirm(key: string): void {
    this.settle(key, this.#open.get(key)?.state === 'dropped' ? 'dropped' : 'delivered');
  }

  /** Closes a call: its result is confirmed, or nobody wants it any more. */
  settle(key: string, how: 'delivered' | 'dropped' | 'unknown', note?: string): void {
    const call = this.#open.get(key);
    if (!call) return;
    this.#open.delete(key);
    const success = call.result?.success === true;
    if (how !== 'unknown') this.#keep(key, { ...call });
    call.state = how !== 'delivered' ? how : success ? 'succeeded' : 'failed';
    if (note) call.note = note;
    this.#total++;
    if (call.state !== 'succeeded') this.#failed++;
    this.#settled = [...this.#settled, report(call)].slice(-RECENT);
    this.#settledKeys = [...this.#settledKeys, key].slice(-MAX_KEYS);
  }

  /** The task ends: says of every open call what was left of it. */
  close(): void {
    for (const call of this.open()) {
      const key = callKey(call.planned);
      if (call.state === 'unknown') this.settle(key, 'unknown');
      else if (call.state === 'running') this.settle(key, 'unknown', 'still running when the task ended');
      else if (call.state === 'posted')
        this.settle(key, 'delivered', 'sent; the end came before it was confirmed');
      else if (call.state === 'dropped') this.settle(key, 'dropped');
      else this.settle(key, 'dropped', call.result ? 'finished, result not sent' : 'not started');
    }
  }

  /** A new turn asks for new calls only; the old turn's keys need not be kept. */
  startTurn(): void {
    this.#settledKeys = [];
    this.#delivered.clear();
  }

  /** Keys of everything open. */
  openKeys(): string[] {
    return [...this.#open.keys()];
  }

  /** Keys of the calls that were settled last: a follower must not take them for new. */
  settledKeys(): string[] {
    return this.#settledKeys.slice(-RECENT);
  }

  /** A settled call whose result the service has not got after all; undefined when it is not kept any more. */
  reopen(key: string): OpenCall | undefined {
    const call = this.#delivered.get(key);
    if (!call) return undefined;
    this.#delivered.delete(key);
    this.#open.set(key, call);
    this.#settledKeys = this.#settledKeys.filter((settled) => settled !== key);
    this.#settled = this.#settled.filter((settled) => callKey(settled) !== key);
    this.#total--;
    if (call.state === 'dropped' || !call.result?.success) this.#failed--;
    return call;
  }

  /** Keeps what was delivered for a while: the reads that showed it may have been old. */
  #keep(key: string, call: OpenCall): void {
    this.#delivered.set(key, call);
    let bytes = 0;
    for (const [other, { result }] of [...this.#delivered].toReversed()) {
      bytes += JSON.stringify(result).length;
      if (bytes > MAX_KEPT_BYTES) this.#delivered.delete(other);
    }
  }

  get totals(): { total: number; failed: number } {
    return { total: this.#total, failed: this.#failed };
  }

  reports(): CallReport[] {
    return [...this.#settled, ...this.open().map(report)];
  }

  /** Notes that nobody knows how a call ended. */
  lose(call: OpenCall, why: string, now: number): void {
    call.state = 'unknown';
    call.note = why;
    call.unknown_since = now;
    call.asked = false;
  }

  /** What a person is to decide. */
  asked(): OpenCall[] {
    return this.inState('unknown').filter((call) => call.asked);
  }

  pending(): PendingDecision[] {
    return this.asked().map((call) => ({
      kind: 'unknown_outcome',
      turn_id: call.planned.turn_id,
      call_id: call.planned.call_id,
      name: call.planned.name,
      summary: call.planned.summary,
      run_no: call.run_no,
      reason: call.note ?? 'the outcome is unknown',
      since: call.unknown_since ?? 0,
    }));
  }
}

function report(call: OpenCall): CallReport {
  const { planned, started_at, ended_at, note } = call;
  return {
    turn_id: planned.turn_id,
    call_id: planned.call_id,
    name: planned.name,
    summary: planned.summary,
    effect: planned.plan.kind === 'run' ? planned.plan.effect : null,
    state: call.state,
    runs: call.run_no,
    attempts: call.attempts,
    duration_ms: started_at !== null && ended_at !== null ? ended_at - started_at : null,
    ...(note === null ? {} : { note }),
  };
}
