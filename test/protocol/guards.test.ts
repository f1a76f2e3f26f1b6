/** Refusals of what people send: each names the field and the remedy, and shows no value. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { checkJson, checkResolveCall, MAX_INPUT_BYTES, MAX_LEVELS } from '../../src/protocol/guards.ts';
import { isDeeper } from '../../src/protocol/json.ts';
import { kindOf } from '../../src/protocol/problems.ts';
import { Unreadable } from '../../src/protocol/unreadable.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

const good = [
  { call_id: 'c', action: 'run_again' },
  { call_id: 'c', turn_id: 't', action: 'run_again' },
  { call_id: 'c', action: 'result', output: { sent: true } },
  { call_id: 'c', action: 'result', output: null },
  { call_id: 'c', action: 'result', output: nested(MAX_LEVELS) },
  { call_id: 'c', action: 'report_failure' },
  { call_id: 'c', action: 'report_failure', error: 'The mail server is down.' },
];

const OBJECT = 'a JSON object such as {"call_id": "call_1", "action": "run_again"}';
const CALL = 'the id of a call that waits for a decision';
const LIST = '; the query "pending" lists them';
const ACTION = 'expected one of result, run_again, report_failure';
const SENTENCE = 'expected the sentence that the model is to see';

/** Title, arguments, the exact message. */
const bad: [title: string, args: unknown[], message: string][] = [
  ['nothing', [], `input: missing, expected ${OBJECT}`],
  ['null', [null], `input: expected ${OBJECT}, got null`],
  ['a list', [[]], `input: expected ${OBJECT}, got array`],
  ['text', ['run_again'], `input: expected ${OBJECT}, got string`],
  ['a number', [42], `input: expected ${OBJECT}, got number`],
  [
    'JSON encoded twice',
    ['{"call_id":"c","action":"run_again"}'],
    `input: expected ${OBJECT}, got a string that holds a JSON object (encoded twice): give the object itself, without the quotes around it`,
  ],
  ['bytes', [new Uint8Array(3)], `input: expected ${OBJECT}, got binary data: send JSON`],
  [
    'what cannot be read',
    [new Unreadable('odd/one')],
    `input: expected ${OBJECT}, got a payload of encoding "odd/one" that cannot be read: send JSON`,
  ],
  [
    'two arguments',
    [{ call_id: 'c', action: 'run_again' }, {}],
    `input: expected one argument, got 2: put everything into one JSON object such as ${OBJECT.slice('a JSON object such as '.length)}`,
  ],
  ['an empty object', [{}], `call_id: missing, expected ${CALL}${LIST}`],
  ['an empty call_id', [{ call_id: ' ' }], `call_id: expected ${CALL}, got blank text${LIST}`],
  [
    'a number as call_id',
    [{ call_id: 7 }],
    `call_id: expected ${CALL}, got number: write it in quotes${LIST}`,
  ],
  ['camel case', [{ call_id: 'c', callId: 'c' }], 'callId: unknown field, did you mean "call_id"?'],
  [
    'an unknown field',
    [{ call_id: 'c', why: 1 }],
    'why: unknown field, the fields are call_id, turn_id, action, output, error',
  ],
  [
    'a prototype',
    [JSON.parse('{"__proto__": {"call_id": "c", "action": "run_again"}}')],
    '__proto__: unknown field, the fields are call_id, turn_id, action, output, error',
  ],
  [
    'turn_id: null',
    [{ call_id: 'c', turn_id: null, action: 'run_again' }],
    "turn_id: expected the id of the call's turn, got null, or leave it out",
  ],
  ['no action', [{ call_id: 'c' }], `action: missing, ${ACTION}`],
  [
    'a misspelt action',
    [{ call_id: 'c', action: 'runAgain' }],
    `action: ${ACTION}, did you mean "run_again"?`,
  ],
  ['an unknown action', [{ call_id: 'c', action: 'hunter2' }], `action: ${ACTION}`],
  ['an action in a list', [{ call_id: 'c', action: ['result'] }], `action: ${ACTION}, got array`],
  [
    'no output',
    [{ call_id: 'c', action: 'result' }],
    'output: needed with action "result": the text or JSON that the tool would have given',
  ],
  [
    'output of the wrong action',
    [{ call_id: 'c', action: 'run_again', output: 'x' }],
    'output: goes only with action "result"',
  ],
  [
    'error of the wrong action',
    [{ call_id: 'c', action: 'result', output: 'x', error: 'y' }],
    'error: goes only with action "report_failure"',
  ],
  [
    'a blank error',
    [{ call_id: 'c', action: 'report_failure', error: '  ' }],
    `error: ${SENTENCE}, got blank text`,
  ],
  [
    'an error that is an object',
    [{ call_id: 'c', action: 'report_failure', error: { code: 1 } }],
    `error: ${SENTENCE}, got object`,
  ],
  [
    'an output too deep',
    [{ call_id: 'c', action: 'result', output: nested(MAX_LEVELS + 1) }],
    'output: nested deeper than 200 levels: make it flatter',
  ],
  [
    'an output too large',
    [{ call_id: 'c', action: 'result', output: 'x'.repeat(MAX_INPUT_BYTES) }],
    'output: 1.5 MB of JSON, at most 1.5 MB are taken: shorten it',
  ],
];

describe('checkResolveCall', () => {
  for (const value of good)
    it(`takes ${JSON.stringify(value).slice(0, 80)}`, () => assert.equal(checkResolveCall([value]), null));
  for (const [title, args, message] of bad)
    it(`refuses ${title}`, () => assert.equal(checkResolveCall(args), message));

  it('is short whatever it is given', () => {
    const long = 'x'.repeat(10_000);
    for (const value of [long, { [long]: 1 }, { call_id: 'c', action: long }])
      assert.ok((checkResolveCall([value]) ?? '').length < 300);
  });
});

describe('checkJson', () => {
  it('takes what can be handed on, whatever it is', () => {
    for (const value of [undefined, null, 'x', {}, nested(MAX_LEVELS), 'x'.repeat(MAX_INPUT_BYTES - 2)])
      assert.equal(checkJson(value, '{}'), null);
  });

  it('refuses the rest with the remedy', () => {
    assert.match(checkJson(nested(MAX_LEVELS + 1), '{}') ?? '', /^nested deeper than 200 levels.*flatter$/);
    assert.match(
      checkJson('é'.repeat(MAX_INPUT_BYTES / 2), '{}') ?? '',
      /^1\.5 MB of JSON, at most 1\.5 MB are taken: leave/,
    );
    assert.match(checkJson({ a: 5n }, '{}') ?? '', /^cannot be written as JSON/);
    assert.match(
      checkJson(new Uint8Array(1), '{"a": 1}') ?? '',
      /such as \{"a": 1\}, got binary data: send JSON$/,
    );
  });
});

it('isDeeper looks at every branch, and ends for a value that contains itself', () => {
  const loop: unknown[] = [];
  loop.push(loop);
  assert.equal(isDeeper(loop, 5), true);
  assert.equal(isDeeper({ a: 1, b: [{ c: [] }], d: null }, 3), true);
  assert.equal(isDeeper({ a: 1, b: [{ c: [] }], d: null }, 4), false);
  assert.equal(isDeeper(nested(1_000_000), 999_999), true);
});

it('kindOf names any value in a word', () => {
  const kinds = [undefined, null, [], 'a"b', {}, 1, true].map(kindOf);
  assert.deepEqual(kinds, ['undefined', 'null', 'array', 'string', 'object', 'number', 'boolean']);
});
