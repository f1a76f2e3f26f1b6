/** The report for people: a block for each tool, then the points around the tools. */
import { safeJson } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';
import { whenOf } from './points.ts';
import type { AgentReport, CrashTestReport, ToolReport } from './report.ts';
import type { PointVerdict } from './verdict.ts';

const WIDTH = 100;
const VERDICT = { held: 'held', broke: 'BROKE', not_tested: 'NOT TESTED' } as const;

/** The whole report. Lines are at most about a hundred characters, except for sentences. */
export function reportText(report: CrashTestReport): string {
  const blocks = [
    ...report.tools.map((tool) => toolBlock(tool, report.observed)),
    ...report.agents.map(agentBlock),
    summary(report),
  ];
  return blocks.map((lines) => lines.join('\n')).join('\n\n');
}

function toolBlock(tool: ToolReport, observed: boolean): string[] {
  const lines = [`${tool.name}: effect "${tool.effect}" ${VERDICT[tool.verdict]}`];
  const add = (label: string, text: string): void => void lines.push(`  ${label.padEnd(13)}${text}`);
  add('called with', oneLine(safeJson(tool.arguments), WIDTH));
  if (tool.reason !== null) add('why', tool.reason);
  else if (tool.points.length > 0) add('tried', tried(tool.points));
  if (tool.ran_again > 0) add('ran again', ranAgain(tool, observed));
  if (tool.effect_seen === false)
    add('observe', 'shows no effect of this tool: only results and executions were compared');
  if (tool.effect === 'once' && tool.reason === null) {
    if (tool.has_check) add('check', checks(tool));
    add('a person', person(tool));
  }
  lines.push(...broken(tool.points));
  for (const sentence of tool.advice) lines.push(`  -> ${sentence}`);
  return lines;
}

function agentBlock(agent: AgentReport): string[] {
  const lines = [`around the tools of agent ${agent.name}: ${agent.held ? 'held' : 'BROKE'}`];
  lines.push(`  ${'tried'.padEnd(13)}${tried(agent.points)}`, ...broken(agent.points));
  if (!agent.held) lines.push('  -> This is not the doing of a tool: please report it as a bug of Holdfast.');
  return lines;
}

function tried(points: readonly PointVerdict[]): string {
  const reached = points.filter((point) => point.reached);
  const missed = points.filter((point) => !point.reached).map(({ point }) => point);
  const rest = missed.length === 0 ? '' : `; not reached: ${missed.join(', ')}`;
  return `${count(reached.length, 'crash point')}, held at ${reached.filter(({ held }) => held).length}${rest}`;
}

function ranAgain(tool: ToolReport, observed: boolean): string {
  const points = tool.points.filter((point) => point.ran_again);
  const compared =
    observed && tool.effect_seen !== false ? 'results and effects compared' : 'results compared';
  return `after ${count(points.length, 'crash', 'crashes')} (${points.map(({ point }) => point).join(', ')}): ${compared}`;
}

function checks({ checks: answers }: ToolReport): string {
  const given = Object.entries(answers).filter(([, times]) => times > 0);
  if (given.length === 0) return 'was never asked';
  return `answered ${given.map(([answer, times]) => `"${answer}" ${count(times, 'time')}`).join(', ')}`;
}

function person(tool: ToolReport): string {
  const points = tool.points.filter(({ person_asked }) => person_asked).map(({ point }) => point);
  const crashes = tool.points.filter(({ reached }) => reached).length;
  if (points.length === 0) return `was asked after none of ${count(crashes, 'crash', 'crashes')}`;
  return `was asked after ${points.length} of ${count(crashes, 'crash', 'crashes')}: ${points.join(', ')}`;
}

function broken(points: readonly PointVerdict[]): string[] {
  return points.flatMap(({ point, reached, problems }) => {
    if (problems.length === 0) return [];
    const where = reached ? `killed ${whenOf(point)}` : 'without a crash';
    return [`  ${point} (${where})`, ...problems.map(({ seen }) => `    ${seen}`)];
  });
}

function summary(report: CrashTestReport): string[] {
  const held = report.tools.filter(({ verdict }) => verdict === 'held').length;
  const all = report.tools.length;
  const lines = [`${held} of ${count(all, 'declaration')} held (${report.seconds} s).`];
  if (!report.observed) {
    lines.push(
      'Only results and executions were compared: export an async function observe() that returns a snapshot',
      'of what your tools change, and effects that happen twice are found as well.',
    );
  }
  return lines;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
