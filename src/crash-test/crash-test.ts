/** A crash test from the agents file to the report. */
import { Bench, type BenchOptions, type Stage } from './bench.ts';
import { playRun } from './crash-run.ts';
import { CrashTestError } from './crash-test-error.ts';
import {
  agentRun,
  planTest,
  toolRun,
  type PlannedAgent,
  type PlannedTool,
  type Selection,
  type TestPlan,
} from './plan.ts';
import { toolReport, type AgentReport, type CrashTestReport, type ToolReport } from './report.ts';
import { sameSnapshot } from './snapshot.ts';
import { cleanRun, judgeAgent, judgeTool, type PointVerdict } from './verdict.ts';

export interface CrashTestOptions extends BenchOptions, Selection {
  /** Arguments by tool; for the others, examples are made up from their schemas. */
  arguments: Record<string, unknown>;
  /** Tools whose results may be others when they run again. */
  resultsMayDiffer: readonly string[];
}

/** Called after each run: whose it was, and what it showed; null for a run without a crash. */
export type Progress = (who: string, verdict: PointVerdict | null) => void;

export class CrashTest {
  readonly #bench: Bench;
  readonly #options: CrashTestOptions;
  readonly plan: TestPlan;

  private constructor(bench: Bench, options: CrashTestOptions, plan: TestPlan) {
    this.#bench = bench;
    this.#options = options;
    this.plan = plan;
  }

  /**
   * Loads the agents file, in a process of its own, and plans the test. Nothing of it is executed yet but the
   * module itself. `opened` is given what must be closed, before anything can go wrong.
   * Throws CrashTestError.
   */
  static async prepare(options: CrashTestOptions, opened: (bench: Bench) => void): Promise<CrashTest> {
    const bench = await Bench.open(options);
    opened(bench);
    const plan = planTest(await bench.describe(options.arguments), options, options.arguments);
    const stranger = options.resultsMayDiffer.find(
      (name) => !plan.tools.some(({ facts }) => facts.name === name),
    );
    if (stranger !== undefined) throw new CrashTestError(`--results-may-differ: ${stranger} is not tested`);
    return new CrashTest(bench, options, plan);
  }

  get observed(): boolean {
    return this.#bench.hasObserve;
  }

  /** Makes every run. Throws CrashTestError or ServerUnavailableError when it cannot. */
  async run(progress: Progress): Promise<CrashTestReport> {
    const began = Date.now();
    await this.#checkObserve();
    const stage = await this.#bench.start();
    const tools: ToolReport[] = [];
    for (const tool of this.plan.tools) tools.push(await this.#testTool(stage, tool, progress));
    const agents: AgentReport[] = [];
    for (const planned of this.plan.agents) {
      const working = planned.tools.filter(({ name }) =>
        tools.some((tool) => tool.name === name && tool.reason === null),
      );
      if (working.length === 0 || this.plan.agentPoints.length === 0) continue;
      agents.push(await this.#testAgent(stage, { ...planned, tools: working }, progress));
    }
    return {
      agents_file: this.#options.agentsFile,
      held: tools.every(({ verdict }) => verdict === 'held') && agents.every(({ held }) => held),
      observed: this.observed,
      temporal: { address: stage.temporal.address, own: stage.temporal.own },
      heartbeat_timeout: this.#bench.heartbeat,
      tools,
      agents,
      seconds: Math.round((Date.now() - began) / 1000),
    };
  }

  async #testTool(stage: Stage, tool: PlannedTool, progress: Progress): Promise<ToolReport> {
    const { facts, agent } = tool;
    const { name, effect, has_check, arguments: args } = facts;
    const about = { name, agent: agent.name, effect, has_check, arguments: args };
    const clean = cleanRun(
      facts,
      await playRun(this.#bench, stage, toolRun(tool, null, null, this.#options)),
    );
    progress(name, null);
    if (typeof clean === 'string')
      return toolReport(about, { reason: clean, clean_ms: null, effect_seen: null }, []);
    const points: PointVerdict[] = [];
    for (const point of this.plan.toolPoints) {
      const run = await playRun(this.#bench, stage, toolRun(tool, point, clean, this.#options));
      const resultsMayDiffer = this.#options.resultsMayDiffer.includes(name);
      const verdict = judgeTool(facts, point, clean, run, { resultsMayDiffer });
      points.push(verdict);
      progress(name, verdict);
    }
    const seen = this.observed ? clean.seen : null;
    return toolReport(about, { reason: null, clean_ms: clean.ms, effect_seen: seen }, points);
  }

  async #testAgent(stage: Stage, planned: PlannedAgent, progress: Progress): Promise<AgentReport> {
    const name = planned.agent.name ?? '';
    const points: PointVerdict[] = [];
    for (const point of this.plan.agentPoints) {
      const plan = agentRun(planned, point, this.#options);
      const verdict = judgeAgent(point, plan.attached, await playRun(this.#bench, stage, plan));
      points.push(verdict);
      progress(name, verdict);
    }
    const tools = planned.tools.map((tool) => tool.name);
    return { name, tools, held: points.every(({ held }) => held), points };
  }

  /** A snapshot that changes by itself would be taken for an effect. */
  async #checkObserve(): Promise<void> {
    const [first, second] = [await this.#bench.observe(), await this.#bench.observe()];
    if (sameSnapshot(first, second)) return;
    throw new CrashTestError(
      'observe() gave two different snapshots while nothing ran: leave out times and the like',
    );
  }
}
