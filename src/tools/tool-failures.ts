/** What may be told of a tool's error: a sentence and a class, never its text, cause or stack (I11). */
import { ApplicationFailure } from '@temporalio/common';

import { TOOL_FAILURE } from '../protocol/activities.ts';
import { truncate, wellFormed } from '../protocol/text.ts';
import { isToolError } from './tool-error.ts';

/** Temporal keeps 4 KiB of a failure's text. */
const MAX_ERROR_BYTES = 2000;

/** The sentence for the model: the tool's own from a ToolError, else a plain one with the error's class. */
export function errorSentence(tool: string, error: unknown): string {
  if (isToolError(error)) return boundedSentence(error.message);
  const name = ownClass(error);
  return `Tool "${tool}" failed${name === '' ? '' : ` (${name})`}.`;
}

/** A sentence of at most 2000 well-formed bytes. */
export function boundedSentence(sentence: string): string {
  return truncate(wellFormed(sentence), MAX_ERROR_BYTES);
}

/** The class of an error in one word, for logs. */
export function errorClass(error: unknown): string {
  return ownClass(error) || 'Error';
}

/** True when the error itself says that another attempt is of no use. */
export function isFinalError(error: unknown): boolean {
  if (isToolError(error)) return !error.retryable;
  return error instanceof ApplicationFailure && error.nonRetryable === true;
}

/** The tool answered with a failure. */
export function toolFailed(sentence: string, retryable: boolean): ApplicationFailure {
  return ApplicationFailure.create({
    message: sentence,
    type: TOOL_FAILURE.failed,
    nonRetryable: !retryable,
  });
}

export function isToolFailed(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === TOOL_FAILURE.failed;
}

/** How an error says that a service could not be read; `retry_after_ms`: when to ask again, where it said so. */
export interface Later {
  later: true;
  retry_after_ms?: number;
}

/** Nothing was executed. `later`: the service could not be read, which is no failure of the tool. */
export function toolNotStarted(why: string, later: Later | null = null): ApplicationFailure {
  return ApplicationFailure.nonRetryable(why, TOOL_FAILURE.notStarted, ...(later ? [later] : []));
}

/** Null for an error that a retry does not mend. */
export function laterOf(error: unknown): Later | null {
  if (!(error instanceof Error && 'retryable' in error && error.retryable === true)) return null;
  const asked = 'retryAfterMs' in error ? error.retryAfterMs : null;
  return typeof asked === 'number' ? { later: true, retry_after_ms: asked } : { later: true };
}

/** It was started, and how it ended is not known. */
export function toolUnknown(why: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(why, TOOL_FAILURE.unknown);
}

/** The worker stops a repeatable tool, which is to be run elsewhere. */
export function toolShutdown(): ApplicationFailure {
  return ApplicationFailure.retryable('the worker shut down', TOOL_FAILURE.shutdown);
}

/** The name of an error's class when it has one of its own and it is a plain word; else empty. */
function ownClass(error: unknown): string {
  try {
    const name: unknown = error instanceof Error ? error.name : '';
    return typeof name === 'string' && /^[A-Za-z][\w.]{0,60}$/.test(name) && name !== 'Error' ? name : '';
  } catch {
    return '';
  }
}
