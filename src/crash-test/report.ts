/** What a crash test found, as it is printed with `--json`: snake_case, times in ms or seconds as their names say. */
import type { Effect } from '../protocol/calls.ts';
import type { CheckAnswer, Problem, PointVerdict } from './verdict.ts';

export interface ToolReport {
  name: string;
  /** The agent that called it; null for a tool that no agent has. */
  agent: string | null;
  effect: Effect;
  has_check: boolean;
  arguments: Record<string, unknown>;
  /** `not_tested`: it does not even work without a crash; see `reason`. */
  verdict: 'held' | 'broke' | 'not_tested';
  reason: string | null;
  /** Time of the run without a crash; null when there was none. */
  clean_ms: number | null;
  /** Whether `observe()` showed an effect of that run; null without `observe`. */
  effect_seen: boolean | null;
  points: PointVerdict[];
  /** Crashes after which it was executed again, a person was asked, `check` gave an answer. */
  ran_again: number;
  person_asked: number;
  checks: Record<CheckAnswer, number>;
  /** What its author should do, a sentence each. */
  advice: string[];
}

/** The points around the tools of an agent. What breaks there is Holdfast's fault, not a tool's. */
export interface AgentReport {
  name: string;
  tools: string[];
  held: boolean;
  points: PointVerdict[];
}

export interface CrashTestReport {
  agents_file: string;
  /** Every declaration held, and every tool could be tested. */
  held: boolean;
  /** Whether there was an `observe`: without it only results are compared. */
  observed: boolean;
  temporal: { address: string; own: boolean };
  /** As workers were set. */
  heartbeat_timeout: string;
  tools: ToolReport[];
  agents: AgentReport[];
  seconds: number;
}

/** Sums up the verdicts of a tool. */
export function toolReport(
  facts: Pick<ToolReport, 'name' | 'agent' | 'effect' | 'has_check' | 'arguments'>,
  run: Pick<ToolReport, 'reason' | 'clean_ms' | 'effect_seen'>,
  points: PointVerdict[],
): ToolReport {
  const report: ToolReport = {
    ...facts,
    verdict: run.reason === null ? (points.every(({ held }) => held) ? 'held' : 'broke') : 'not_tested',
    ...run,
    points,
    ran_again: points.filter((point) => point.ran_again).length,
    person_asked: points.filter((point) => point.person_asked).length,
    checks: { done: 0, not_done: 0, unknown: 0 },
    advice: [],
  };
  for (const { check } of points) if (check !== null) report.checks[check]++;
  report.advice = adviceFor(report);
  return report;
}

function adviceFor(tool: ToolReport): string[] {
  if (tool.verdict === 'not_tested') {
    const example = JSON.stringify({ [tool.name]: tool.arguments });
    return [
      `Make it work first, perhaps with other arguments (--arguments '${example}'). HOLDFAST_LOG_TOOL_ERRORS=true shows what it throws.`,
    ];
  }
  const kinds = new Set(tool.points.flatMap(({ problems }) => problems.map(({ kind }) => kind)));
  const advice = [...kinds].map((kind) => ADVICE[kind]);
  if (tool.person_asked > 0) {
    advice.push(
      tool.has_check
        ? 'After such a crash a person must answer (holdfast resolve), because check answered "unknown": let it look the call up by call.idempotencyKey.'
        : 'After such a crash a person must answer (holdfast resolve). A check that looks the call up by call.idempotencyKey would answer instead.',
    );
  }
  return advice;
}

const ADVICE: Readonly<Record<Problem['kind'], string>> = {
  effect_repeated:
    "A crash can make it happen twice: pass call.idempotencyKey on to what it calls, or look that key up before acting; if neither is possible, declare effect: 'once'.",
  result_differs:
    "After a crash the agent may get either result: keep the result under call.idempotencyKey and return it again, or declare effect: 'once'; for a tool that only reads what changes by itself, allow it with --results-may-differ.",
  check_wrong:
    'check must say what really happened: look the call up by call.idempotencyKey where its effect is, change nothing, and answer "unknown" when in doubt.',
  worker_died: 'It must not end the process it runs in: throw an error instead.',
  not_finished: 'See why it does not end; a tool that needs longer is given a longer --timeout.',
  holdfast: 'This is not the doing of the tool: please report it as a bug of Holdfast.',
};
