/** The agents before `pay` was added: what a worker has that was not deployed yet. */
import { defineAgent } from '../../../src/tools/index.ts';
import { note } from '../agents.ts';

export const tester = defineAgent({ name: 'tester', model: 'test-model', tools: [note] });
