/**
 * One run: a task whose agent makes the given calls, on a worker that kills itself at a point; another worker takes
 * over. What happened is collected from outside: the journal, the snapshots, the counters of the local Agents API.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';

import {
  AgentTaskError,
  AgentTasks,
  NoWorkerError,
  UpdateRefusedError,
  type AgentTask,
} from '../client/index.ts';
import { translate } from '../client/server-errors.ts';
import type { CallSpec, Counters, FaultSpec, Step } from '../emulator/index.ts';
import { AgentsApi } from '../openai/agents-api.ts';
import { AGENT_TASK, type AgentTaskInput } from '../protocol/task.ts';
import type { Bench, Stage } from './bench.ts';
import type { JournalEntry } from './journal.ts';
import { DISARMED, type Arming } from './messages.ts';
import type { CrashPoint } from './points.ts';
import type { Child } from './processes.ts';

/** Bounds the wait for a workflow task that a killed worker had taken. */
const WORKFLOW_TASK_TIMEOUT = '4s';
const POLL_MS = 200;
/** How long a post takes beside which another result is to be posted. */
const SLOW_POST_MS = 2000;
const SLOW_POSTS: FaultSpec = { kind: 'delay', ms: SLOW_POST_MS, match: { input_type: 'tool_result' } };
const PERSON_ANSWER = 'The crash test reports this call as failed: its outcome is unknown.';

export interface Call extends CallSpec {
  name: string;
  call_id: string;
  arguments: Record<string, unknown>;
}

/** Who makes the calls: a registered agent, or, for tools that no agent has, a configuration made for the test. */
export interface PlayedAgent {
  name: string | null;
  config: Record<string, unknown>;
}

export interface RunPlan {
  /** Null: no crash. */
  point: CrashPoint | null;
  agent: PlayedAgent;
  /** Calls that appear together, one round after the other. */
  rounds: Call[][];
  /** One call is still running while the result of another one is being posted, slowly. */
  heldCall: Arming['held_call'];
  /** The task goes on in a session that exists already. */
  attached: boolean;
  continueAfterEvents: number | null;
  /** How long after a tool's begin `tool.running` is. */
  runningMs: number;
  limitMs: number;
  /** Whether the outside world is looked at. */
  observed: boolean;
}

export type RunEnd = 'completed' | 'failed' | 'worker_died' | 'not_finished';

/** What was seen from outside. */
export interface RunFacts {
  point: CrashPoint | null;
  /** False: the task never passed the point, so nothing was killed. */
  crashed: boolean;
  end: RunEnd;
  /** Why it did not complete, for people. */
  why: string;
  /** The process that was killed. */
  crashedPid: number | null;
  journal: JournalEntry[];
  /** Calls whose outcome a person was asked for. */
  personAsked: string[];
  /** Before the task, right after the crash, at the end; null without `observe`. */
  snapshots: { before: unknown; atCrash: unknown; after: unknown } | null;
  calls: Call[];
  service: { creates: number; accepted: number; refused: number; violations: string[] };
  seconds: number;
}

/** Plays a run to its end. Throws CrashTestError or a client's error when it cannot be played at all. */
export async function playRun(bench: Bench, stage: Stage, plan: RunPlan): Promise<RunFacts> {
  const began = Date.now();
  const look = (): Promise<unknown> => (plan.observed ? bench.observe() : Promise.resolve(null));
  const session = plan.attached ? await readySession(stage, plan.agent) : null;
  bench.journal.clear();
  const before = await look();
  const first =
    plan.continueAfterEvents === null
      ? await stage.workers.live()
      : await stage.workers.fresh({ continue_after_events: plan.continueAfterEvents });
  await first.ask('arm', { point: plan.point, running_ms: plan.runningMs, held_call: plan.heldCall });
  if (plan.heldCall !== null) stage.emulator.addFaults(SLOW_POSTS);
  const counted = stage.emulator.counters();
  const task = await startTask(bench, stage, plan, session);
  const asked = new Set<string>();
  let crashed = false;
  let atCrash = before;
  let end: { kind: RunEnd; why: string } | null = null;
  try {
    end = await follow(stage, task, first, plan.limitMs, asked);
    stage.emulator.clearFaults();
    crashed = end.kind === 'worker_died' && first.killed;
    if (crashed) {
      // Nobody works now: what is seen here is what the first run left.
      atCrash = await look();
      end = await follow(stage, task, await stage.workers.live(), plan.limitMs, asked);
    } else if (first.alive) {
      await first.ask('arm', DISARMED);
    }
  } finally {
    if (end?.kind !== 'completed' && end?.kind !== 'failed') await abandon(stage, task);
    bench.runningTask = null;
  }
  const after = await look();
  return {
    point: plan.point,
    crashed,
    end: end.kind,
    why: end.why,
    crashedPid: crashed ? first.pid : null,
    journal: bench.journal.read(),
    personAsked: [...asked],
    snapshots: plan.observed && bench.hasObserve ? { before, atCrash, after } : null,
    calls: plan.rounds.flat(),
    service: difference(counted, stage.emulator.counters()),
    seconds: (Date.now() - began) / 1000,
  };
}

