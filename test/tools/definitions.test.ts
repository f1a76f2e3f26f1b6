/** Definitions of tools and agents: what they become, and every refusal with its field. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { defineAgent, isAgent } from '../../src/tools/define-agent.ts';
import { defineTool, isTool, type Tool } from '../../src/tools/define-tool.ts';
import { DefinitionError } from '../../src/tools/tool-error.ts';
import { Registry } from '../../src/tools/registry.ts';

const base = {
  name: 'look',
  description: 'Looks something up.',
  parameters: z.object({ key: z.string().describe('what to look up'), limit: z.number().default(3) }),
  effect: 'repeatable',
  execute: () => null,
};

/** As a JavaScript author could write it. */
function tool(fields: Record<string, unknown> = {}): Tool {
  return defineTool({ ...base, ...fields } as never);
}

function agent(fields: Record<string, unknown> = {}): ReturnType<typeof defineAgent> {
  return defineAgent({ name: 'clerk', model: 'gpt', ...fields });
}

function refuses(define: () => unknown, words: RegExp): void {
  assert.throws(define, (error) => {
    assert.ok(error instanceof DefinitionError);
    assert.match(error.message, words);
    return true;
  });
}

describe('defineTool', () => {
  it('gives the model a JSON schema of what it may send', () => {
    const { jsonSchema } = tool();
    assert.deepEqual(jsonSchema, {
      type: 'object',
      properties: {
        key: { type: 'string', description: 'what to look up' },
        limit: { type: 'number', default: 3 },
      },
      required: ['key'],
    });
  });

  it('has defaults for all but the effect, and takes durations in both forms', () => {
    const made = tool();
    assert.deepEqual([made.timeoutMs, made.attempts, made.backoffMs, made.check], [60_000, 3, 1000, null]);
    const set = tool({ timeout: 1500, retry: { attempts: 1, backoff: '5s' } });
    assert.deepEqual([set.timeoutMs, set.attempts, set.backoffMs], [1500, 1, 5000]);
    assert.equal(tool({ effect: 'once', approval: 'never' }).attempts, 1);
    assert.ok(isTool(made) && !isTool({ ...base }) && !isTool(null));
  });

  const refused: [Record<string, unknown>, RegExp][] = [
    [{ name: undefined }, /^tool undefined: name: letters, digits/],
    [{ name: '' }, /^tool "": name: letters, digits, "_" and "-" only, 1 to 64 of them$/],
    [{ name: 'a.b' }, /^tool "a\.b": name: letters/],
    [{ name: 'x'.repeat(65) }, /: name: /],
    [
      { name: 'default' },
      /: name: Temporal runs a tool of this name for every unknown activity; choose another$/,
    ],
    [{ description: ' ' }, /^tool "look": description: the model needs one$/],
    [{ description: undefined }, /: description: /],
    [{ parameters: undefined }, /: parameters: expected z\.object\(\{…\}\)$/],
    [{ parameters: { type: 'object' } }, /: parameters: expected z\.object/],
    [{ parameters: z.object({ at: z.date() }) }, /: parameters: cannot be written as JSON schema: /],
    [{ effect: undefined }, /: effect: say "once" or "repeatable"; there is no default$/],
    [{ effect: 'twice' }, /: effect: /],
    [{ approval: 'always' }, /: approval: approvals are not supported yet; leave it out$/],
    [{ approval: () => true }, /: approval: /],
    [{ execute: undefined }, /: execute: expected a function$/],
    [{ check: () => null }, /: check: only for effect "once": a repeatable tool just runs again$/],
    [{ effect: 'once', check: 'yes' }, /: check: expected a function$/],
    [{ effect: 'once', retry: { attempts: 2 } }, /: retry: an effect "once" tool is not retried$/],
    [{ retry: { attempts: 0 } }, /: retry\.attempts: expected a whole number from 1$/],
    [{ retry: { attempts: 1.5 } }, /: retry\.attempts: /],
    [{ timeout: 'soon' }, /: timeout: not a duration: "soon"; write "30s" or milliseconds$/],
    [{ timeout: {} }, /: timeout: not a duration: \{\}/],
    [{ timeout: 0 }, /: timeout: expected a duration above zero$/],
    [{ timeout: Number.NaN }, /: timeout: expected a duration above zero$/],
    [{ retry: { backoff: -1 } }, /: retry\.backoff: expected a duration above zero$/],
  ];
  for (const [fields, words] of refused) {
    it(`refuses ${words.source}`, () => refuses(() => tool(fields), words));
  }
});

describe('defineAgent', () => {
  it('becomes the agent object of the API, tools of both kinds in order, further fields unchanged', () => {
    const look = tool();
    const made = agent({
      instructions: 'Be brief.',
      tools: [{ type: 'web_search', filters: { a: 1 } }, look],
      reasoning: { effort: 'low' },
    });
    assert.deepEqual(made.config, {
      model: 'gpt',
      instructions: 'Be brief.',
      tools: [
        { type: 'web_search', filters: { a: 1 } },
        { type: 'function', name: 'look', description: 'Looks something up.', parameters: look.jsonSchema },
      ],
      reasoning: { effort: 'low' },
    });
    assert.deepEqual(made.tools, [look]);
    assert.deepEqual(agent().config, { model: 'gpt', tools: [] });
    assert.ok(isAgent(made) && !isAgent(made.config) && !isAgent(undefined));
  });

  const refused: [Record<string, unknown>, RegExp][] = [
    [{ name: ' ' }, /^agent " ": name: expected a name$/],
    [{ name: undefined }, /^agent undefined: name: /],
    [{ model: '' }, /^agent "clerk": model: expected the name of a model$/],
    [{ tools: 'look' }, /^agent "clerk": tools: expected a list$/],
    [{ tools: [tool(), tool()] }, /: tools\[1\]: look is there twice$/],
    [
      { tools: [{ type: 'function', name: 'look' }] },
      /: tools\[0\]: expected what defineTool returns, or a tool of the service/,
    ],
    [{ tools: [null] }, /: tools\[0\]: expected/],
    [{ tools: [tool(), 'web_search'] }, /: tools\[1\]: expected/],
  ];
  for (const [fields, words] of refused) {
    it(`refuses ${words.source}`, () => refuses(() => agent(fields), words));
  }
});

describe('Registry', () => {
  const look = tool();
  const read = tool({ name: 'read' });
  const clerk = agent({ tools: [look] });
  const names = (tools: ReadonlyMap<string, Tool>): string[] => [...tools.keys()];

  it('answers for an agent with its own tools, and for any other with all', () => {
    const registry = new Registry([clerk, agent({ name: 'aide', tools: [look, read] })]);
    assert.deepEqual(registry.agentNames, ['aide', 'clerk']);
    assert.equal(registry.agent('clerk'), clerk);
    assert.equal(registry.agent('boss'), undefined);
    assert.deepEqual(names(registry.toolsFor('clerk')), ['look']);
    assert.deepEqual(names(registry.toolsFor(null)), ['look', 'read']);
    assert.deepEqual(registry.tools, [look, read]);
  });

  it('takes further tools, and the same one more than once', () => {
    assert.deepEqual(new Registry([clerk], [look, read]).tools, [look, read]);
    assert.deepEqual(new Registry([], []).tools, []);
  });

  it('refuses two agents of one name, and two tools of one name', () => {
    refuses(() => new Registry([clerk, agent()]), /^agent "clerk" is defined twice$/);
    refuses(() => new Registry([clerk], [tool()]), /^tool "look" is defined twice, differently$/);
  });
});
