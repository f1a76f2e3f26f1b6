/**
 * Create-or-adopt: one session per task, though creation has no key of its own (I1, agents-api.md 1.2).
 *
 * The task's key stands in the session's metadata. A repeated attempt first looks for a session with that key;
 * only when a bounded search finds none is another created. What a lost attempt may still create later is removed
 * by `sweep`.
 */
import { faultPoint } from '../faults/fault-point.ts';
import { wellFormed } from '../protocol/text.ts';
import type { Session } from '../protocol/wire.ts';
import type { AgentsApi } from './agents-api.ts';
import { ApiError } from './api-error.ts';
import type { Log } from './log.ts';
import { sleep } from './sleep.ts';

const SESSION_KEY_FIELD = 'holdfast_key';
const TASK_ID_FIELD = 'holdfast_task';
const METADATA_VALUE_LIMIT = 512;

/** Pauses between looks: the filtered list lags behind a creation (agents-api.md 1.2). */
const LOOK_PAUSES_MS = [0, 500, 1000, 2000];
const NEWEST_PAGES = 2;
/** How long a sweep tries to delete one session, which answers 409 until its turn has ended (agents-api.md 1.3). */
const DELETE_PAUSES_MS = [0, 250, 500, 1000, 2000, 4000];

/** Adds the task's two metadata pairs to the caller's. */
export function withTaskMetadata(
  metadata: Record<string, string> | undefined,
  key: string,
  taskId: string,
): Record<string, string> {
  return {
    ...metadata,
    [SESSION_KEY_FIELD]: key,
    [TASK_ID_FIELD]: wellFormed(taskId.slice(0, METADATA_VALUE_LIMIT)),
  };
}

export interface OpenedRemote {
  session: Session;
  how: 'created' | 'adopted';
}

/**
 * Creates the session, or adopts the one that an earlier attempt created.
 * @param lookFirst an earlier attempt may have created one. Throws ApiError.
 */
export async function createOrAdopt(
  api: AgentsApi,
  request: { key: string; body: Record<string, unknown>; lookFirst: boolean; signal: AbortSignal; log: Log },
): Promise<OpenedRemote> {
  const { key, body, lookFirst, signal, log } = request;
  if (lookFirst) {
    for (const pause of LOOK_PAUSES_MS) {
      await sleep(pause, signal);
      const found = await findByKey(api, key, signal);
      const [first, ...others] = found;
      if (!first) continue;
      if (others.length > 0)
        log.warn('several sessions carry the key of this task', { sessions: found.map((s) => s.id) });
      log.info('adopted the session of an earlier attempt', { session_id: first.id });
      return { session: first, how: 'adopted' };
    }
  }
  faultPoint('session.before_create');
  const session = await api.createSession(body, signal);
  faultPoint('session.created');
  return { session, how: 'created' };
}

/** All sessions with the key, the oldest first: every attempt then adopts the same one. */
export async function findByKey(api: AgentsApi, key: string, signal: AbortSignal): Promise<Session[]> {
  const found = new Map<string, Session>();
  const take = (sessions: readonly Session[]): void => {
    // The filter's answer is checked too: a server that ignores unknown query keys returns everything.
    for (const session of sessions)
      if (session.metadata?.[SESSION_KEY_FIELD] === key) found.set(session.id, session);
  };
  take((await api.listSessions({ metadata: { [SESSION_KEY_FIELD]: key }, limit: 100 }, signal)).data);
  let after: string | undefined;
  for (let pages = 0; pages < NEWEST_PAGES; pages++) {
    const page = await api.listSessions({ limit: 100, order: 'desc', ...(after ? { after } : {}) }, signal);
    take(page.data);
    if (!page.has_more || !page.last_id) break;
    after = page.last_id;
  }
  return [...found.values()].toSorted((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
}

export interface Swept {
  removed: string[];
  left: string[];
}

/**
 * Cancels and deletes every session with the key except `keep`. A session that cannot be deleted within the bound
 * is named in `left`. Throws ApiError when the sessions cannot be listed.
 */
export async function sweep(
  api: AgentsApi,
  request: { key: string; keep: string | null; signal: AbortSignal; log: Log },
): Promise<Swept> {
  const swept: Swept = { removed: [], left: [] };
  for (const session of await findByKey(api, request.key, request.signal)) {
    if (session.id === request.keep) continue;
    const gone = await remove(api, session.id, request.signal);
    (gone ? swept.removed : swept.left).push(session.id);
    request.log.warn(
      gone ? 'removed a session that a lost attempt had created' : 'could not remove an orphan session',
      {
        session_id: session.id,
      },
    );
  }
  return swept;
}

async function remove(api: AgentsApi, sessionId: string, signal: AbortSignal): Promise<boolean> {
  for (const [attempt, pause] of DELETE_PAUSES_MS.entries()) {
    await sleep(pause, signal);
    try {
      await cancelAnyTurn(api, sessionId, attempt, signal);
      await api.deleteSession(sessionId, signal);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.kind === 'not_found') return true;
      if (error.kind === 'unauthorized') throw error;
    }
  }
  return false;
}

/** A session that refuses input, for example a failed one, has no turn to cancel and can be deleted. */
async function cancelAnyTurn(
  api: AgentsApi,
  sessionId: string,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const key = `hf_sweep_${sessionId}_${attempt}`;
  try {
    await api.postEvent(sessionId, { type: 'agent.session.input.cancel' }, key, signal);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.kind !== 'conflict' && error.kind !== 'invalid')) throw error;
  }
}
