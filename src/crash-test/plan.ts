/** Which runs a crash test makes: from what the agents file holds and what the user asked for. Pure. */
import { CrashTestError } from './crash-test-error.ts';
import type { Call, PlayedAgent, RunPlan } from './crash-run.ts';
import type { Description, ToolFacts } from './messages.ts';
import { CRASH_POINTS, scopeOf, type CrashPoint } from './points.ts';
import type { CleanRun } from './verdict.ts';

/** Rounds after which a history is long enough for a task to continue as new, and the limit that is set for it. */
const MANY_ROUNDS = 8;
const CONTINUE_AFTER_EVENTS = 50;
/** How long one of two equal calls is held up. */
const HOLD_MS = 700;
/** Beside the tools' own time limits: for workers to start, and for losses to be noticed. */
const BASE_LIMIT_MS = 60_000;

export interface Selection {
  /** Names; empty lists mean all. */
  agents: readonly string[];
  tools: readonly string[];
  points: readonly CrashPoint[];
  /** Limit of one run; null: by the tools' own limits. */
  limitMs: number | null;
}

export interface PlannedTool {
  facts: ToolFacts;
  agent: PlayedAgent;
}

export interface PlannedAgent {
  agent: PlayedAgent;
  tools: ToolFacts[];
}

export interface TestPlan {
  tools: PlannedTool[];
  /** Registered agents with at least one of the tools. */
  agents: PlannedAgent[];
  toolPoints: CrashPoint[];
  agentPoints: CrashPoint[];
  /** How often tools are executed in all, at most. */
  executions: number;
}

/** Throws CrashTestError for names that do not exist, and for arguments that do not fit their tool. */
export function planTest(
  description: Description,
  selection: Selection,
  given: Record<string, unknown>,
): TestPlan {
  const { agents, tools } = description;
  known(
    '--agent',
    selection.agents,
    agents.map(({ name }) => name),
  );
  known(
    '--tool',
    selection.tools,
    tools.map(({ name }) => name),
  );
  known(
    '--arguments',
    Object.keys(given),
    tools.map(({ name }) => name),
  );
  const chosenAgents = agents.filter(({ name }) => isChosen(selection.agents, name));
  const chosen = tools.filter(({ name }) => {
    const owned = chosenAgents.some((agent) => agent.tools.includes(name));
    return isChosen(selection.tools, name) && (owned || selection.agents.length === 0);
  });
  if (chosen.length === 0)
    throw new CrashTestError('there is no tool to test: the agents have none, or none was chosen');
  for (const { name, problem } of chosen) {
    if (problem === null) continue;
    const how = name in given ? '--arguments' : 'the made-up arguments do not do, give some with --arguments';
    throw new CrashTestError(`${how}: ${name}: ${problem}`);
  }
  const points = CRASH_POINTS.filter((point) => isChosen(selection.points, point));
  const plannedTools = chosen.map((facts) => ({ facts, agent: agentFor(facts, chosenAgents) }));
  const plannedAgents = chosenAgents
    .map(({ name, config, tools: own }) => ({
      agent: { name, config },
      tools: chosen.filter((tool) => own.includes(tool.name)),
    }))
    .filter((agent) => agent.tools.length > 0);
  const toolPoints = points.filter((point) => scopeOf(point) === 'tool');
  const agentPoints = points.filter((point) => scopeOf(point) === 'agent');
  const aroundTools = plannedAgents.flatMap(({ tools: own }) =>
    agentPoints.map((point) => roundsAround(point, own, '').flat().length),
  );
  return {
    tools: plannedTools,
    agents: plannedAgents,
    toolPoints,
    agentPoints,
    executions:
      chosen.length * (1 + 2 * toolPoints.length) + aroundTools.reduce((sum, count) => sum + count, 0),
  };
}

/** The run of one call of one tool; without a point nothing is killed. */
export function toolRun(
  { facts, agent }: PlannedTool,
  point: CrashPoint | null,
  clean: CleanRun | null,
  selection: Selection,
): RunPlan {
  return {
    point,
    agent,
    rounds: [[callOf(facts, point ?? 'none', 0)]],
    heldCall: null,
    attached: false,
    continueAfterEvents: null,
    runningMs: Math.max(1, Math.round((clean?.ms ?? 0) / 2)),
    limitMs: selection.limitMs ?? BASE_LIMIT_MS + 2 * facts.timeout_ms,
    observed: true,
  };
}

/** The run of all tools of an agent at a point around them. Nothing is observed: the effects of many tools mix. */
export function agentRun({ agent, tools }: PlannedAgent, point: CrashPoint, selection: Selection): RunPlan {
  const rounds = roundsAround(point, tools, point);
  const held = rounds[0]?.[1];
  const limits = rounds.flat().map(({ name }) => tools.find((tool) => tool.name === name)?.timeout_ms ?? 0);
  return {
    point,
    agent,
    rounds,
    heldCall: point === 'post.before_return' && held ? { call_id: held.call_id, ms: HOLD_MS } : null,
    attached: point === 'input.posted',
    continueAfterEvents: point.startsWith('run.') ? CONTINUE_AFTER_EVENTS : null,
    runningMs: 0,
    limitMs: selection.limitMs ?? BASE_LIMIT_MS + limits.reduce((sum, ms) => sum + ms, 0),
    observed: false,
  };
}

function roundsAround(point: CrashPoint, tools: readonly ToolFacts[], id: string): Call[][] {
  const [first] = tools;
  if (first === undefined) return [];
  // A tool that may be called often is the better one to call often.
  const tool = tools.find(({ effect }) => effect === 'repeatable') ?? first;
  // Twice the same: both take about as long, and the one that is held up ends while the other's result is posted.
  if (point === 'post.before_return') return [[callOf(tool, id, 0), callOf(tool, id, 1)]];
  if (point.startsWith('run.'))
    return Array.from({ length: MANY_ROUNDS }, (_, round) => [callOf(tool, id, round)]);
  return tools.map((each, index) => [callOf(each, id, index)]);
}

function callOf({ name, arguments: args }: ToolFacts, id: string, index: number): Call {
  return { name, arguments: args, call_id: `crash-${id.replace('.', '-')}-${name}-${index}` };
}

/** The first agent that has the tool, else one made up for it. */
function agentFor(tool: ToolFacts, agents: Description['agents']): PlayedAgent {
  const owner = agents.find((agent) => agent.tools.includes(tool.name));
  return owner
    ? { name: owner.name, config: owner.config }
    : { name: null, config: { model: 'crash-test', tools: [tool.entry] } };
}

function isChosen(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name);
}

function known(option: string, names: readonly string[], all: readonly string[]): void {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown === undefined) return;
  throw new CrashTestError(
    `${option}: there is no ${JSON.stringify(unknown)}; there are: ${all.join(', ') || 'none'}`,
  );
}
