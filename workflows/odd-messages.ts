/**
 * Messages that anybody may send and that Temporal itself does not survive. They are made harmless before the
 * workflow sees them. The bundle takes this module in (`workflowInterceptorModules`).
 */
import type { WorkflowInterceptors } from '@temporalio/workflow';

/**
 * Names that Temporal keeps for itself. Where a workflow has a handler for all signals, as a task has, the SDK fails
 * the workflow task for such a signal, for ever. Under another name it is ignored like any that nobody knows.
 */
const RESERVED = '__temporal_';

/**
 * The server takes an update of up to 4 MB, but no answer to one of more than 2 MiB, as the answer holds the update:
 * be it accepted or refused, the server terminates the workflow. One that is not answered at all it refuses by itself.
 */
const MAX_UPDATE_BYTES = 1_900_000;

/** Looked up by this name. @public */
export function interceptors(): WorkflowInterceptors {
  return {
    internals: [
      {
        activate(input, next) {
          const { activation } = input;
          activation.jobs = (activation.jobs ?? []).filter(
            ({ doUpdate }) => !doUpdate || size(doUpdate) <= MAX_UPDATE_BYTES,
          );
          for (const { signalWorkflow: signal } of activation.jobs) {
            if (signal?.signalName?.startsWith(RESERVED)) signal.signalName = `reserved ${signal.signalName}`;
          }
          return next(input);
        },
      },
    ],
  };
}

interface Sized {
  input?: { data?: Uint8Array | null }[] | null;
  headers?: Record<string, { data?: Uint8Array | null }> | null;
}

function size({ input, headers }: Sized): number {
  const payloads = [...(input ?? []), ...Object.values(headers ?? {})];
  return payloads.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
}
