import { ApplicationFailure } from '@temporalio/workflow';

import { withoutStack } from '../src/protocol/without-stack.ts';

/** A failure that ends a task, or refuses a message, and is not retried: its sentence says everything. */
export function plainFailure(type: string, message: string, details: unknown[] = []): ApplicationFailure {
  return withoutStack(ApplicationFailure.create({ type, message, details, nonRetryable: true }));
}
