/** What a crash test and its child processes say to each other: one request, one answer, over node's IPC channel. */
import type { Effect } from '../protocol/calls.ts';
import type { CrashPoint } from './points.ts';

/** A tool as the crash test needs to know it. */
export interface ToolFacts {
  name: string;
  effect: Effect;
  has_check: boolean;
  timeout_ms: number;
  /** Its entry in the configuration of an agent. */
  entry: Record<string, unknown>;
  arguments: Record<string, unknown>;
  /** Why these arguments cannot be used. */
  problem: string | null;
}

/** What an agents file holds. */
export interface Description {
  agents: { name: string; tools: string[]; config: Record<string, unknown> }[];
  /** Every tool, those of the agents included. */
  tools: ToolFacts[];
  has_observe: boolean;
}

/** What a worker process needs beside its environment. */
export interface WorkSetup {
  base_url: string;
  task_queue: string;
  workflow_bundle: string;
  journal: string;
  /** For `HOLDFAST_HEARTBEAT_TIMEOUT`, such as `3s`. */
  heartbeat_timeout: string;
  continue_after_events: number | null;
}

/** Where a worker is to kill itself. */
export interface Arming {
  /** Null disarms. */
  point: CrashPoint | null;
  /** How long after a tool's begin `tool.running` is. */
  running_ms: number;
  /** A call that begins only after some time, so that another one is answered before; null: none. */
  held_call: { call_id: string; ms: number } | null;
}

export const DISARMED: Arming = { point: null, running_ms: 0, held_call: null };

/** Requests by name, with what is sent and what comes back. */
export interface Protocol {
  /** Arguments by tool; where none are given, examples are made up from the tool's schema. */
  describe: { send: Record<string, unknown>; answer: Description };
  /** The snapshot that the user's `observe()` returns. */
  observe: { send: null; answer: unknown };
  work: { send: WorkSetup; answer: null };
  arm: { send: Arming; answer: null };
}

export type Request = {
  [Name in keyof Protocol]: { id: number; name: Name; send: Protocol[Name]['send'] };
}[keyof Protocol];

export type Answer = { id: number; ok: true; value: unknown } | { id: number; ok: false; message: string };
