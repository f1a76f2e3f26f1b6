/** What "not found" means: a session that is gone, or something of it that a read has missed (I4). */
import type { AgentsApi } from './agents-api.ts';
import { ApiError } from './api-error.ts';
import { sleep } from './sleep.ts';

const GONE_READ_MS = 2000;
/** So often in a row something of a session may be not found while the session is there. */
const MAX_STRAYS = 3;
/** What comes later than this is not in a row. */
const STRAY_RUN_MS = 60_000;

export interface SessionAt {
  api: AgentsApi;
  sessionId: string;
  signal: AbortSignal;
}

/**
 * Does work on a session. When something is not found, the session is looked for: if it is gone, `gone` says what
 * that gives; if it is there, the work is done again. Throws what the work throws, and the last 404 of a row.
 */
export async function unlessGone<T>(
  session: SessionAt,
  work: () => Promise<T>,
  gone: (error: ApiError) => T,
): Promise<T> {
  for (let strays = 1; ; strays++) {
    const began = Date.now();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError) || error.kind !== 'not_found') throw error;
      if (await isGone(session)) return gone(error);
      if (Date.now() - began > STRAY_RUN_MS) strays = 1;
      if (strays === MAX_STRAYS) throw error;
    }
  }
}

/** True when a second read, some time after the first, finds no session either: one read decides nothing. */
async function isGone({ api, sessionId, signal }: SessionAt): Promise<boolean> {
  await sleep(GONE_READ_MS, signal);
  try {
    await api.getSession(sessionId, signal);
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'not_found') return true;
    throw error;
  }
}
