/** What is concluded from what was seen, case by case: the cases that real workers seldom produce. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { RunFacts } from '../../src/crash-test/crash-run.ts';
import type { JournalEvent, Outcome } from '../../src/crash-test/journal.ts';
import type { ToolFacts } from '../../src/crash-test/messages.ts';
import { describeChange, growth } from '../../src/crash-test/snapshot.ts';
import { cleanRun, judgeAgent, judgeTool, type CleanRun } from '../../src/crash-test/verdict.ts';

const KILLED = 1;
const NEXT = 2;
type Seen = [pid: number, event: JournalEvent];

const begin: JournalEvent = { event: 'begin' };
const returned = (output: string): JournalEvent => ({ event: 'end', outcome: { ok: true, output } });
const threw = (error: string): JournalEvent => ({ event: 'end', outcome: { ok: false, error } });
const checked = (status: 'done' | 'not_done' | 'unknown'): JournalEvent => ({
  event: 'check',
  status,
  outcome: null as Outcome | null,
});

function facts(seen: Seen[], more: Partial<RunFacts> = {}): RunFacts {
  return {
    point: 'tool.running',
    crashed: true,
    end: 'completed',
    why: '',
    crashedPid: KILLED,
    journal: seen.map(([pid, event], at) => ({ ...event, pid, at, tool: 'pay', call_id: 'c', key: 'k' })),
    personAsked: [],
    snapshots: null,
    calls: [{ name: 'pay', call_id: 'c', arguments: {} }],
    service: { creates: 1, accepted: 1, refused: 0, violations: [] },
    seconds: 1,
    ...more,
  };
}

const tool = (effect: 'once' | 'repeatable'): ToolFacts => ({
  name: 'pay',
  effect,
  has_check: effect === 'once',
  timeout_ms: 1000,
  entry: {},
  arguments: {},
  problem: null,
});
const blind: CleanRun = { ms: 10, growth: null, seen: false };
const seeing: CleanRun = { ms: 10, growth: 1, seen: true };

/** Kinds of problems. */
function kinds(
  effect: 'once' | 'repeatable',
  run: RunFacts,
  clean: CleanRun = blind,
  resultsMayDiffer = false,
): string[] {
  const { problems, held } = judgeTool(tool(effect), 'tool.running', clean, run, { resultsMayDiffer });
  assert.equal(held, problems.length === 0);
  return problems.map(({ kind }) => kind);
}
const lines = (before: number, atCrash: number, after: number): Pick<RunFacts, 'snapshots'> => {
  const file = (count: number): string[] => Array.from({ length: count }, () => 'line');
  return { snapshots: { before: file(before), atCrash: file(atCrash), after: file(after) } };
};

describe('a repeatable tool', () => {
  const twice = (second: JournalEvent, more: Partial<RunFacts> = {}): RunFacts =>
    facts(
      [
        [KILLED, begin],
        [KILLED, returned('{"a":1,"b":2}')],
        [NEXT, begin],
        [NEXT, second],
      ],
      more,
    );

  it('holds with the same result, in whatever order of keys', () => {
    assert.deepEqual(kinds('repeatable', twice(returned('{"b":2,"a":1}'))), []);
  });
  it('breaks with another result, and with a failure even where results may differ', () => {
    assert.deepEqual(kinds('repeatable', twice(returned('{"a":1}'))), ['result_differs']);
    assert.deepEqual(kinds('repeatable', twice(returned('{"a":1}')), blind, true), []);
    assert.deepEqual(kinds('repeatable', twice(threw('there already')), blind, true), ['result_differs']);
  });
  it('is judged by its last try, not by one that failed in between', () => {
    const run = twice(threw('busy'));
    const [entry] = run.journal;
    assert.ok(entry);
    run.journal.push({ ...entry, ...returned('{"a":1,"b":2}'), pid: NEXT });
    assert.deepEqual(kinds('repeatable', run), []);
  });
  it('breaks when the outside changes again after a whole run', () => {
    assert.deepEqual(kinds('repeatable', twice(returned('{"a":1,"b":2}'), lines(0, 1, 2)), seeing), [
      'effect_repeated',
    ]);
    assert.deepEqual(kinds('repeatable', twice(returned('{"a":1,"b":2}'), lines(0, 1, 1)), seeing), []);
  });
  it('may finish after an interruption what it had begun, but no more', () => {
    const interrupted = (more: Partial<RunFacts>): RunFacts =>
      facts(
        [
          [KILLED, begin],
          [NEXT, begin],
          [NEXT, returned('1')],
        ],
        more,
      );
    assert.deepEqual(kinds('repeatable', interrupted(lines(0, 0, 1)), seeing), []);
    assert.deepEqual(kinds('repeatable', interrupted(lines(0, 1, 1)), seeing), []);
    assert.deepEqual(kinds('repeatable', interrupted(lines(0, 1, 2)), seeing), ['effect_repeated']);
    assert.deepEqual(kinds('repeatable', interrupted(lines(0, 1, 2)), { ms: 1, growth: 2, seen: true }), []);
  });
  it('is not blamed for its first run after a crash before it', () => {
    const late = facts(
      [
        [NEXT, begin],
        [NEXT, returned('1')],
      ],
      lines(0, 0, 1),
    );
    assert.deepEqual(kinds('repeatable', late, seeing), []);
  });
});

