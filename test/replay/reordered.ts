/** The workflow with one command before all others: what a careless change does to running tasks. */
import { sleep } from '@temporalio/workflow';

import { agentTask as real } from '../../workflows/index.ts';

export async function agentTask(...args: Parameters<typeof real>): ReturnType<typeof real> {
  await sleep(1);
  return real(...args);
}
