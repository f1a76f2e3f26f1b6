/** Nothing that a tool's error holds leaves the worker (I11, scenario 21). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSecretField, redact, safeExcerpt, safeJson } from '../../src/protocol/secrets.ts';
import { argumentsDigest } from '../../src/tools/plan.ts';
import { toolActivity } from '../../src/tools/tool-activity.ts';
import { until } from '../support/until.ts';
import { Bench, gate, historyOf, type BenchOptions } from './bench.ts';

const TOKEN = 'planted-token-42';

/** An error as HTTP clients make them: the token in every corner. */
function leaky(): Error {
  const error = new TypeError(`401 for ${TOKEN}`, { cause: new Error(TOKEN, { cause: { token: TOKEN } }) });
  error.stack = `TypeError: ${TOKEN}\n    at ${TOKEN}`;
  return Object.assign(error, {
    config: { headers: { authorization: `Bearer ${TOKEN}` } },
    response: { body: TOKEN },
    toJSON: () => TOKEN,
    toString: () => TOKEN,
  });
}
function leak(): never {
  throw leaky();
}

/** Runs one attempt to its end; answers all that history, the server and the log were told. */
async function traces(options: BenchOptions, mode: 'execute' | 'check' = 'execute'): Promise<string> {
  const bench = new Bench(options);
  const { tool, environment, heartbeats, acknowledged, signals, logs } = bench;
  const call = {
    mode,
    session_id: 's',
    turn_id: 't',
    call_id: 'c',
    name: tool.name,
    run_no: 1,
    effect: tool.effect,
    timeout_ms: 5000,
    attempts: tool.attempts,
    arguments_digest: argumentsDigest({ to: 'ann' }),
    arguments_omitted: false,
    ...options.call,
  };
  const deps = {
    idempotencyKey: () => 'k',
    readArguments: async () => leak(),
    maxOutputBytes: 1024,
    logToolErrors: false,
    ...options.deps,
  };
  const history = await historyOf(() => environment.run(toolActivity(tool, deps), { to: 'ann' }, call));
  return JSON.stringify([history, heartbeats, acknowledged, signals, logs]);
}

describe('a planted token', () => {
  const cases: [string, BenchOptions, ('execute' | 'check')?][] = [
    ['thrown by an effect once tool', { tool: { execute: leak } }],
    ['thrown by a repeatable tool', { tool: { effect: 'repeatable', execute: leak } }],
    ['rejected', { tool: { execute: async () => Promise.reject(leaky()) } }],
    [
      'thrown as text',
      {
        tool: {
          execute: () => {
            throw TOKEN;
          },
        },
      },
    ], // oxlint-disable-line no-throw-literal -- the case
    [
      'in the way of rendering',
      { tool: { execute: () => Object.defineProperty({}, 'a', { enumerable: true, get: leak }) } },
    ],
    ['returned as an error', { tool: { execute: leaky } }],
    ['refused by the fence', { server: [leak] }],
    ['met when finishing', { server: [() => undefined, leak] }],
    ['met when arguments are read again', { call: { arguments_omitted: true } }],
    ['met when the key is made', { deps: { idempotencyKey: leak } }],
    ['thrown by a check', { tool: { check: leak } }, 'check'],
    ['met by a check that reads', { tool: { check: leak }, call: { arguments_omitted: true } }, 'check'],
  ];
  for (const [name, options, mode] of cases) {
    it(`${name} is found nowhere`, async () => {
      const all = await traces(options, mode);
      assert.doesNotMatch(all, new RegExp(TOKEN));
      assert.ok(all.length > 20);
    });
  }

  it('in a late error is found nowhere', async () => {
    const late = gate();
    const bench = new Bench({
      tool: { execute: async () => late.opened.then(leak) },
      call: { timeout_ms: 20 },
    });
    await bench.run();
    const before = bench.logs.length;
    late.open();
    await until('the late end', () => bench.logs.length > before);
    assert.doesNotMatch(JSON.stringify([bench.logs, bench.signals]), new RegExp(TOKEN));
  });

  it("stands in this worker's log alone, where its owner wants it there", async () => {
    const bench = new Bench({ tool: { execute: leak }, deps: { logToolErrors: true } });
    const end = await bench.run();
    assert.doesNotMatch(JSON.stringify([end, bench.heartbeats, bench.signals]), new RegExp(TOKEN));
    assert.match(JSON.stringify(bench.logs), new RegExp(TOKEN));
  });
});

describe('redact', () => {
  it('removes keys and bearer tokens by their looks, and known ones of any form', () => {
    const text = 'bad key sk-proj-abc123***xyz, header "Authorization: Bearer abc.def-1", sess-0123456789';
    assert.equal(redact(text), 'bad key [redacted], header "Authorization: Bearer [redacted]", [redacted]');
    assert.equal(redact('key (a+b)*$&-1 was refused', ['(a+b)*$&-1', '', 'e']), 'key [redacted] was refused');
    assert.equal(
      redact('ask the desk-clerk about risk-assessment'),
      'ask the desk-clerk about risk-assessment',
    );
  });
});

describe('what people see of arguments', () => {
  it('hides fields by their names', () => {
    assert.ok(
      isSecretField('apiKey') &&
        isSecretField('db_password') &&
        !isSecretField('key') &&
        !isSecretField('pass_rate'),
    );
    assert.equal(
      safeJson({ user: 'ann', login: { password: 'p' } }),
      '{"user":"ann","login":{"password":"[hidden]"}}',
    );
    assert.equal(safeJson(undefined), 'nothing');
  });

  it('hides what follows a telling name in text that is no JSON', () => {
    assert.equal(safeExcerpt('{"user":"ann","password":"hun'), '{"user":"ann","password": [hidden]');
    assert.equal(safeExcerpt('{"user":"ann'), '{"user":"ann');
  });
});
