/** Which runs a crash test makes, and what it refuses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { agentRun, planTest, toolRun, type Selection } from '../../src/crash-test/plan.ts';
import { CRASH_POINTS } from '../../src/crash-test/points.ts';
import type { Description, ToolFacts } from '../../src/crash-test/messages.ts';
import { FAULT_POINTS } from '../../src/faults/fault-point.ts';

const tool = (name: string, more: Partial<ToolFacts> = {}): ToolFacts => ({
  name,
  effect: 'repeatable',
  has_check: false,
  timeout_ms: 1000,
  entry: { type: 'function', name },
  arguments: { of: name },
  problem: null,
  ...more,
});
const file: Description = {
  agents: [
    { name: 'till', tools: ['pay', 'note'], config: { model: 'till-model' } },
    { name: 'desk', tools: ['note'], config: { model: 'desk-model' } },
    { name: 'idle', tools: [], config: { model: 'idle-model' } },
  ],
  tools: [tool('pay', { effect: 'once', timeout_ms: 5000 }), tool('note'), tool('loose')],
  has_observe: false,
};
const all: Selection = { agents: [], tools: [], points: [], limitMs: null };

describe('a crash test', () => {
  it('knows every fault point, and one in the middle of the tool', () => {
    assert.deepEqual(
      CRASH_POINTS.filter((point) => point !== 'tool.running').toSorted(),
      FAULT_POINTS.toSorted(),
    );
  });

  it('calls each tool through the first agent that has it, and one that has none through one made for it', () => {
    const plan = planTest(file, all, {});
    assert.deepEqual(
      plan.tools.map(({ facts, agent }) => [facts.name, agent.name, agent.config]),
      [
        ['pay', 'till', { model: 'till-model' }],
        ['note', 'till', { model: 'till-model' }],
        ['loose', null, { model: 'crash-test', tools: [{ type: 'function', name: 'loose' }] }],
      ],
    );
    assert.deepEqual(
      plan.agents.map(({ agent, tools }) => [agent.name, tools.map(({ name }) => name)]),
      [
        ['till', ['pay', 'note']],
        ['desk', ['note']],
      ],
    );
    assert.equal(plan.toolPoints.length + plan.agentPoints.length, CRASH_POINTS.length);
  });

  it('can be narrowed to agents, tools and points, and says how much is executed at most', () => {
    const desk = planTest(file, { ...all, agents: ['desk'] }, {});
    assert.deepEqual(
      desk.tools.map(({ facts, agent }) => [facts.name, agent.name]),
      [['note', 'desk']],
    );
    const narrow = planTest(
      file,
      { ...all, tools: ['pay'], points: ['turn.ended', 'tool.after_effect'] },
      {},
    );
    assert.deepEqual(
      narrow.tools.map(({ facts }) => facts.name),
      ['pay'],
    );
    assert.deepEqual([narrow.toolPoints, narrow.agentPoints], [['tool.after_effect'], ['turn.ended']]);
    // One without a crash, two around the effect, one in the task of the agent.
    assert.equal(narrow.executions, 4);
  });

  it('kills in the middle of the time that the tool took, and waits as long as its limit says', () => {
    const [pay] = planTest(file, all, {}).tools;
    assert.ok(pay);
    const run = toolRun(pay, 'tool.running', { ms: 300, growth: null, seen: false }, all);
    assert.deepEqual([run.runningMs, run.limitMs], [150, 70_000]);
    assert.deepEqual(run.rounds, [
      [{ name: 'pay', arguments: { of: 'pay' }, call_id: 'crash-tool-running-pay-0' }],
    ]);
    assert.equal(toolRun(pay, null, null, { ...all, limitMs: 9 }).limitMs, 9);
  });

  it('calls an agent tool by tool, and what may be repeated where many calls are needed', () => {
    const [till] = planTest(file, all, {}).agents;
    assert.ok(till);
    const names = (point: 'turn.ended' | 'run.continued' | 'post.before_return'): string[][] =>
      agentRun(till, point, all).rounds.map((round) => round.map(({ name }) => name));
    assert.deepEqual(names('turn.ended'), [['pay'], ['note']]);
    assert.deepEqual(new Set(names('run.continued').flat()), new Set(['note']));
    assert.deepEqual(names('post.before_return'), [['note', 'note']]);
    const ids = agentRun(till, 'run.continued', all)
      .rounds.flat()
      .map(({ call_id }) => call_id);
    assert.equal(new Set(ids).size, ids.length);
  });

  const refused: [string, Partial<Selection>, Record<string, unknown>, RegExp][] = [
    ['an unknown agent', { agents: ['x'] }, {}, /^--agent: there is no "x"; there are: till, desk, idle$/],
    ['an unknown tool', { tools: ['x'] }, {}, /^--tool: there is no "x"; there are: pay, note, loose$/],
    ['arguments of an unknown tool', {}, { x: {} }, /^--arguments: there is no "x"/],
    ['an agent without tools', { agents: ['idle'] }, {}, /^there is no tool to test/],
    [
      'a tool that the agent does not have',
      { agents: ['desk'], tools: ['pay'] },
      {},
      /^there is no tool to test/,
    ],
  ];
  for (const [name, selection, given, message] of refused) {
    it(`refuses ${name}`, () => {
      assert.throws(() => planTest(file, { ...all, ...selection }, given), {
        name: 'CrashTestError',
        message,
      });
    });
  }

  it('refuses arguments that do not fit, and says whose they are', () => {
    const bad = { ...file, tools: [tool('pay'), tool('note', { problem: 'text: expected a string' })] };
    assert.throws(() => planTest(bad, all, { note: { of: 'note' } }), {
      message: '--arguments: note: text: expected a string',
    });
    assert.throws(() => planTest(bad, all, {}), {
      message: 'the made-up arguments do not do, give some with --arguments: note: text: expected a string',
    });
    assert.doesNotThrow(() => planTest(bad, { ...all, tools: ['pay'] }, {}));
  });
});
