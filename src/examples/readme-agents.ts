import { z } from 'zod';

import { defineAgent, defineTool } from '../index.ts';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number.',
  parameters: z.object({ order: z.string() }),
  effect: 'repeatable', // no harm in running it again after a crash
  execute: ({ order }) => ({ order, paid_eur: 80, state: 'delivered' }),
});

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Pays an order back. Cannot be undone.',
  parameters: z.object({ order: z.string() }),
  effect: 'once', // never run twice by itself: after a crash in the middle a person decides
  timeout: '30s',
  execute: ({ order }, call) => {
    // Call your payment service here, with call.idempotencyKey and call.signal.
    return { order, receipt: call.idempotencyKey };
  },
});

export const support = defineAgent({
  name: 'support',
  model: 'gpt-5',
  instructions: 'You help customers with their orders.',
  tools: [findOrder, refundOrder],
});
