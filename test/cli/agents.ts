/** Agents of the command's live test: the example, and one whose tool never tells how it ended. */
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';

export { tripPlanner } from '../../src/examples/trip-planner.ts';

const silent = defineTool({
  name: 'silent',
  description: 'Never answers.',
  parameters: z.object({}),
  effect: 'once',
  timeout: '1s',
  execute: () => new Promise<string>(() => {}),
});
export const silentAgent = defineAgent({ name: 'silent', model: 'silent', tools: [silent] });
