/** Arguments: from whatever the API sent to what the tool takes (scenario 15), and to what people see (I11). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { argumentsObject, checkArguments, summarize } from '../../src/tools/arguments.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

function toolOf(parameters: z.ZodObject): ReturnType<typeof defineTool> {
  return defineTool({
    name: 'look',
    description: 'looks',
    effect: 'repeatable',
    parameters,
    execute: () => null,
  });
}

function problem(parsed: { ok: true } | { ok: false; problem: string }): string {
  return parsed.ok ? 'taken' : parsed.problem;
}

describe('argumentsObject', () => {
  it('takes an object, and a JSON string of one', () => {
    for (const raw of [{ a: 1 }, '{"a":1}', ' {"a": 1} ']) {
      assert.deepEqual(argumentsObject(raw), { ok: true, value: { a: 1 } });
    }
    assert.deepEqual(argumentsObject({}), { ok: true, value: {} });
    assert.deepEqual(argumentsObject('{}'), { ok: true, value: {} });
  });

  const refused: [string, unknown, RegExp][] = [
    ['cut-off JSON', '{"path": "/tmp/a', /^the arguments are not valid JSON: \{"path": "\/tmp\/a$/],
    ['an empty string', '', /not valid JSON/],
    ['null', null, /^the arguments must be a JSON object, not null$/],
    ['the text null', 'null', /not null$/],
    ['nothing', undefined, /not nothing$/],
    ['a list', [], /not \[\]$/],
    ['a list as text', '[1]', /not \[1\]$/],
    ['a text', '"text"', /not "text"$/],
    ['a number', 7, /not 7$/],
    ['a string of a string of an object', JSON.stringify('{"a":1}'), /must be a JSON object/],
    ['an object nested beyond use', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, /nested too deeply/],
    [
      'a list nested beyond use',
      { a: JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) },
      /nested too deeply/,
    ],
    [
      'the like that is no object',
      `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
      /must be a JSON object|nested too deeply/,
    ],
  ];
  for (const [name, raw, words] of refused) {
    it(`refuses ${name}, and never puts an empty object in its place`, () => {
      const parsed = argumentsObject(raw);
      assert.match(problem(parsed), words);
      assert.ok(problem(parsed).length < 150, 'a short excerpt at most');
    });
  }

  it('stands 2 MB', () => {
    assert.ok(argumentsObject(JSON.stringify({ a: 'x'.repeat(2_000_000) })).ok);
    assert.ok(problem(argumentsObject(`{"a":"${'x'.repeat(2_000_000)}`)).length < 150);
  });

  it('shows no credential in its excerpt', () => {
    for (const raw of [
      '{"password": "hunter2", "a',
      '{"api_key":"hunter2',
      "{'token': 'hunter2'}",
      ['sk-hunter2hunter2'],
    ]) {
      const shown = problem(argumentsObject(raw));
      assert.notEqual(shown, 'taken');
      assert.doesNotMatch(shown, /hunter2/);
    }
  });
});

describe('checkArguments', () => {
  it("gives the schema's own output: defaults set, extra fields left out", () => {
    const tool = toolOf(z.object({ a: z.number(), b: z.string().default('x') }));
    assert.deepEqual(checkArguments(tool, { a: 1, extra: true }), { ok: true, value: { a: 1, b: 'x' } });
    assert.deepEqual(checkArguments(toolOf(z.object({})), {}), { ok: true, value: {} });
  });

  it('names each field that does not fit, three at most', () => {
    const tool = toolOf(
      z.object({ a: z.string(), b: z.object({ c: z.number() }), d: z.string(), e: z.string() }),
    );
    const words = problem(checkArguments(tool, { b: { c: 'x' } }));
    assert.match(words, /^the arguments do not fit: a: .*; b\.c: .*; d: [^;]*$/);
  });

  it('is short, and shows no value, whatever the arguments are', () => {
    const tool = toolOf(z.object({ rows: z.record(z.string(), z.number()), mode: z.enum(['a', 'b']) }));
    const words = problem(
      checkArguments(tool, { rows: { ['k'.repeat(1_000_000)]: 'hunter2' }, mode: 'hunter2' }),
    );
    assert.ok(words.length < 1000, `${words.length} characters`);
    assert.doesNotMatch(words, /hunter2/);
  });

  it('answers for a schema that cannot be run, without its text (I11)', () => {
    const broken = [
      z.object({
        a: z.string().transform((): string => {
          throw new Error('hunter2');
        }),
      }),
      z.object({ a: z.string().refine(async () => Promise.resolve(true)) }),
    ];
    for (const parameters of broken) {
      const words = problem(checkArguments(toolOf(parameters), { a: 'x' }));
      assert.equal(words, 'the arguments could not be checked');
    }
  });
});

describe('summarize', () => {
  it('is one short line of compact JSON', () => {
    assert.equal(summarize({ city: 'Oslo', days: 3 }), '{"city":"Oslo","days":3}');
    const line = summarize({ text: 'x'.repeat(1_000_000) });
    assert.ok(line.length <= 150 && line.endsWith('…'));
    assert.doesNotMatch(summarize({ text: 'a\nb\u202Ec' }), /[\n\u202E]/);
  });

  it('hides the values of telling fields, at any depth', () => {
    const keys = [
      'password',
      'Passphrase',
      'passwd',
      'pwd',
      'clientSecret',
      'access_token',
      'refreshToken',
      'api_key',
      'apiKey',
      'API-KEY',
      'Authorization',
      'credentials',
      'cookie',
      'private_key',
      'privateKey',
      'accessKeyId',
      'bearer',
      'cvv',
    ];
    for (const key of keys) {
      assert.equal(summarize({ [key]: 'hunter2' }), `{"${key}":"[hidden]"}`);
      assert.doesNotMatch(summarize({ a: [{ [key]: { deep: ['hunter2'] } }] }), /hunter2/);
    }
    assert.equal(summarize({ author: 'Ann', keyboard: 'de' }), '{"author":"Ann","keyboard":"de"}');
  });

  it('hides keys and bearer tokens wherever they stand', () => {
    const line = summarize({
      command: 'curl -H "Authorization: Bearer hunter2.hunter2"',
      note: 'sk-proj-hunter2hunter2',
    });
    assert.doesNotMatch(line, /hunter2/);
  });
});
