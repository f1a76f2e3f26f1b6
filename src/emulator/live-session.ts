/**
 * A session in this process: its record, who listens, and what plays its turn. Every change is one
 * synchronous `commit` (mutate, then save, then publish, then wake), so changes of a session are
 * serialised by construction and no event ever tells of an unsaved change.
 */
import { newId } from './canonical.ts';
import type { Faults, Occasion } from './faults.ts';
import type { FaultKind, FaultOf } from './fault-kinds.ts';
import type { CallRecord, SessionRecord, TurnRecord } from './records.ts';
import type { AgentScript } from './script.ts';
import type { Store } from './store.ts';
import { sessionView, stateMark } from './views.ts';
import type { AgentSession, EventBody } from './wire.ts';

/** Times in milliseconds. */
export interface Settings {
  /** Pause between two text deltas. */
  deltaMs: number;
  /** Pause before each step: the time a model would think. */
  stepMs: number;
  /** How long after a turn's end its usage can be read. */
  usageDelayMs: number;
  /** Time between two keep-alive comments. */
  pingMs: number;
  /** Open streams per session; one more is refused with 429. */
  maxListeners: number;
  /** False: a message during the first turn is refused with 409, as the service does for `none` sessions. */
  firstTurnSteering: boolean;
  /** Larger tool results are refused with 400. */
  maxResultBytes: number;
}

/** What every session shares. */
export interface World {
  settings: Settings;
  faults: Faults;
  scripts: readonly AgentScript[];
  store: Store;
  log: (line: string) => void;
}

export interface Listener {
  /** `id` is the event's own; without one the listener makes it up. */
  deliver(event: EventBody, id?: string): void;
  end(): void;
}

/** Thrown inside a runner whose turn was ended by someone else, or whose emulator closes. */
export class Stopped extends Error {}

/** Older snapshots kept for the faults `stale_session` and `session_lag`. */
const KEPT_SNAPSHOTS = 32;
/** Node's timers overflow to 1 ms above this. */
const MAX_TIMER_MS = 2_147_483_647;

export class LiveSession {
  readonly record: SessionRecord;
  readonly world: World;
  readonly listeners = new Set<Listener>();
  /** Snapshots at each change of state, newest last. Not saved: a restarted emulator has no stale views. */
  readonly snapshots: { at: number; view: AgentSession }[] = [];
  /** Id of the event that showed an item first, for the fault `reemit_on_reconnect`; not saved. */
  readonly shownAs = new Map<string, string>();
  runner: AbortController | null = null;
  private readonly sleepers = new Set<() => void>();
  private readonly early = new Map<CallRecord, number>();
  private mark = '';
  private stale: { until: number; view: AgentSession } | undefined;

  constructor(record: SessionRecord, world: World) {
    this.record = record;
    this.world = world;
    this.remember();
  }

  get id(): string {
    return this.record.id;
  }

  view(): AgentSession {
    return sessionView(this.record, Date.now(), this.world.settings.usageDelayMs);
  }

  /** An older snapshot under the faults `stale_session` and `session_lag`. */
  staleView(): AgentSession | undefined {
    const lag = this.take('session_lag');
    if (lag !== undefined) return this.viewOf(Date.now() - lag.ms);
    if (this.stale !== undefined && Date.now() < this.stale.until) return this.stale.view;
    const fault = this.take('stale_session');
    if (fault === undefined) return undefined;
    const view = this.snapshots[Math.max(0, this.snapshots.length - 1 - (fault.back ?? 1))]?.view;
    if (view !== undefined) this.stale = { until: Date.now() + (fault.for_ms ?? 0), view };
    return view;
  }

  /** The state of a past moment; undefined when it is the present one. */
  private viewOf(ms: number): AgentSession | undefined {
    const index = Math.max(
      0,
      this.snapshots.findLastIndex(({ at }) => at <= ms),
    );
    return index === this.snapshots.length - 1 ? undefined : this.snapshots[index]?.view;
  }

  /** Saves the change that was made to the record, then tells the listeners. */
  commit(events: readonly EventBody[] = []): void {
    this.record.last_active_ms = Date.now();
    this.save();
    for (const event of events) this.publish(event);
  }

  save(): void {
    this.world.store.saveSession(this.record);
    this.remember();
    for (const wake of this.sleepers) wake();
  }

  /**
   * Events reach only those who listen now; nothing is kept for later (agents-api.md 3.1). An event has one id,
   * on whatever stream it is seen.
   */
  publish(event: EventBody): void {
    const id = newId('evt');
    if (event.type === 'agent.session.turn.item.added') {
      const key = event.item.id;
      if (key !== null && !this.shownAs.has(key)) this.shownAs.set(key, id);
    }
    for (const listener of this.listeners) listener.deliver(event, id);
  }

  endStreams(): void {
    for (const listener of this.listeners) listener.end();
  }

  /** Ends a step of a turn together with the change that finished it. */
  finishStep(turn: TurnRecord, events: readonly EventBody[] = []): void {
    turn.steps_done += 1;
    turn.current = null;
    this.commit(events);
  }

  take<K extends FaultKind>(
    kind: K,
    occasion: Occasion = {},
    fits?: (spec: FaultOf<K>) => boolean,
  ): FaultOf<K> | undefined {
    return this.world.faults.take(kind, { ...occasion, session_id: this.id }, fits);
  }

  /** Whether a result for this call is still refused as too early (fault `early_result`). */
  refusesEarly(call: CallRecord): boolean {
    const known = this.early.get(call);
    const fault = known ?? this.take('early_result', { tools: [call.name], call_id: call.call_id });
    const left = typeof fault === 'number' ? fault : fault === undefined ? 0 : (fault.refusals ?? 1);
    if (known === undefined && fault === undefined) return false;
    this.early.set(call, Math.max(0, left - 1));
    return left > 0;
  }

  /** Waits; throws `Stopped` when the runner is stopped meanwhile. */
  pause(ms: number, signal: AbortSignal): Promise<void> {
    return this.sleep(signal, () => false, Date.now() + ms).then(() => undefined);
  }

  /** Waits until the record fulfils a condition or the deadline (Unix ms) passes; answers whether it did. */
  until(ready: () => boolean, signal: AbortSignal, deadlineMs?: number): Promise<boolean> {
    return this.sleep(signal, ready, deadlineMs);
  }

  private sleep(signal: AbortSignal, ready: () => boolean, deadlineMs?: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        this.sleepers.delete(check);
        signal.removeEventListener('abort', check);
        finish();
      };
      const check = (): void => {
        clearTimeout(timer);
        if (signal.aborted) return settle(() => reject(new Stopped('stopped')));
        if (ready()) return settle(() => resolve(true));
        if (deadlineMs === undefined) return;
        const left = deadlineMs - Date.now();
        if (left <= 0) return settle(() => resolve(false));
        timer = setTimeout(check, Math.min(left, MAX_TIMER_MS));
      };
      this.sleepers.add(check);
      signal.addEventListener('abort', check);
      check();
    });
  }

  private remember(): void {
    const mark = stateMark(this.record);
    if (mark === this.mark) return;
    this.mark = mark;
    this.snapshots.push({ at: Date.now(), view: this.view() });
    if (this.snapshots.length > KEPT_SNAPSHOTS) this.snapshots.shift();
  }
}
