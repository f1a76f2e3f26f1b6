/** Gathers the facts of a played demo from where they are: the service, the files of the tools, the run record. */
import { temporalSettings } from '../../client/settings.ts';
import { AgentsApi } from '../../openai/agents-api.ts';
import { sessionKey } from '../../openai/keys.ts';
import { findByKey } from '../../openai/session-opener.ts';
import { countEffects } from './effects.ts';
import type { Facts } from './facts.ts';
import type { Played } from './plot.ts';
import type { Stage } from './stage.ts';

type Gathered = Pick<Facts, 'record' | 'kills' | 'sessions' | 'effects' | 'posts' | 'heartbeatTimeoutMs'>;

/** Throws ApiError when the service does not answer. */
export async function gather(stage: Stage, played: Played, signal: AbortSignal): Promise<Gathered> {
  const { config, local, folder } = stage;
  const { record, kills } = played;
  return {
    record,
    kills,
    sessions: await countSessions(stage, played.runId, signal),
    effects: await countEffects(folder),
    posts: (await local?.posts(record.session_id)) ?? null,
    heartbeatTimeoutMs: config.heartbeatTimeoutMs,
  };
}

/**
 * Sessions that carry the task's key (I1). A second one would have been removed by the task's own sweep, so what was
 * deleted meanwhile counts too, where that is known.
 */
async function countSessions(
  { config, local, taskId, deletesBefore }: Stage,
  firstRunId: string,
  signal: AbortSignal,
): Promise<number> {
  const api = new AgentsApi({
    apiKey: config.apiKey,
    ...(config.baseURL === undefined ? {} : { baseURL: config.baseURL }),
  });
  const key = sessionKey(temporalSettings().namespace, taskId, firstRunId);
  const there = (await findByKey(api, key, signal)).length;
  return local === null ? there : there + (await local.deletes()) - deletesBefore;
}
