/** `holdfast.followTurn` and `holdfast.postInput`: the service's side of a turn. */
import { faultPoint } from '../src/faults/fault-point.ts';
import { deliver } from '../src/openai/deliver.ts';
import { unlessGone } from '../src/openai/gone.ts';
import { followTurn as follow } from '../src/openai/turn-follower.ts';
import type {
  FollowInput,
  FollowOutput,
  PostInputInput,
  PostInputOutput,
  PostOutcome,
} from '../src/protocol/activities.ts';
import { callKey, owed } from '../src/protocol/calls.ts';
import { planCall } from '../src/tools/plan.ts';
import type { Adapted } from './adapt.ts';
import type { ActivityDeps } from './deps.ts';

/** Follows the turn until the workflow has something to decide. Throws ApiError. */
export async function followTurn(
  deps: ActivityDeps,
  { context, signal, shutdown, heartbeats }: Adapted,
  input: FollowInput,
): Promise<FollowOutput> {
  const tools = deps.registry.toolsFor(input.agent);
  const { log } = context;
  return follow(input, {
    api: deps.api,
    log: {
      info: (message, fields) => log.info(message, { ...fields, session_id: input.session_id }),
      warn: (message, fields) => log.warn(message, { ...fields, session_id: input.session_id }),
    },
    signal,
    handover: shutdown,
    plan: (call) => {
      const planned = planCall(tools, call);
      const { turn_id, call_id, name: tool, plan } = planned;
      const ids = { session_id: input.session_id, turn_id, call_id, tool };
      if (plan.kind === 'answer')
        log.warn('a call is answered without being run', { ...ids, error: plan.result.error });
      else log.info('new call', { ...ids, effect: plan.effect });
      return planned;
    },
    view: (view) => heartbeats.show({ ...view }),
    silenceMs: deps.streamSilenceMs,
    maxMs: deps.followLimitMs,
  });
}

/** Posts, then reads what that settled. A session that is gone is an answer, not an error. Throws ApiError. */
export async function postInput(
  { api }: ActivityDeps,
  { context: { log }, signal }: Adapted,
  input: PostInputInput,
): Promise<PostInputOutput> {
  const session = { api, sessionId: input.session_id, signal };
  const posted: PostOutcome[] = [];
  const post = async (): Promise<PostInputOutput> => {
    for (const posting of input.postings.slice(posted.length))
      posted.push(await deliver({ ...session, log }, posting));
    const { required_actions } = await api.getSession(input.session_id, signal);
    const required = new Set(owed(required_actions).calls.map(callKey));
    const confirmed = posted
      .filter(
        ({ kind, outcome, key }) => kind === 'tool_result' && outcome === 'accepted' && !required.has(key),
      )
      .map(({ key }) => key);
    faultPoint('post.before_return');
    return { posted, confirmed, session_gone: false };
  };
  return unlessGone(session, post, () => ({ posted, confirmed: [], session_gone: true }));
}
