/** What happened, in numbers: for tests that must know what the service saw. */
import { emptyCounters, type CounterSet } from './records.ts';
import type { Sessions } from './sessions-api.ts';
import type { Store, Violation } from './store.ts';

/** Counts of one session or of all; `streams_open` is the present number. */
export type Counts = CounterSet & { streams_open: number };

export interface Counters {
  totals: Counts;
  sessions: Record<string, Counts>;
  /** Number of requests by method and route template. */
  requests: Record<string, number>;
  violations: Violation[];
}

/** Counters over everything, deleted sessions included. */
export function readCounters(store: Store, sessions: Sessions): Counters {
  const totals: Counts = { ...emptyCounters(), streams_open: 0 };
  add(totals, { ...store.unattached, streams_open: 0 });
  const bySession: Record<string, Counts> = {};
  for (const session of sessions.all()) {
    const counts = { ...session.record.counters, streams_open: session.listeners.size };
    bySession[session.id] = counts;
    add(totals, counts);
  }
  return {
    totals,
    sessions: bySession,
    requests: { ...store.requests },
    violations: [...store.violations],
  };
}

function add(totals: Counts, counts: Counts): void {
  for (const key of Object.keys(totals) as (keyof Counts)[]) totals[key] += counts[key];
}
