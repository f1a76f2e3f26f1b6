/** What a run says about a tool: whether its declared effect held, by what was seen from outside. Pure. */
import type { RunFacts } from './crash-run.ts';
import type { JournalEntry } from './journal.ts';
import type { ToolFacts } from './messages.ts';
import { describeEnd, differing, shortly, sameOutcome } from './outcomes.ts';
import type { CrashPoint } from './points.ts';
import { describeChange, growth, sameSnapshot } from './snapshot.ts';

export type ProblemKind =
  /** A repeatable tool gave another result when it ran again. */
  | 'result_differs'
  /** The outside world changed again when it ran again. */
  | 'effect_repeated'
  /** `check` said what had not happened, or changed something itself. */
  | 'check_wrong'
  /** The worker process ended without having been killed. */
  | 'worker_died'
  | 'not_finished'
  /** Nothing that the tool's author did: please report it. */
  | 'holdfast';

export interface Problem {
  kind: ProblemKind;
  /** A clause for people, such as "the second run returned …". */
  seen: string;
}

export type CheckAnswer = 'done' | 'not_done' | 'unknown';

export interface PointVerdict {
  point: CrashPoint;
  /** False: the task never passed this point. */
  reached: boolean;
  held: boolean;
  problems: Problem[];
  /** How often the tool's own code began, for one call. */
  executions: number;
  ran_again: boolean;
  person_asked: boolean;
  /** The tool's own answer about the interrupted execution. */
  check: CheckAnswer | null;
  seconds: number;
}

/** What one run without a crash showed. */
export interface CleanRun {
  ms: number;
  /** By how much the snapshot grew; null when it did not change, or nobody looked. */
  growth: number | null;
  /** `observe()` shows this tool's effect. */
  seen: boolean;
}

/** Reads the run without a crash. A sentence instead when the tool does not even work then. */
export function cleanRun(tool: ToolFacts, facts: RunFacts): CleanRun | string {
  if (facts.end === 'worker_died') return `the worker process ended while it ran: ${shortly(facts.why)}`;
  const begin = facts.journal.find((entry) => entry.event === 'begin');
  const end = endsOf(facts.journal).at(-1);
  if (!begin || !end) return `it did not come to an end: ${shortly(facts.why) || 'nothing was recorded'}`;
  if (!end.outcome.ok) return `without any crash it ${describeEnd(end.outcome)}`;
  if (facts.end !== 'completed') return `the task did not complete: ${shortly(facts.why)}`;
  const { before, after } = facts.snapshots ?? { before: null, after: null };
  const seen = !sameSnapshot(before, after);
  return { ms: end.at - begin.at, growth: seen ? growth(before, after) : null, seen };
}

/** Judges one tool's single call by a run at a point. */
export function judgeTool(
  tool: ToolFacts,
  point: CrashPoint,
  clean: CleanRun,
  facts: RunFacts,
  options: { resultsMayDiffer: boolean },
): PointVerdict {
  const begins = facts.journal.filter((entry) => entry.event === 'begin');
  const check = facts.journal.findLast((entry) => entry.event === 'check');
  const problems = commonProblems(facts);
  if (facts.crashed && tool.effect === 'repeatable')
    problems.push(...repeatableProblems(clean, facts, options.resultsMayDiffer));
  if (facts.crashed && tool.effect === 'once') problems.push(...onceProblems(tool, clean, facts));
  const keys = new Set(facts.journal.map((entry) => entry.key));
  if (keys.size > 1)
    problems.push({ kind: 'holdfast', seen: `it got ${keys.size} idempotency keys for one call` });
  return {
    point,
    reached: facts.crashed,
    held: problems.length === 0,
    problems,
    executions: begins.length,
    ran_again: begins.length > 1,
    person_asked: facts.personAsked.length > 0,
    check: check?.status ?? null,
    seconds: facts.seconds,
  };
}

/** Judges a run at a point around the tools: there, every call is executed once, whatever its declared effect. */
export function judgeAgent(point: CrashPoint, attached: boolean, facts: RunFacts): PointVerdict {
  const problems = commonProblems(facts, attached);
  const counts = facts.calls.map(({ name, call_id }) => {
    const begins = facts.journal.filter((entry) => entry.call_id === call_id && entry.event === 'begin');
    return { name, begins: begins.length };
  });
  // A tool that fails, and is tried again for that, is not what is looked at here.
  const failing = new Set(
    endsOf(facts.journal)
      .filter(({ outcome }) => !outcome.ok)
      .map(({ tool }) => tool),
  );
  for (const { name, begins } of counts) {
    if (begins === 1 || failing.has(name) || facts.end !== 'completed') continue;
    const seen = `${name} was executed ${begins} times for one call, though the crash was not in it`;
    problems.push({ kind: 'holdfast', seen });
  }
  return {
    point,
    reached: facts.crashed,
    held: problems.length === 0,
    problems,
    executions: counts.reduce((sum, { begins }) => sum + begins, 0),
    ran_again: counts.some(({ begins }) => begins > 1),
    person_asked: facts.personAsked.length > 0,
    check: null,
    seconds: facts.seconds,
  };
}

