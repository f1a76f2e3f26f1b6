/** What is decided about a new call, once (scenarios 13, 15, 16; I2, I10). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import type { PlannedCall, RequiredCall } from '../../src/protocol/calls.ts';
import { defineTool, type Tool } from '../../src/tools/define-tool.ts';
import { argumentsDigest, planCall } from '../../src/tools/plan.ts';

const send = defineTool({
  name: 'send',
  description: 'sends',
  effect: 'once',
  timeout: '90s',
  parameters: z.object({ to: z.string(), body: z.string().default('') }),
  check: () => ({ status: 'unknown' as const }),
  execute: () => null,
});
const look = defineTool({
  name: 'look',
  description: 'looks',
  effect: 'repeatable',
  retry: { attempts: 5, backoff: '2s' },
  parameters: z.object({}),
  execute: () => null,
});

function plan(fields: Partial<RequiredCall>, tools: Tool[] = [send, look]): PlannedCall {
  const call = { turn_id: 't', call_id: 'c', name: 'send', arguments: { to: 'ann' }, ...fields };
  return planCall(new Map(tools.map((tool) => [tool.name, tool])), call);
}

/** The refusal that the model is given. */
function refusal(fields: Partial<RequiredCall>, tools?: Tool[]): string {
  const { plan: decided } = plan(fields, tools);
  if (decided.kind !== 'answer') throw new Error('it would be run');
  assert.equal(decided.result.success, false);
  assert.deepEqual(Object.keys(decided.result), ['success', 'error']);
  return decided.result.error ?? '';
}

describe('a call that can be run', () => {
  it("carries its tool's policy, and the arguments as the model sent them", () => {
    assert.deepEqual(plan({}), {
      turn_id: 't',
      call_id: 'c',
      name: 'send',
      summary: '{"to":"ann"}',
      arguments: { to: 'ann' },
      arguments_digest: argumentsDigest({ to: 'ann' }),
      plan: {
        kind: 'run',
        effect: 'once',
        timeout_ms: 90_000,
        attempts: 1,
        backoff_ms: 1000,
        has_check: true,
      },
    });
    assert.deepEqual(plan({ name: 'look', arguments: '{}' }).plan, {
      kind: 'run',
      effect: 'repeatable',
      timeout_ms: 60_000,
      attempts: 5,
      backoff_ms: 2000,
      has_check: false,
    });
  });

  it('has one digest for one set of arguments, whatever their form and order', () => {
    const args = { to: 'ann', body: 'hi', extra: { b: 1, a: 2 } };
    const digest = plan({ arguments: args }).arguments_digest;
    const other = '{"extra":{"a":2,"b":1},"body":"hi","to":"ann"}';
    assert.equal(plan({ arguments: other }).arguments_digest, digest);
    assert.notEqual(plan({ arguments: { ...args, body: 'ho' } }).arguments_digest, digest);
  });

  it('keeps large arguments out of history, by digest, and small ones in (I10)', () => {
    const of = (bytes: number): PlannedCall => plan({ arguments: { to: 'ü'.repeat((bytes - 9) / 2) } });
    const [at, above] = [of(32 * 1024 - 1), of(32 * 1024 + 1)];
    assert.equal(Buffer.byteLength(JSON.stringify(at.arguments)), 32 * 1024 - 1);
    assert.equal(above.arguments, undefined);
    assert.equal(above.plan.kind, 'run');
    assert.match(above.arguments_digest, /^[0-9a-f]{64}$/);
    assert.ok(Buffer.byteLength(JSON.stringify(above)) < 2000);
  });
});

describe('a call that cannot be run', () => {
  it('names an unknown tool and the known ones', () => {
    assert.equal(refusal({ name: 'fly' }), 'Unknown tool "fly". Known tools: look, send.');
    assert.equal(refusal({ name: '__proto__' }, []), 'Unknown tool "__proto__". Known tools: none.');
    assert.equal(plan({ name: 'fly' }).summary, '{"to":"ann"}');
  });

  it('lists 20 names at most, and stays short for any name', () => {
    const many = Array.from({ length: 25 }, (_, i) =>
      defineTool({
        ...look,
        name: `tool_${String(i).padStart(2, '0')}`,
        retry: {},
        check: undefined,
      } as never),
    );
    assert.match(refusal({ name: 'fly' }, many), /tool_19, …\.$/);
    const planned = plan({ name: `${'x'.repeat(100_000)}\n` });
    assert.ok(Buffer.byteLength(JSON.stringify(planned)) < 1000, 'the name is bounded wherever it stands');
  });

  it('tells the model what is wrong with its arguments, by tool and field', () => {
    assert.match(refusal({ arguments: '{"to": "an' }), /^Tool "send": the arguments are not valid JSON: /);
    assert.match(refusal({ arguments: [] }), /^Tool "send": the arguments must be a JSON object, not \[\]$/);
    assert.match(refusal({ arguments: { body: 'x' } }), /^Tool "send": the arguments do not fit: to: /);
    const bad = plan({ arguments: '{"to": "an' });
    assert.deepEqual([bad.arguments, bad.summary], [undefined, '']);
  });

  it('never throws, whatever the arguments are', () => {
    const nested = `${'{"to":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const list = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const raw of [
      nested,
      JSON.parse(nested),
      list,
      JSON.parse(list),
      undefined,
      'x'.repeat(2_000_000),
    ]) {
      assert.match(refusal({ arguments: raw }), /^Tool "send": the arguments /);
      assert.match(refusal({ arguments: raw, name: 'fly' }), /^Unknown tool/);
    }
  });
});
