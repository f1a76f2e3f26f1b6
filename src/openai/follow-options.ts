/** What a follower is given beside its input, and what it shows. */
import type { PlannedCall, RequiredCall } from '../protocol/calls.ts';
import type { ProgressView } from '../protocol/progress.ts';
import type { AgentsApi } from './agents-api.ts';
import type { Log } from './log.ts';

/** What a follower shows while it runs: bounded in size, a hint only. */
export interface FollowView extends ProgressView {
  session: string | null;
  turn: string | null;
  turn_id: string | null;
  reconnects: number;
}

export interface FollowOptions {
  api: AgentsApi;
  log: Log;
  /** Aborted by cancellation; the follower then throws its reason. */
  signal: AbortSignal;
  /** Aborted when the worker shuts down: the follower returns `handover`. */
  handover: AbortSignal;
  /** Decides about a new call: arguments, policy. */
  plan: (call: RequiredCall) => PlannedCall;
  view: (view: FollowView) => void;
  /** Silence after which a stream counts as dead. */
  silenceMs: number;
  /** After this time the follower returns `handover`. */
  maxMs: number;
}
