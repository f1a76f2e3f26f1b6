/**
 * The agents of workflow and crash tests. Every execution of a tool leaves a line in the effects file, outside of
 * everything that is under test.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

import { z } from 'zod';

import { defineAgent, defineTool, ToolError, type ToolCall } from '../../src/tools/index.ts';

const file = process.env['EFFECTS_FILE'] ?? '';

function effect(tool: string, call: ToolCall): number {
  const line = {
    tool,
    call_id: call.callId,
    key: call.idempotencyKey,
    attempt: call.attempt,
    pid: process.pid,
  };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
  return readFileSync(file, 'utf8').split('\n').length - 1;
}

/** A tool that has left its line takes its time, or waits for the test's word (`Stack.release`). */
const hold = { hold_ms: z.int().min(0).optional(), hold_until: z.string().optional() };

async function held(
  { hold_ms = 0, hold_until }: { hold_ms?: number | undefined; hold_until?: string | undefined },
  { signal }: ToolCall,
): Promise<void> {
  await wait(hold_ms, undefined, { signal });
  const released = (): boolean => hold_until === undefined || existsSync(`${file}.${hold_until}`);
  while (!released()) await wait(20, undefined, { signal });
}

/** Repeatable: leaves a line, then takes its time. */
export const note = defineTool({
  name: 'note',
  description: 'Writes a line.',
  parameters: z.object({ text: z.string(), ...hold }),
  effect: 'repeatable',
  async execute({ text, ...pause }, call) {
    effect('note', call);
    await held(pause, call);
    return { noted: text };
  },
});

/** Once: the line is the effect; the pause after it is where a crash leaves the outcome unknown. */
export const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters: z.object({ amount: z.int().min(1), ...hold }),
  effect: 'once',
  async execute({ amount, ...pause }, call) {
    effect('pay', call);
    await held(pause, call);
    return { paid: amount };
  },
});

/** Once, and able to find out by itself whether it took effect. */
export const payChecked = defineTool({
  name: 'pay_checked',
  description: 'Pays an amount at a bank that can be asked.',
  parameters: z.object({ amount: z.int().min(1), ...hold }),
  effect: 'once',
  async execute({ amount, ...pause }, call) {
    effect('pay_checked', call);
    await held(pause, call);
    return { paid: amount };
  },
  check({ amount }, call) {
    const done = readFileSync(file, 'utf8').includes(call.idempotencyKey);
    return done ? { status: 'done', output: { paid: amount, found: true } } : { status: 'not_done' };
  },
});

/** Ignores its signal and its limit. */
export const stubborn = defineTool({
  name: 'stubborn',
  description: 'Takes longer than it may.',
  parameters: z.object({ ms: z.int() }),
  effect: 'repeatable',
  timeout: '1s',
  async execute({ ms }, call) {
    effect('stubborn', call);
    await wait(ms);
    return 'late';
  },
});

/** The same with an effect that must not be repeated. */
export const stubbornOnce = defineTool({
  name: 'stubborn_once',
  description: 'Takes longer than it may, once.',
  parameters: z.object({ ms: z.int() }),
  effect: 'once',
  timeout: '1s',
  async execute({ ms }, call) {
    effect('stubborn_once', call);
    await wait(ms);
    return 'late';
  },
});

/** Once, and blocks the event loop after its effect: no heartbeat leaves its process meanwhile. */
export const stall = defineTool({
  name: 'stall',
  description: 'Computes for a while.',
  parameters: z.object({ ms: z.int() }),
  effect: 'once',
  execute({ ms }, call) {
    effect('stall', call);
    for (const end = Date.now() + ms; Date.now() < end;);
    return { stalled: ms };
  },
});

export const PLANTED = 'sk-planted-secret-0123456789';

export const fails = defineTool({
  name: 'fails',
  description: 'Fails in the way that is asked for.',
  parameters: z.object({ how: z.enum(['error', 'tool_error', 'string', 'null']) }),
  effect: 'repeatable',
  retry: { attempts: 1 },
  execute({ how }, call) {
    effect('fails', call);
    if (how === 'tool_error') throw new ToolError('There is no room left.');
    // oxlint-disable-next-line no-throw-literal -- tools of others do this
    if (how === 'string') throw PLANTED;
    // oxlint-disable-next-line no-throw-literal -- tools of others do this
    if (how === 'null') throw null;
    throw Object.assign(new TypeError(`broke on ${PLANTED}`, { cause: new Error(PLANTED) }), {
      config: { headers: { authorization: PLANTED } },
    });
  },
});

/** Succeeds at the third try. */
export const flaky = defineTool({
  name: 'flaky',
  description: 'Fails twice.',
  parameters: z.object({}),
  effect: 'repeatable',
  retry: { attempts: 3, backoff: 100 },
  execute(_args, call) {
    effect('flaky', call);
    if (call.attempt < 3) throw new Error('not yet');
    return { attempt: call.attempt };
  },
});

export const big = defineTool({
  name: 'big',
  description: 'Returns much.',
  parameters: z.object({ bytes: z.int() }),
  effect: 'repeatable',
  execute({ bytes }, call) {
    effect('big', call);
    return 'x'.repeat(bytes);
  },
});

const tools = [note, pay, payChecked, stubborn, stubbornOnce, stall, fails, flaky, big];
export const tester = defineAgent({ name: 'tester', model: 'test-model', tools });

/** Its answer is JSON by a schema. */
export const reporter = defineAgent({
  name: 'reporter',
  model: 'test-model',
  text: {
    format: { type: 'json_schema', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
  },
});
