/** All activities of a worker: Holdfast's own under names with a dot, every tool under its own name. */
import { callIdempotencyKey } from '../src/openai/keys.ts';
import { sweep } from '../src/openai/session-opener.ts';
import { ACTIVITY, type Activities } from '../src/protocol/activities.ts';
import { callKey, owed } from '../src/protocol/calls.ts';
import { acknowledgedEnd } from '../src/tools/acknowledged-end.ts';
import { toolActivity } from '../src/tools/tool-activity.ts';
import { adapt, type Adapted } from './adapt.ts';
import type { ActivityDeps } from './deps.ts';
import { afterReset } from './after-reset.ts';
import { followTurn, postInput } from './follow-turn.ts';
import { openSession, taskSessionKey } from './open-session.ts';

export type { ActivityDeps } from './deps.ts';

/** The activities to register with a worker. Tool names never collide: they cannot contain a dot. */
export function createActivities(deps: ActivityDeps): Record<string, (...args: never[]) => Promise<unknown>> {
  const run = <T>(work: (adapted: Adapted) => Promise<T>): Promise<T> => adapt(deps.shutdown, work);
  const own: Activities = {
    [ACTIVITY.openSession]: (input) => run((adapted) => openSession(deps, adapted, input)),
    [ACTIVITY.followTurn]: (input) => run((adapted) => followTurn(deps, adapted, input)),
    [ACTIVITY.postInput]: (input) => run((adapted) => postInput(deps, adapted, input)),
    [ACTIVITY.sweepSessions]: (input) =>
      run(({ context, signal }) => {
        const key = taskSessionKey(context.info, input.first_run_id);
        return sweep(deps.api, { key, keep: input.keep, signal, log: context.log });
      }),
  };
  const tools = deps.registry.tools.map((tool) => {
    const activity = toolActivity(tool, {
      maxOutputBytes: deps.maxOutputBytes,
      logToolErrors: deps.logToolErrors,
      idempotencyKey: (call) => callIdempotencyKey(call.session_id, call.turn_id, call.call_id),
      readArguments: async (call, signal) => {
        const session = await deps.api.getSession(call.session_id, signal);
        const required = owed(session.required_actions).calls.find(
          (other) => callKey(other) === callKey(call),
        );
        if (!required) throw new Error('the call is no longer required');
        return required.arguments;
      },
    });
    const once = tool.effect === 'once';
    return [tool.name, acknowledgedEnd(afterReset(activity, once), once)];
  });
  return { ...own, ...Object.fromEntries(tools) };
}
