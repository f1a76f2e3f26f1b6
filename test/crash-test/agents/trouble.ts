/** Tools and a snapshot that make trouble of other kinds than a wrong declaration. No agent has them. */
import { setTimeout as wait } from 'node:timers/promises';

import { z } from 'zod';

import { defineTool } from '../../../src/tools/index.ts';
import { addLine } from './outside.ts';

// Every process that loads this file is known by it: none may be left.
addLine(`pid ${process.pid}`);

export const throws = defineTool({
  name: 'throws',
  description: 'Never works.',
  parameters: z.object({}),
  effect: 'repeatable',
  retry: { attempts: 1 },
  execute() {
    throw new RangeError('sk-planted-secret-0123456789');
  },
});

export const quits = defineTool({
  name: 'quits',
  description: 'Ends its process.',
  parameters: z.object({}),
  effect: 'once',
  execute() {
    process.exit(7);
  },
});

/** Runs until it is killed, and says when it begins. */
export const hangs = defineTool({
  name: 'hangs',
  description: 'Does not end.',
  parameters: z.object({}),
  effect: 'repeatable',
  async execute() {
    addLine(`hangs ${process.pid}`);
    await wait(3_600_000);
  },
});

/** Nobody can make up such an argument. */
export const picky = defineTool({
  name: 'picky',
  description: 'Takes a plate number.',
  parameters: z.object({ plate: z.string().regex(/^[A-Z]{2}-\d{3}$/) }),
  effect: 'repeatable',
  execute: ({ plate }) => plate,
});