/** What must hold whatever the tools do. */
function commonProblems({ end, why, service, calls }: RunFacts, attached = false): Problem[] {
  if (end === 'worker_died')
    return [{ kind: 'worker_died', seen: `the worker process ended by itself: ${shortly(why)}` }];
  if (end === 'not_finished') return [{ kind: 'not_finished', seen: `the task was not finished: ${why}` }];
  const found: string[] = [];
  if (end === 'failed') found.push(`the task failed: ${why}`);
  const sessions = attached ? 0 : 1;
  if (service.creates !== sessions)
    found.push(`${service.creates} sessions were created instead of ${sessions}`);
  if (service.accepted !== calls.length)
    found.push(`the service took ${service.accepted} results for ${calls.length} calls`);
  if (service.refused > 0) found.push(`the service refused ${service.refused} results`);
  for (const reason of service.violations) found.push(`the service was asked wrongly: ${reason}`);
  return found.map((seen) => ({ kind: 'holdfast', seen }));
}

function repeatableProblems(clean: CleanRun, facts: RunFacts, mayDiffer: boolean): Problem[] {
  const problems: Problem[] = [];
  const [before, after] = aroundCrash(facts);
  if (after.begins === 0) return problems;
  const first = before.ends.at(-1)?.outcome;
  const second = after.ends.at(-1)?.outcome;
  if (first?.ok && second && !sameOutcome(first, second) && !(mayDiffer && second.ok)) {
    const [one, two] = differing(first, second);
    problems.push({ kind: 'result_differs', seen: `the first run ${one}, the second one ${two}` });
  }
  if (facts.snapshots && before.begins > 0) {
    const { before: start, atCrash, after: end } = facts.snapshots;
    const change = describeChange(atCrash, end);
    if (first?.ok && !sameSnapshot(atCrash, end)) {
      problems.push({ kind: 'effect_repeated', seen: `the second run changed the outside again: ${change}` });
    } else if (!first && clean.growth !== null && Math.abs(growth(start, end)) > Math.abs(clean.growth)) {
      // Killed in the middle: some change is the second run's own part, but no more than one run makes.
      const seen = `an interrupted run and the next changed the outside more than one run does: ${describeChange(start, end)}`;
      problems.push({ kind: 'effect_repeated', seen });
    }
  }
  return problems;
}

function onceProblems(tool: ToolFacts, clean: CleanRun, facts: RunFacts): Problem[] {
  const problems: Problem[] = [];
  const [before, after] = aroundCrash(facts);
  const took = tookEffect(before, clean, facts);
  const check = after.checks.at(-1);
  if (check?.status === 'not_done' && took === true) {
    const seen = `check answered "not_done" though it had taken effect, so that it was executed a second time`;
    problems.push({ kind: 'check_wrong', seen });
  } else if (check?.status === 'done' && took === false) {
    const seen = 'check answered "done" though nothing had happened, so that it was never executed';
    problems.push({ kind: 'check_wrong', seen });
  } else if (after.begins > 0 && before.begins > 0 && check?.status !== 'not_done') {
    problems.push({ kind: 'holdfast', seen: 'it was executed twice, and nobody had said so' });
  } else if (check && after.begins === 0 && facts.snapshots) {
    const { atCrash, after: end } = facts.snapshots;
    const seen = `check changed the outside itself: ${describeChange(atCrash, end)}`;
    if (!sameSnapshot(atCrash, end)) problems.push({ kind: 'check_wrong', seen });
  }
  return problems;
}

/** Whether the interrupted execution took effect; null when nobody can tell. */
function tookEffect(before: Side, clean: CleanRun, facts: RunFacts): boolean | null {
  if (before.begins === 0) return false;
  if (before.ends.at(-1)?.outcome.ok) return true;
  if (facts.snapshots === null || !clean.seen) return null;
  return !sameSnapshot(facts.snapshots.before, facts.snapshots.atCrash);
}

interface Side {
  begins: number;
  ends: End[];
  checks: Extract<JournalEntry, { event: 'check' }>[];
}
type End = Extract<JournalEntry, { event: 'end' }>;

/** What the killed worker did, and what those after it did. */
function aroundCrash({ journal, crashedPid }: RunFacts): [before: Side, after: Side] {
  const side = (entries: JournalEntry[]): Side => ({
    begins: entries.filter((entry) => entry.event === 'begin').length,
    ends: endsOf(entries),
    checks: entries.filter((entry) => entry.event === 'check'),
  });
  return [
    side(journal.filter((entry) => entry.pid === crashedPid)),
    side(journal.filter((entry) => entry.pid !== crashedPid)),
  ];
}

function endsOf(entries: readonly JournalEntry[]): End[] {
  return entries.filter((entry) => entry.event === 'end');
}
