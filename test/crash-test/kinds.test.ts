/** True and untrue declarations, told apart by exit code and text. Workers are killed for real. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { Finished } from '../cli/command.ts';
import { agentsFile, report, World } from './command.ts';

describe('holdfast crash-test tells apart', { concurrency: 2 }, () => {
  let world: World;
  before(() => {
    world = new World();
  });
  after(() => {
    assert.deepEqual(world.left, []);
    world.remove();
  });

  // Observed together, one run's effect would be taken for another's: each looks at an outside of its own.
  const test = (tools: string[], points: string[], ...more: string[]): Promise<Finished> =>
    world.runCompiled([agentsFile('ledger'), '--tool', ...tools, '--point', ...points, '--yes', ...more], {
      OUTSIDE_FILE: `${world.folder}/${tools.join('-')}`,
    });

  it('tools that are what they are declared to be: 0', async () => {
    const tools = ['note', 'differs', 'pay', 'pay_checked'];
    const points = ['tool.after_fence', 'tool.after_effect'];
    const { code, stdout, stderr } = await test(tools, points, '--results-may-differ', 'differs');
    assert.equal(code, 0, stdout + stderr);
    assert.match(stderr, /^This really executes the tools below, up to 20 times in all/);
    assert.match(stderr, /\n {2}repeatable note\({"amount":1}\)\n/);
    assert.match(stdout, /\n4 of 4 declarations held \(\d+ s\)\.\n$/);
    const [note, differs, pay, pay_checked] = blocks(stdout);

    assert.match(note, /^note: effect "repeatable" held\n/);
    assert.match(note, /tried +2 crash points, held at 2\n/);
    assert.match(note, /ran again +after 1 crash \(tool\.after_effect\): results and effects compared$/);

    assert.match(pay, /^pay: effect "once" held\n/);
    assert.match(pay, /a person +was asked after 2 of 2 crashes: tool\.after_fence, tool\.after_effect\n/);
    assert.match(pay, /-> After such a crash a person must answer .* A check .* would answer instead\.$/);
    assert.ok(!pay.includes('ran again'), pay);

    assert.match(pay_checked, /^pay_checked: effect "once" held\n/);
    assert.match(pay_checked, /check +answered "done" 1 time, "not_done" 1 time\n/);
    assert.match(pay_checked, /a person +was asked after none of 2 crashes$/);

    assert.match(differs, /^differs: effect "repeatable" held\n/);
    assert.match(differs, /observe +shows no effect of this tool/);
  });

  it('tools that take effect again, one only when it is killed in the middle: 1', async () => {
    const { code, stdout } = await test(['doubles', 'forgets'], ['tool.running', 'tool.after_effect']);
    assert.equal(code, 1, stdout);
    const [doubles, forgets] = blocks(stdout);
    assert.match(doubles, /^doubles: effect "repeatable" BROKE\n/);
    assert.match(doubles, /\n {2}tool\.after_effect \(killed after the tool had returned\)\n/);
    assert.match(
      doubles,
      /second run changed the outside again: lines: (\d+) entr(y|ies), then \d+ entries\n/,
    );
    assert.match(doubles, /-> A crash can make it happen twice: pass call\.idempotencyKey on/);

    assert.match(forgets, /^forgets: effect "repeatable" BROKE\n/);
    assert.match(forgets, /tried +2 crash points, held at 1\n/);
    assert.match(forgets, /\n {2}tool\.running \(killed in the middle of the tool\)\n/);
    assert.match(forgets, /changed the outside more than one run does: lines: /);
    assert.match(stdout, /\n0 of 2 declarations held/);
  });

  it('a tool whose second result differs: 1', async () => {
    const { code, stdout } = await test(['differs'], ['tool.before_return']);
    assert.equal(code, 1);
    assert.match(stdout, /^differs: effect "repeatable" BROKE\n/);
    assert.match(stdout, /the first run returned {"pid":\d+}, the second one returned {"pid":\d+}\n/);
    assert.match(stdout, /-> After a crash the agent may get either result/);
  });

  it('checks that deny what has happened, or claim what has not: 1', async () => {
    const points = ['tool.after_fence', 'tool.after_effect'];
    const run = await test(['pay_denied', 'pay_claimed'], points, '--json');
    assert.equal(run.code, 1, run.stdout);
    const { held, observed, tools } = report(run);
    assert.deepEqual([held, observed], [false, true]);
    const seen = tools.map(({ name, verdict, points: tried, person_asked }) => ({
      name,
      verdict,
      person_asked,
      tried: tried.map((at) => [at.point, at.executions, at.check, at.problems.map(({ kind }) => kind)]),
    }));
    assert.deepEqual(seen, [
      {
        name: 'pay_denied',
        verdict: 'broke',
        person_asked: 0,
        tried: [
          ['tool.after_fence', 1, 'not_done', []],
          ['tool.after_effect', 2, 'not_done', ['check_wrong']],
        ],
      },
      {
        name: 'pay_claimed',
        verdict: 'broke',
        person_asked: 0,
        tried: [
          ['tool.after_fence', 0, 'done', ['check_wrong']],
          ['tool.after_effect', 1, 'done', []],
        ],
      },
    ]);
    for (const { advice } of tools) assert.match(advice.join(), /^check must say what really happened/);
  });

  it('crashes around the tools, where nothing is executed twice: 0', async () => {
    const points = ['input.posted', 'post.before_return', 'run.continued'];
    const run = await test(['note'], points, '--json', '--arguments', '{"note": {"amount": 3}}');
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const [agent] = report(run).agents;
    assert.deepEqual([agent?.name, agent?.tools, agent?.held], ['ledger', ['note'], true]);
    const seen = agent?.points.map(({ point, reached, ran_again }) => ({ point, reached, ran_again }));
    assert.deepEqual(
      seen,
      points.map((point) => ({ point, reached: true, ran_again: false })),
    );
    assert.deepEqual(report(run).tools[0]?.arguments, { amount: 3 });
  });
});

/** The blocks of a report: one for each tool, then the rest. */
function blocks(stdout: string): [string, string, string, string] {
  const [first = '', second = '', third = '', fourth = ''] = stdout.split('\n\n');
  return [first, second, third, fourth];
}
