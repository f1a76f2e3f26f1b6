/** The control path `/__emulator/…`: counters, faults, posts and streams, without a key. */
import { readCounters } from './counters.ts';
import type { World } from './live-session.ts';
import type { Sessions } from './sessions-api.ts';
import { parseJson } from './http-call.ts';

export const CONTROL_PREFIX = '/__emulator/';

export interface ControlReply {
  status: number;
  body: unknown;
}

/** Answers a control request; `name` is what follows the prefix. Never throws. */
export function control(
  world: World,
  sessions: Sessions,
  request: { method: string; name: string; query: URLSearchParams; raw: Buffer },
): ControlReply {
  const sessionId = request.query.get('session_id');
  switch (`${request.method} ${request.name}`) {
    case 'GET health':
      return { status: 200, body: { ok: true, sessions: sessions.all().length } };
    case 'GET counters':
      return counters(world, sessions, sessionId);
    case 'GET posts': {
      const posts = world.store.posts.filter((post) => sessionId === null || post.session_id === sessionId);
      return { status: 200, body: { data: posts } };
    }
    case 'GET streams': {
      const open = sessions.all().map((session) => [session.id, session.listeners.size] as const);
      const chosen = open.filter(([id, count]) => (sessionId === null ? count > 0 : id === sessionId));
      return { status: 200, body: Object.fromEntries(chosen) };
    }
    case 'GET faults':
      return { status: 200, body: { data: world.faults.list() } };
    case 'POST faults':
      return addFaults(world, request.raw);
    case 'DELETE faults': {
      const [id, kind] = [request.query.get('id'), request.query.get('kind')];
      const removed = world.faults.clear({
        ...(id === null ? {} : { id }),
        ...(kind === null ? {} : { kind }),
      });
      return { status: 200, body: { removed } };
    }
    default:
      return refusal(404, `no control path ${request.method} ${CONTROL_PREFIX}${request.name}`);
  }
}

function counters(world: World, sessions: Sessions, sessionId: string | null): ControlReply {
  const all = readCounters(world.store, sessions);
  if (sessionId === null) return { status: 200, body: all };
  const one = all.sessions[sessionId];
  return one === undefined ? refusal(404, `no session ${sessionId}`) : { status: 200, body: one };
}

function addFaults(world: World, raw: Buffer): ControlReply {
  try {
    const body = parseJson(raw);
    return { status: 201, body: { data: world.faults.add(Array.isArray(body) ? body : [body]) } };
  } catch (error) {
    return refusal(400, (error as Error).message);
  }
}

function refusal(status: number, message: string): ControlReply {
  return { status, body: { error: { type: 'emulator_control_error', code: null, message, param: null } } };
}
