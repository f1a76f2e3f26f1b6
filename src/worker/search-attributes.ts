/**
 * Whether a namespace has Holdfast's search attributes. An upsert of one that is not registered fails the workflow
 * task for ever, so without all of them none is written.
 */
import type { NativeConnection } from '@temporalio/worker';

import { SEARCH_ATTRIBUTES } from '../protocol/task.ts';

/** Somebody may register them while the worker runs. */
const ASK_AGAIN_MS = 60_000;

export function searchAttributeCheck(
  connection: NativeConnection,
  namespace: string,
): () => Promise<boolean> {
  let known: { answer: Promise<boolean>; at: number } | null = null;
  return async () => {
    if (known && ((await known.answer) || Date.now() - known.at < ASK_AGAIN_MS)) return known.answer;
    known = { answer: ask(connection, namespace), at: Date.now() };
    return known.answer;
  };
}

async function ask(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.values(SEARCH_ATTRIBUTES).every((name) => name in customAttributes);
  } catch {
    // Not every server answers this question (Temporal Cloud does not): then nothing is written.
    return false;
  }
}