describe('a once tool', () => {
  const interrupted = (rest: Seen[], more: Partial<RunFacts> = {}): RunFacts =>
    facts([[KILLED, begin], ...rest], more);

  it('holds when a person was asked', () => {
    const run = interrupted([[NEXT, checked('unknown')]], { personAsked: ['c'] });
    const verdict = judgeTool(tool('once'), 'tool.running', blind, run, { resultsMayDiffer: false });
    assert.deepEqual([verdict.held, verdict.person_asked, verdict.check], [true, true, 'unknown']);
  });
  it('is not judged by a check about an interruption that nobody saw the effect of', () => {
    const again: Seen[] = [
      [NEXT, checked('not_done')],
      [NEXT, begin],
      [NEXT, returned('1')],
    ];
    assert.deepEqual(kinds('once', interrupted(again)), []);
    assert.deepEqual(kinds('once', interrupted([[NEXT, checked('done')]])), []);
  });
  it('has a wrong check when the outside says otherwise', () => {
    const again: Seen[] = [
      [NEXT, checked('not_done')],
      [NEXT, begin],
      [NEXT, returned('1')],
    ];
    assert.deepEqual(kinds('once', interrupted(again, lines(0, 1, 2)), seeing), ['check_wrong']);
    assert.deepEqual(kinds('once', interrupted(again, lines(0, 0, 1)), seeing), []);
    assert.deepEqual(kinds('once', interrupted([[NEXT, checked('done')]], lines(0, 0, 0)), seeing), [
      'check_wrong',
    ]);
    assert.deepEqual(kinds('once', interrupted([[NEXT, checked('done')]], lines(0, 1, 1)), seeing), []);
  });
  it('has a wrong check when the check changes something', () => {
    assert.deepEqual(kinds('once', interrupted([[NEXT, checked('unknown')]], lines(0, 1, 2)), seeing), [
      'check_wrong',
    ]);
  });
  it('that ran twice unasked is the fault of Holdfast', () => {
    assert.deepEqual(kinds('once', interrupted([[NEXT, begin]])), ['holdfast']);
  });
});

describe('any run', () => {
  it('that went wrong at the service, or with two keys, is the fault of Holdfast', () => {
    const service = { creates: 2, accepted: 2, refused: 1, violations: ['unknown call'] };
    assert.deepEqual(
      kinds('once', facts([], { service })),
      Array.from({ length: 4 }, () => 'holdfast'),
    );
    const run = facts([
      [KILLED, begin],
      [NEXT, checked('not_done')],
    ]);
    run.journal = run.journal.map((entry, index) => ({ ...entry, key: `k${index}` }));
    assert.deepEqual(kinds('once', run), ['holdfast']);
  });
  it('that did not end says why', () => {
    assert.deepEqual(kinds('once', facts([], { end: 'not_finished' })), ['not_finished']);
    assert.deepEqual(kinds('repeatable', facts([], { end: 'worker_died' })), ['worker_died']);
  });
  it('around the tools executes each call once', () => {
    const once = facts([[NEXT, begin]]);
    assert.equal(judgeAgent('turn.ended', false, once).held, true);
    assert.equal(
      judgeAgent('turn.ended', true, once).held,
      false,
      'no session is created for an attached task',
    );
    const twice = facts([
      [KILLED, begin],
      [NEXT, begin],
    ]);
    assert.match(judgeAgent('turn.ended', false, twice).problems[0]?.seen ?? '', /^pay was executed 2 times/);
    const failing = facts([
      [NEXT, begin],
      [NEXT, threw('busy')],
      [NEXT, begin],
    ]);
    assert.equal(judgeAgent('turn.ended', false, failing).held, true);
  });
  it('without a crash gives what the others are compared with, or a reason', () => {
    const whole: Seen[] = [
      [NEXT, begin],
      [NEXT, returned('1')],
    ];
    const run = facts(whole, { crashed: false, ...lines(3, 3, 5) });
    assert.deepEqual(cleanRun(tool('once'), run), { ms: 1, growth: 2, seen: true });
    assert.deepEqual(cleanRun(tool('once'), facts(whole)), { ms: 1, growth: null, seen: false });
    const failed = facts([
      [NEXT, begin],
      [NEXT, threw('RangeError')],
    ]);
    assert.equal(cleanRun(tool('once'), failed), 'without any crash it failed: RangeError');
    const hung = facts([], { end: 'not_finished', why: 'no end' });
    assert.equal(cleanRun(tool('once'), hung), 'it did not come to an end: no end');
  });
});

describe('snapshots', () => {
  it('grow by entries, lines and numbers', () => {
    assert.equal(growth({ rows: 2, log: 'a\n', list: [1] }, { rows: 3, log: 'a\nb\n', list: [1, 2] }), 3);
    assert.equal(growth(5, 3), -2);
    assert.equal(growth({}, { new: { amount: 9 } }), 11);
    assert.equal(growth(null, false), 0);
  });
  it('show where they differ', () => {
    assert.equal(describeChange({ a: 1, b: { c: 2 } }, { a: 1, b: { c: 3 } }), 'b.c: 2, then 3');
    assert.equal(describeChange([1], [1, 2]), '1 entry, then 2 entries');
    assert.equal(describeChange('x\n', 'x\ny\n'), '1 lines, then 2');
    assert.equal(describeChange({ token: 'abc' }, { token: 'abd' }), 'token: another value');
  });
});
