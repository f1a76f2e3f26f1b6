/** Tools whose effect is a line in a file, with declarations that are true and others that are not. */
import { setTimeout as wait } from 'node:timers/promises';

import { z } from 'zod';

import { defineAgent, defineTool } from '../../../src/tools/index.ts';
import { addLine, lines } from './outside.ts';

const parameters = z.object({ amount: z.int().min(1) });

/** Honest: looks its key up first. */
const note = defineTool({
  name: 'note',
  description: 'Writes an amount down.',
  parameters,
  effect: 'repeatable',
  execute({ amount }, call) {
    if (!lines().includes(call.idempotencyKey)) addLine(call.idempotencyKey);
    return { noted: amount };
  },
});

/** Dishonest: writes another line each time. */
const doubles = defineTool({
  name: 'doubles',
  description: 'Writes an amount down, each time anew.',
  parameters,
  effect: 'repeatable',
  execute({ amount }, call) {
    addLine(call.idempotencyKey);
    return { noted: amount };
  },
});

/** Dishonest in the middle alone: acts, and remembers that it did only some time later. */
const forgets = defineTool({
  name: 'forgets',
  description: 'Writes an amount down, and what it did afterwards.',
  parameters,
  effect: 'repeatable',
  async execute({ amount }, call) {
    if (!lines().includes(`done ${call.idempotencyKey}`)) {
      addLine(call.idempotencyKey);
      await wait(400);
      addLine(`done ${call.idempotencyKey}`);
    }
    return { noted: amount };
  },
});

/** No effect, and another result each time. */
const differs = defineTool({
  name: 'differs',
  description: 'Tells which process it is.',
  parameters: z.object({}),
  effect: 'repeatable',
  execute: () => ({ pid: process.pid }),
});

/** Honest: once, and nobody can say whether. */
const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters,
  effect: 'once',
  execute({ amount }, call) {
    addLine(call.idempotencyKey);
    return { paid: amount };
  },
});

/** Honest: once, and knows whether. */
const payChecked = defineTool({
  name: 'pay_checked',
  description: 'Pays an amount where one can ask.',
  parameters,
  effect: 'once',
  execute({ amount }, call) {
    addLine(call.idempotencyKey);
    return { paid: amount };
  },
  check: ({ amount }, call) =>
    lines().includes(call.idempotencyKey)
      ? { status: 'done', output: { paid: amount } }
      : { status: 'not_done' },
});

/** Says that nothing has happened, whatever has. */
const payDenied = defineTool({
  name: 'pay_denied',
  description: 'Pays an amount and denies it.',
  parameters,
  effect: 'once',
  execute({ amount }, call) {
    addLine(call.idempotencyKey);
    return { paid: amount };
  },
  check: () => ({ status: 'not_done' }),
});

/** Says that it has happened, whatever has. */
const payClaimed = defineTool({
  name: 'pay_claimed',
  description: 'Pays an amount and claims so at once.',
  parameters,
  effect: 'once',
  execute({ amount }, call) {
    addLine(call.idempotencyKey);
    return { paid: amount };
  },
  check: ({ amount }) => ({ status: 'done', output: { paid: amount } }),
});

export const ledger = defineAgent({
  name: 'ledger',
  model: 'test-model',
  tools: [note, doubles, forgets, differs, pay, payChecked, payDenied, payClaimed],
});

export async function observe(): Promise<unknown> {
  return { lines: lines() };
}
