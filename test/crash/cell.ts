/**
 * One cell of the crash matrix: a worker is killed with SIGKILL at its point, another takes over, and what happened
 * is checked from outside, against the effects file, the service's own counters and the server's history.
 */
import { setTimeout as wait } from 'node:timers/promises';

import type { AgentTask } from '../../src/client/index.ts';
import type { RunRecord } from '../../src/protocol/task.ts';
import { chainHistory, eventMs, eventType, lostAfterStart, type HistoryEvent } from '../support/history.ts';
import { Stack } from '../support/stack.ts';
import { answer, rowName, script, type Cell, type ExpectedCall } from './cells.ts';

export interface CellResult {
  point: string;
  shape: string;
  passed: boolean;
  /** What was not as it must be, a sentence each. */
  problems: string[];
  /** Calls whose outcome only a person could tell. */
  unknown: number;
  /** Calls that told their outcome by themselves after they had been given up. */
  self_resolved: number;
  /** From the kill to the next sign of progress in the history. */
  recovery_seconds: number | null;
  seconds: number;
}

export interface CellOptions {
  /** For example `10s`. */
  heartbeat: string;
  timeoutMs: number;
}

const POLL_MS = 300;
/** After the fence and before the record, and only there, nobody can know. */
const UNKNOWABLE = ['tool.after_fence', 'tool.after_effect', 'tool.before_return'];
const PROGRESS =
  /^(activityTask(Started|Completed|Failed|TimedOut)|workflowExecution(Completed|ContinuedAsNew))$/;

/** Runs a cell on a task queue, an emulator and an effects file of its own. Never rejects: what breaks is a problem. */
export async function runCell(cell: Cell, { heartbeat, timeoutMs }: CellOptions): Promise<CellResult> {
  const began = Date.now();
  const result: CellResult = {
    point: rowName(cell),
    shape: cell.shape.name,
    passed: false,
    problems: [],
    unknown: 0,
    self_resolved: 0,
    recovery_seconds: null,
    seconds: 0,
  };
  try {
    const stack = await Stack.start({ scripts: [script(cell)], faults: cell.faults });
    try {
      await play(cell, stack, heartbeat, timeoutMs, result);
    } finally {
      await stack.stop();
    }
  } catch (error) {
    result.problems.push(error instanceof Error ? error.message : String(error));
  }
  result.passed = result.problems.length === 0;
  result.seconds = (Date.now() - began) / 1000;
  return result;
}

async function play(
  cell: Cell,
  stack: Stack,
  heartbeat: string,
  timeoutMs: number,
  result: CellResult,
): Promise<void> {
  const settings = { ...cell.env, HOLDFAST_HEARTBEAT_TIMEOUT: heartbeat };
  const session_id = cell.attached ? await stack.readySession() : undefined;
  const doomed = await stack.worker({ ...settings, HOLDFAST_FAULT: `${cell.point}#${cell.hit}` });
  const task = await stack.tasks.start({
    agent: 'tester',
    input: 'Do it.',
    ...(session_id === undefined ? {} : { session_id }),
  });
  const { runId } = await stack.handle(task).describe();
  await within(timeoutMs, 'the worker never passed the point', doomed.crashed());
  const killedAt = Date.now();
  const good = await stack.worker(settings);
  const resolved = new Set<string>();
  let record: RunRecord | null = null;
  try {
    record = await within(timeoutMs, 'the task did not end', finish(stack, cell, task, resolved));
  } catch (error) {
    const status = await task.status().catch(() => null);
    result.problems.push(`${String(error)}: ${JSON.stringify(status)}\n${good.output.slice(-2000)}`);
  }
  const events = await chainHistory(stack.client, task.taskId, runId);
  const next = events.filter((event) => PROGRESS.test(eventType(event))).map(eventMs);
  const after = next.filter((ms) => ms > killedAt);
  result.recovery_seconds = after.length > 0 ? (Math.min(...after) - killedAt) / 1000 : null;
  result.unknown = resolved.size;
  result.self_resolved = events.filter(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'holdfast.toolOutcome',
  ).length;
  if (record) result.problems.push(...problems(cell, stack, record, events, resolved));
  if (result.recovery_seconds === null) result.problems.push('no progress after the kill');
}