async function startTask(
  bench: Bench,
  stage: Stage,
  plan: RunPlan,
  session: string | null,
): Promise<AgentTask> {
  const { agent, rounds } = plan;
  const named = agent.name ?? (session === null ? agent.config : undefined);
  const input: AgentTaskInput = {
    ...(named === undefined ? {} : { agent: named }),
    ...(session === null ? {} : { session_id: session }),
    input: script([...rounds.map((call): Step => ({ call })), { say: 'Done.' }]),
  };
  const taskId = `${bench.name}-${stage.nextTask++}`;
  const { client } = stage.temporal;
  const start = {
    workflowId: taskId,
    taskQueue: stage.taskQueue,
    args: [input],
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
  } as const;
  await client.workflow.start(AGENT_TASK, start).catch((error: unknown) => {
    throw translate(error, client, taskId);
  });
  bench.runningTask = taskId;
  return new AgentTasks(client, { taskQueue: stage.taskQueue }).get(taskId);
}

/** A session of this agent that has had a turn already. */
async function readySession({ emulator }: Stage, { config }: PlayedAgent): Promise<string> {
  const api = new AgentsApi({ apiKey: 'crash-test', baseURL: emulator.url });
  const body = { agent: config, environment: { type: 'none' }, input: script([{ say: 'Ready.' }]) };
  const { id } = await api.createSession(body);
  while ((await api.getSession(id)).status !== 'idle') await wait(POLL_MS);
  return id;
}

/** A message that tells the local agent what to do. */
function script(steps: Step[]): string {
  return `script: ${JSON.stringify(steps)}`;
}

/** Waits until the task ends, or the worker. A person's part is played here, too. Nothing goes on afterwards. */
async function follow(
  { temporal }: Stage,
  task: AgentTask,
  worker: Child,
  limitMs: number,
  asked: Set<string>,
): Promise<{ kind: RunEnd; why: string }> {
  const stop = new AbortController();
  const { signal } = stop;
  // The Temporal client listens once for each call, and never stops.
  setMaxListeners(0, signal);
  const ended = task.result({ signal }).then(
    () => ({ kind: 'completed', why: '' }) as const,
    (error: unknown) => {
      if (error instanceof AgentTaskError) return { kind: 'failed', why: error.message } as const;
      throw error;
    },
  );
  const died = worker.exited.then(() => ({ kind: 'worker_died', why: worker.end }) as const);
  const end = { kind: 'not_finished', why: `no end after ${limitMs / 1000} s` } as const;
  const late = wait(limitMs, end, { signal });
  // The signal ends calls that a killed worker will never answer.
  const person = temporal.client.connection.withAbortSignal(signal, () => playPerson(task, asked, signal));
  try {
    return await Promise.race([ended, died, late, person]);
  } finally {
    stop.abort();
    // A call that is under way when the connection is closed is tried again on the closed one, which throws.
    await Promise.allSettled([ended, late, person]);
  }
}

/** Answers every call that waits for a person: it is reported as failed. Ends by `signal` alone, or by throwing. */
async function playPerson(task: AgentTask, asked: Set<string>, signal: AbortSignal): Promise<never> {
  for (;;) {
    await wait(POLL_MS, undefined, { signal });
    try {
      for (const { turn_id, call_id } of await task.pending()) {
        asked.add(call_id);
        await task.resolveCall({ turn_id, call_id, action: 'report_failure', error: PERSON_ANSWER });
      }
    } catch (error) {
      // Nobody answers while the worker is gone, and a task that has just ended takes nothing.
      const passing = error instanceof NoWorkerError || error instanceof UpdateRefusedError;
      if (!passing && !signal.aborted) throw error;
    }
  }
}

async function abandon(stage: Stage, task: AgentTask): Promise<void> {
  const handle = stage.temporal.client.workflow.getHandle(task.taskId);
  await handle.terminate('the crash test gave it up').catch(() => undefined);
  // Whatever the tool still does must not reach into the next run.
  await stage.workers.drop();
}

function difference(before: Counters, after: Counters): RunFacts['service'] {
  return {
    creates: after.totals.creates - before.totals.creates,
    accepted: after.totals.results_accepted - before.totals.results_accepted,
    refused: after.totals.results_refused - before.totals.results_refused,
    violations: after.violations.slice(before.violations.length).map(({ reason }) => reason),
  };
}
