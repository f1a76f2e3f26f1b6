/** Refusals of a decision: each names the field and the remedy. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkResolveCall, kindOf } from '../../src/protocol/guards.ts';

const good = [
  { call_id: 'c', action: 'run_again' },
  { call_id: 'c', turn_id: 't', action: 'run_again' },
  { call_id: 'c', action: 'result', output: { sent: true } },
  { call_id: 'c', action: 'result', output: null },
  { call_id: 'c', action: 'report_failure' },
  { call_id: 'c', action: 'report_failure', error: 'The mail server is down.' },
];

const bad: [unknown, RegExp][] = [
  [undefined, /^expected an object such as \{"call_id".*\}, got nothing$/],
  [null, /got null$/],
  [[], /got a list$/],
  ['run_again', /got "run_again"$/],
  [42, /got number 42$/],
  [
    {},
    /^call_id: expected the id of a call that waits for a decision, got nothing; the query "pending" lists them$/,
  ],
  [{ call_id: '', action: 'run_again' }, /^call_id: .*got ""/],
  [{ call_id: 7, action: 'run_again' }, /^call_id: .*got number 7/],
  [
    { call_id: 'c', callId: 'c' },
    /^callId: unknown field; known are call_id, turn_id, action, output, error$/,
  ],
  [{ call_id: 'c', turn_id: 1, action: 'run_again' }, /^turn_id: expected a string, got number 1$/],
  [{ call_id: 'c' }, /^action: expected one of result, run_again, report_failure, got nothing$/],
  [{ call_id: 'c', action: 'retry' }, /^action: .*got "retry"$/],
  [{ call_id: 'c', action: ['result'] }, /^action: .*got a list$/],
  [{ call_id: 'c', action: 'result' }, /^output: needed with action "result"/],
  [{ call_id: 'c', action: 'run_again', output: 'x' }, /^output: goes only with action "result"$/],
  [
    { call_id: 'c', action: 'result', output: 'x', error: 'y' },
    /^error: goes only with action "report_failure"$/,
  ],
  [
    { call_id: 'c', action: 'report_failure', error: '  ' },
    /^error: expected the sentence that the model is to see, got " {2}"$/,
  ],
  [{ call_id: 'c', action: 'report_failure', error: { code: 1 } }, /^error: .*got an object$/],
];

describe('checkResolveCall', () => {
  for (const value of good)
    it(`takes ${JSON.stringify(value)}`, () => assert.equal(checkResolveCall(value), null));
  for (const [value, words] of bad) {
    it(`refuses ${JSON.stringify(value) ?? 'nothing'}`, () =>
      assert.match(checkResolveCall(value) ?? 'taken', words));
  }

  it('is short whatever it is given', () => {
    const long = 'x'.repeat(10_000);
    for (const value of [long, { [long]: 1 }, { call_id: 'c', action: long }])
      assert.ok((checkResolveCall(value) ?? '').length < 300);
  });
});

it('kindOf names any value in few words', () => {
  const kinds = [undefined, null, [], 'a"b', 'x'.repeat(41), {}, 1, true].map(kindOf);
  assert.deepEqual(kinds, [
    'nothing',
    'null',
    'a list',
    '"a\\"b"',
    'a long string',
    'an object',
    'number 1',
    'boolean true',
  ]);
});
