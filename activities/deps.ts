/** What the activities need, given by whoever composes the worker. */
import type { TaskSettings } from '../src/protocol/activities.ts';
import type { AgentsApi } from '../src/openai/agents-api.ts';
import type { Registry } from '../src/tools/registry.ts';

export interface ActivityDeps {
  api: AgentsApi;
  registry: Registry;
  /** Recorded with each session. */
  settings: TaskSettings;
  /** Silence, in ms, after which an event stream counts as dead. */
  streamSilenceMs: number;
  /** Time, in ms, after which a follower hands over. */
  followLimitMs: number;
  /** Limit of a rendered tool result. */
  maxOutputBytes: number;
  /** Write the errors of tools to the log, with what they hold. */
  logToolErrors: boolean;
  /** Whether the namespace has Holdfast's search attributes: an upsert of an unknown one blocks a workflow for ever. */
  hasSearchAttributes: () => Promise<boolean>;
  /** Aborts when the worker begins to shut down: followers then hand over at once. */
  shutdown: AbortSignal;
}