/** Waits for the end of the task. Where it waits for a person, one answers by what the effects file says. */
async function finish(stack: Stack, cell: Cell, task: AgentTask, resolved: Set<string>): Promise<RunRecord> {
  const state: { ended: boolean } = { ended: false };
  const ended = task.result().finally(() => {
    state.ended = true;
  });
  ended.catch(() => undefined);
  while (!state.ended) {
    await Promise.race([ended, wait(POLL_MS)]);
    if (state.ended) break;
    for (const { call_id, turn_id } of await task.pending()) {
      const happened = stack.effects().some((effect) => effect.call_id === call_id);
      const expected = cell.rounds.flat().find((call) => call.call_id === call_id);
      resolved.add(`${turn_id}/${call_id}`);
      await task.resolveCall(
        happened
          ? { call_id, turn_id, action: 'result', output: JSON.parse(expected?.output ?? 'null') as unknown }
          : { call_id, turn_id, action: 'run_again' },
      );
    }
  }
  return ended;
}

function problems(
  cell: Cell,
  stack: Stack,
  record: RunRecord,
  events: readonly HistoryEvent[],
  resolved: ReadonlySet<string>,
): string[] {
  const found: string[] = [];
  const must = (holds: boolean, problem: string): void => {
    if (!holds) found.push(problem);
  };
  const calls = cell.rounds.flat();
  const { totals, sessions, violations } = stack.emulator.counters();
  const counts = stack.counts(record.session_id);

  must(record.run.status === 'completed', `the task ended ${record.run.status}`);
  must(record.output_text === answer(calls), `another answer: ${record.output_text}`);
  must(totals.creates === 1, `I1: ${totals.creates} sessions created, ${totals.deletes} deleted`);
  must(Object.keys(sessions).length === 1, `I1: ${Object.keys(sessions).length} sessions left`);
  const turns = cell.attached ? 2 : 1;
  must(counts.turns_started === turns, `${counts.turns_started} turns instead of ${turns}`);
  must(
    counts.results_accepted === calls.length,
    `${counts.results_accepted} results for ${calls.length} calls`,
  );
  must(counts.results_refused === 0, `${counts.results_refused} results refused`);
  must(violations.length === 0, `protocol violated: ${violations.map(({ reason }) => reason).join('; ')}`);
  must(counts.streams_open === 0, 'I9: a stream is still open');

  const turnId = record.turns.at(-1)?.turn_id ?? '';
  for (const call of calls) found.push(...callProblems(stack, record.session_id, turnId, call));

  const types = events.map(eventType);
  must(!types.includes('workflowTaskFailed'), 'a workflow task failed');
  if (cell.point.startsWith('run.'))
    must(types.includes('workflowExecutionContinuedAsNew'), 'it never continued as new');

  const lost = lostAfterStart(events);
  for (const key of resolved) {
    const known = !lost.some((activityId) => activityId.startsWith(`${key}/`));
    must(!known, `I2: a person was asked about ${key}, which had not started`);
  }
  const unknowable = UNKNOWABLE.includes(cell.point) && cell.shape.first === 'pay';
  if (!cell.shape.parallel || !unknowable) {
    // Beside a call that is struck, a parallel one may be in any state: there the check above decides.
    const expected = unknowable ? 1 : 0;
    const many = resolved.size > expected && !cell.shape.parallel;
    must(
      resolved.size >= expected && !many,
      `a person was asked ${resolved.size} times instead of ${expected}`,
    );
  } else must(resolved.size > 0, 'nobody was asked about an unknown outcome');
  return found;
}

/** What reached the service and the world for one call (I2, I3, I4). */
function callProblems(stack: Stack, sessionId: string, turnId: string, call: ExpectedCall): string[] {
  const found: string[] = [];
  const effects = stack.effects(call.name).filter((effect) => effect.call_id === call.call_id);
  const keys = new Set(effects.map(({ key }) => key));
  if (call.name === 'pay' ? effects.length !== 1 : effects.length === 0 || keys.size !== 1)
    found.push(`I2: ${effects.length} effects of ${call.call_id} under ${keys.size} keys`);
  const posts = stack.emulator.posts(sessionId).flatMap((post) => {
    const { events = [] } = post.body as { events?: Record<string, unknown>[] };
    return events.filter((event) => event['call_id'] === call.call_id).map((event) => ({ post, event }));
  });
  const applied = posts.filter(({ post }) => post.effect === 'applied').length;
  if (applied !== 1) found.push(`${applied} state changes for ${call.call_id}`);
  if (posts.some(({ event }) => event['turn_id'] !== turnId || event['output'] !== call.output))
    found.push(`I3: other ids or bytes were posted for ${call.call_id}`);
  const bodies = new Set(posts.map(({ post }) => `${post.idempotency_key} ${post.body_sha256}`));
  if (bodies.size !== 1) found.push(`I3: ${call.call_id} was posted in ${bodies.size} forms`);
  return found;
}

async function within<T>(ms: number, otherwise: string, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = wait(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${otherwise} within ${ms / 1000} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}
