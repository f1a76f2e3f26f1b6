/** Translates what the Temporal client throws into the errors of this client. */
import { WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { NamespaceNotFoundError, WorkflowNotFoundError } from '@temporalio/common';
import { oneLine } from '../protocol/text.ts';
import { InvalidInputError } from '../schema/invalid-input.ts';
import { ServerUnavailableError, TaskNotFoundError, UpdateRefusedError } from './errors.ts';

/** gRPC status codes, by the protocol's own numbers. */
const GRPC = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
};

/** How the server is named in a message: its address, where the connection knows it. */
function addressOf(client: Client): string {
  const options = (client.connection as { options?: { address?: unknown } }).options;
  return typeof options?.address === 'string' ? options.address : 'the configured address';
}

/** The sentence for a server that does not answer. */
export function unreachable(address: string, cause?: unknown): ServerUnavailableError {
  return new ServerUnavailableError(
    'unreachable',
    `cannot reach the Temporal server at ${address}: start one (./temporal-dev.sh) or set TEMPORAL_ADDRESS`,
    cause,
  );
}

/** The error to throw for one that a call about `taskId` met. Unknown errors come back as they are. */
export function translate(error: unknown, client: Client, taskId: string): unknown {
  if (error instanceof WorkflowNotFoundError) return new TaskNotFoundError(taskId);
  if (error instanceof WorkflowUpdateFailedError) {
    return new UpdateRefusedError(taskId, oneLine(error.cause?.message ?? error.message, 500));
  }
  if (error instanceof NamespaceNotFoundError) {
    const namespace = JSON.stringify(error.namespace);
    return new ServerUnavailableError(
      'namespace',
      `the Temporal server at ${addressOf(client)} has no namespace ${namespace}: create it or set TEMPORAL_NAMESPACE`,
      error,
    );
  }
  const code = grpcCode(error);
  if (code === GRPC.unavailable || code === GRPC.deadlineExceeded)
    return unreachable(addressOf(client), error);
  if (code === GRPC.invalidArgument)
    return InvalidInputError.at('request', `the Temporal server refuses it: ${grpcDetails(error)}`);
  if (code === GRPC.permissionDenied || code === GRPC.unauthenticated) {
    return new ServerUnavailableError(
      'permission',
      `the Temporal server at ${addressOf(client)} refuses access: check TEMPORAL_API_KEY or the TLS settings of the profile`,
      error,
    );
  }
  return error;
}

/**
 * True when a query or update found no worker: the server waited for one until the deadline, or knows that none
 * has polled lately. The server itself answered.
 */
export function lacksWorker(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return true;
  const code = grpcCode(error);
  return outOfTime(code) || code === GRPC.failedPrecondition;
}

/** At a deadline either side may end the call first; the server's end arrives as `cancelled`. */
function outOfTime(code: number | undefined): boolean {
  return code === GRPC.deadlineExceeded || code === GRPC.cancelled;
}

/** The server's own sentence. */
function grpcDetails(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('details' in at && typeof at.details === 'string') return at.details;
  }
  return 'no reason given';
}

function grpcCode(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code: unknown = 'code' in at ? at.code : undefined;
    if (typeof code === 'number') return code;
  }
  return undefined;
}
