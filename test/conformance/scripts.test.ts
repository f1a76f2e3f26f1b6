/** Scripted agents: matching, code and data, texts, files, and example arguments. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { z } from 'zod';
import { exampleOf } from '../../src/emulator/example-arguments.ts';
import { loadScripts, startEmulator, type AgentScript, type TurnView } from '../../src/emulator/index.ts';
import {
  dig,
  emulate,
  failure,
  message,
  result,
  script,
  tool,
  type Bench,
  type Json,
  LIMIT,
} from './support.ts';

async function answerOf(bench: Bench, id: string): Promise<unknown> {
  await bench.status(id, 'idle');
  return dig((await bench.items(id)).at(-1), 'content', 0, 'text');
}

const says = (name: string, match: AgentScript['match']): AgentScript => ({
  name,
  ...(match === undefined ? {} : { match }),
  steps: [{ say: name }],
});

describe('the script of a session', LIMIT, () => {
  it('is the first that matches by model, tools, instructions, metadata or code', async (t) => {
    const bench = await emulate(t, {
      scripts: [
        says('by model', { model: 'm1' }),
        says('by tools', { tools: ['a', 'b'] }),
        says('by words', { instructions: 'pirate' }),
        says('by metadata', { metadata: { kind: 'x', also: 'y' } }),
        says('by code', (session) => session.metadata['code'] === 'yes'),
      ],
    });
    const cases: [Json, string | RegExp][] = [
      [{ agent: { model: 'm1', tools: [tool('a'), tool('b')] } }, 'by model'],
      [{ agent: { tools: [tool('b'), tool('a'), tool('c')] } }, 'by tools'],
      [{ agent: { instructions: 'talk like a pirate' } }, 'by words'],
      [{ metadata: { kind: 'x', also: 'y', more: 'z' } }, 'by metadata'],
      [{ metadata: { code: 'yes' } }, 'by code'],
      [{ metadata: { kind: 'x' } }, /local emulator.*"hi"/],
    ];
    for (const [extra, wanted] of cases) {
      const answer = await answerOf(bench, await bench.start('hi', extra));
      if (typeof wanted === 'string') assert.equal(answer, wanted);
      else assert.match(String(answer), wanted);
    }
  });

  it('in code sees the turn so far and decides by it alone', async (t) => {
    const views: TurnView[] = [];
    const next: AgentScript['next'] = (view) => {
      views.push(view);
      if (view.step === 0) return { call: { name: 'probe', arguments: { n: view.turn_index } } };
      const [answer] = view.results;
      if (view.step === 1)
        return { say: answer?.success === true ? 'good' : `bad: ${String(answer?.error)}` };
      return null;
    };
    const bench = await emulate(t, { scripts: [{ name: 'prober', next }] });
    const id = await bench.start('go', { agent: { tools: [tool('probe')] }, metadata: { a: '1' } });
    const [first] = await bench.pending(id);
    assert.ok(first);
    await bench.post(id, result(first, 'fine'));
    assert.equal(await answerOf(bench, id), 'good');
    await bench.post(id, message('again'));
    const [second] = await bench.pending(id);
    assert.deepEqual(second?.arguments, { n: 1 });
    assert.ok(second);
    await bench.post(id, failure(second, 'no'));
    assert.equal(await answerOf(bench, id), 'bad: no');
    const view = views[1];
    assert.deepEqual(
      [view?.turn_index, view?.input_text, view?.step, view?.metadata, view?.model, view?.tools[0]?.name],
      [0, 'go', 1, { a: '1' }, 'scripted', 'probe'],
    );
    assert.deepEqual(view?.results, [
      { name: 'probe', call_id: first.call_id, success: true, output: 'fine', error: null },
    ]);
  });

  it('that throws or gives nonsense fails the turn', async (t) => {
    const bench = await emulate(t, {
      scripts: [
        { name: 'thrower', match: { model: 'a' }, next: () => assert.fail('bad day') },
        // The type forbids it; a script in plain JavaScript can still do it.
        { name: 'babbler', match: { model: 'b' }, next: () => ({ shout: 'hey' }) as unknown as null },
      ],
    });
    for (const [model, words] of [
      ['a', /the script broke: bad day/],
      ['b', /must have exactly one of say/],
    ] as const) {
      const id = await bench.start('hi', { agent: { model } });
      await bench.status(id, 'idle');
      const [turn] = await bench.turns(id);
      assert.equal(dig(turn, 'error', 'code'), 'internal_error');
      assert.match(String(dig(turn, 'error', 'message')), words);
    }
  });

  it('built in: calls each declared tool once, side by side, and tells the results', async (t) => {
    const bench = await emulate(t);
    const tools = [tool('one', { n: { type: 'integer' } }), tool('two')];
    const id = await bench.start('hi', { agent: { tools } });
    const calls = await bench.pending(id);
    assert.deepEqual(
      calls.map((call) => [call.name, call.arguments]),
      [
        ['one', { n: 1 }],
        ['two', {}],
      ],
    );
    const [one, two] = calls;
    assert.ok(one && two);
    await bench.post(id, result(one, '😀'.repeat(200)));
    await bench.post(id, failure(two, 'broken'));
    const answer = String(await answerOf(bench, id));
    assert.equal(answer, `I called one and two. one returned: ${'😀'.repeat(160)}…. two failed: broken.`);
  });
});

describe('texts', LIMIT, () => {
  it('quote results by name and number and leave unknown names alone', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([
      { call: { name: 'a' } },
      { say: 'so far {{a}}' },
      { call: { name: 'a' } },
      { say: '{{a.0}},{{a.1}},{{a}},{{a.2}},{{b}}' },
    ]);
    for (const value of ['x', 'y']) {
      const [call] = await bench.pending(id);
      assert.ok(call);
      await bench.post(id, result(call, value));
      if (value === 'x') await bench.pending(id);
    }
    assert.equal(await answerOf(bench, id), 'x,y,y,{{a.2}},{{b}}');
    const phases = (await bench.items(id))
      .filter((item) => item['role'] === 'assistant')
      .map((item) => item['phase']);
    assert.deepEqual(phases, ['commentary', 'final_answer']);
  });

  it('arrive whole: the deltas joined are the text, whatever it is', async (t) => {
    const bench = await emulate(t, { deltaMs: 0, stepMs: 0 });
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    let turns = 0;
    const anyText = fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => !/[{}]/.test(text));
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const seen = stream.events.length;
        await bench.post(id, message(script([{ say: text }])));
        turns += 1;
        await stream.until('idle', turns);
        const own = stream.events.slice(seen);
        const deltas = own
          .filter((event) => event.type.endsWith('text.delta'))
          .map((event) => event['delta']);
        const done = own.find((event) => event.type.endsWith('output_text.done'));
        assert.equal(done?.['text'], text);
        assert.equal(deltas.join(''), text);
      }),
      { numRuns: 25 },
    );
    await stream.cancel();
  });
});

describe('script files', LIMIT, () => {
  it('hold one script or several, as data or code', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'scripts-'));
    t.after(() => rm(dir, { recursive: true }));
    const write = async (name: string, content: string): Promise<string> => {
      await writeFile(join(dir, name), content);
      return join(dir, name);
    };
    const one = { name: 'a', steps: [{ say: 'x' }] };
    assert.deepEqual(await loadScripts(await write('one.json', JSON.stringify(one))), [one]);
    assert.equal(
      (await loadScripts(await write('two.json', JSON.stringify([one, { ...one, name: 'b' }])))).length,
      2,
    );
    const code =
      'export const scripts = [{ name: "c", next: (view) => (view.step === 0 ? { say: "y" } : null) }];';
    const [fromCode] = await loadScripts(await write('code.mjs', code));
    assert.deepEqual(fromCode?.next?.({ step: 0 } as TurnView), { say: 'y' });
    const typed = 'const a: string = "d"; export default { name: a, steps: [] };';
    assert.equal((await loadScripts(await write('typed.ts', typed)))[0]?.name, 'd');
    const bad: [string, string, RegExp][] = [
      ['a.json', '{', /a\.json: is no valid JSON/],
      ['b.json', '[]', /b\.json: holds no script/],
      ['c.json', JSON.stringify([one, { name: 'x' }]), /c\.json: \[1\]: needs either 'steps' or 'next'/],
      ['d.json', JSON.stringify({ ...one, match: { tools: 'a' } }), /match\.tools: must be an array/],
      [
        'e.json',
        JSON.stringify({ name: 'x', steps: [{ say: 'a', call: {} }] }),
        /steps\[0\]: must have exactly one of/,
      ],
      [
        'f.json',
        JSON.stringify({ name: 'x', steps: [{ call: [{ nam: 'a' }] }] }),
        /steps\[0\]\.call\[0\]: 'name' is missing/,
      ],
      [
        'g.json',
        JSON.stringify({ name: 'x', steps: [{ wait_ms: -1 }] }),
        /steps\[0\]\.wait_ms: must be a number/,
      ],
      [
        'h.json',
        JSON.stringify({ name: 'x', steps: [{ say: 'a', colour: 1 }] }),
        /steps\[0\]\.colour: is no known field/,
      ],
      ['i.mjs', 'export const other = 1;', /neither a 'default' nor a 'scripts' export/],
    ];
    for (const [name, content, words] of bad) {
      await assert.rejects(loadScripts(await write(name, content)), words);
    }
    await assert.rejects(loadScripts(join(dir, 'none.json')), /ENOENT/);
  });

  it('are checked when the emulator starts', async () => {
    const nameless = { steps: [] } as unknown as AgentScript;
    await assert.rejects(
      startEmulator({ scripts: [nameless] }),
      /scripts\[0\]\.name: must be a non-empty string/,
    );
    const twice = says('same', undefined);
    await assert.rejects(startEmulator({ scripts: [twice, twice] }), /two scripts are named 'same'/);
  });

  it('may use every kind of step', async (t) => {
    const path = fileURLToPath(new URL('all-steps.json', import.meta.url));
    const scripts = await loadScripts(path);
    const bench = await emulate(t, { scripts });
    const id = await bench.start('go', { spend_control: { limit: 5 } });
    await bench.status(id, 'budget_reached');
    await bench.raw('POST', `/agents/sessions/${id}`, { spend_control: null });
    const [call] = await bench.pending(id);
    assert.ok(call);
    await bench.post(id, result(call, 'r'));
    await bench.status(id, 'idle');
    const [turn] = await bench.turns(id);
    assert.deepEqual(turn?.['error'], { code: 'server_error', message: 'as written' });
    assert.ok((await bench.items(id)).some((item) => item['type'] === 'hologram'));
  });
});

describe('example arguments', LIMIT, () => {
  const cases: [string, unknown, unknown][] = [
    ['what the author wrote first', { type: 'string', examples: ['e'], default: 'd', enum: ['n'] }, 'e'],
    ['then the default', { type: 'string', default: 'd', enum: ['n'] }, 'd'],
    ['then the first option', { type: 'string', enum: ['n', 'm'] }, 'n'],
    ['a constant', { const: 7 }, 7],
    ['numbers within bounds', { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }, 1],
    ['at least the minimum', { type: 'number', minimum: 3 }, 3],
    ['above an exclusive minimum', { type: 'integer', exclusiveMinimum: 3 }, 4],
    ['below a maximum', { type: 'integer', maximum: -2 }, -2],
    ['a multiple', { type: 'integer', minimum: 3, multipleOf: 5 }, 5],
    ['long enough text', { type: 'string', minLength: 20 }, 'example valuexxxxxxx'],
    ['short enough text', { type: 'string', maxLength: 4 }, 'exam'],
    [
      'formats',
      { type: 'array', items: { type: 'string', format: 'email' }, minItems: 2 },
      ['ada@example.com', 'ada@example.com'],
    ],
    ['the first branch', { anyOf: [{ type: 'boolean' }, { type: 'null' }] }, true],
    ['the type that is not null', { type: ['null', 'number'] }, 1],
    [
      'nested objects, optional ones too',
      { properties: { a: { type: 'object', properties: { b: { type: 'boolean' } } } } },
      { a: { b: true } },
    ],
    ['references', { $ref: '#/$defs/x', $defs: { x: { type: 'string', const: 'found' } } }, 'found'],
    [
      'all of several',
      { allOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } } }] },
      { a: 1, b: 2 },
    ],
    ['a tuple', { type: 'array', prefixItems: [{ const: 1 }, { const: 'b' }] }, [1, 'b']],
    ['no schema at all', true, 'example value'],
  ];
  for (const [name, schema, value] of cases) {
    it(`give ${name}`, () => assert.deepEqual(exampleOf(schema), value));
  }

  it('stop in recursive schemas', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, child: { $ref: '#/$defs/node' } },
          required: ['name'],
        },
      },
    };
    const text = JSON.stringify(exampleOf(schema));
    assert.ok(text.length < 2000);
    assert.match(text, /"name":"example name"/);
  });

  it('pass the schema that they were made for', () => {
    const schema = z.object({
      id: z.uuid(),
      when: z.iso.datetime(),
      mail: z.email(),
      link: z.url(),
      count: z.int().positive().max(10),
      ratio: z.number().gt(0).lt(1),
      kind: z.enum(['a', 'b']),
      fixed: z.literal('only'),
      note: z.string().min(3).max(8).nullable(),
      tags: z.array(z.string()).min(2),
      either: z.union([z.object({ left: z.boolean() }), z.string()]),
      maybe: z.object({ deep: z.number().multipleOf(4) }).optional(),
    });
    const value = exampleOf(z.toJSONSchema(schema));
    assert.ok(schema.safeParse(value).success, JSON.stringify(schema.safeParse(value).error?.issues));
  });
});
