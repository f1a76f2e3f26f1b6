/** The routes below `/v1` and the handler of each. */
import { SavedAgents } from './agents-api.ts';
import type { HttpCall, Reply } from './http-call.ts';
import type { World } from './live-session.ts';
import { Reads } from './reads-api.ts';
import type { Sessions } from './sessions-api.ts';

export interface Route {
  method: string;
  template: string;
  parts: readonly string[];
  handle: (call: HttpCall) => Reply;
}

export interface RouteMatch {
  route: Route;
  params: Record<string, string>;
}

/** All routes; where two fit, the first one counts (`/agents/sessions` before `/agents/{agent_id}`). */
export function makeRoutes(world: World, sessions: Sessions): Route[] {
  const reads = new Reads(sessions);
  const agents = new SavedAgents(world);
  const one = '/agents/sessions/{session_id}';
  const child = `${one}/subagents/{subagent_id}`;
  return [
    route('POST', '/agents/sessions', (call) => sessions.create(call)),
    route('GET', '/agents/sessions', (call) => sessions.list(call)),
    route('GET', one, (call) => sessions.read(call)),
    route('POST', one, (call) => sessions.update(call)),
    route('DELETE', one, (call) => sessions.remove(call)),
    route('POST', `${one}/events`, (call) => sessions.post(call)),
    route('GET', `${one}/events`, (call) => sessions.stream(call)),
    route('GET', `${one}/items`, (call) => reads.items(call)),
    route('GET', `${one}/turns`, (call) => reads.turns(call)),
    route('GET', `${one}/turns/{turn_id}`, (call) => reads.turn(call)),
    route('GET', `${one}/turns/{turn_id}/items`, (call) => reads.turnItems(call)),
    route('GET', `${one}/subagents`, (call) => reads.subagents(call)),
    route('GET', child, (call) => reads.subagent(call)),
    route('GET', `${child}/items`, (call) => reads.subagentItems(call)),
    route('GET', `${child}/turns`, (call) => reads.subagentTurns(call)),
    route('GET', `${child}/turns/{turn_id}`, (call) => reads.subagentTurn(call)),
    route('GET', `${child}/turns/{turn_id}/items`, (call) => reads.subagentTurnItems(call)),
    route('GET', `${one}/traces`, (call) => reads.empty(call)),
    route('GET', `${one}/artifacts`, (call) => reads.empty(call)),
    route('POST', '/agents', (call) => agents.create(call)),
    route('GET', '/agents', (call) => agents.list(call)),
    route('GET', '/agents/{agent_id}', (call) => agents.read(call)),
    route('POST', '/agents/{agent_id}', (call) => agents.update(call)),
    route('DELETE', '/agents/{agent_id}', (call) => agents.remove(call)),
  ];
}

function route(method: string, template: string, handle: Route['handle']): Route {
  return { method, template, parts: split(template), handle };
}

/** The route of a request; `path` is what follows `/v1`. Undefined when none fits. */
export function findRoute(routes: readonly Route[], method: string, path: string): RouteMatch | undefined {
  const parts = split(path);
  for (const candidate of routes) {
    if (candidate.method !== method || candidate.parts.length !== parts.length) continue;
    const params = fit(candidate.parts, parts);
    if (params !== undefined) return { route: candidate, params };
  }
  return undefined;
}

function fit(template: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, name] of template.entries()) {
    const value = parts[index] ?? '';
    if (name.startsWith('{')) params[name.slice(1, -1)] = decode(value);
    else if (name !== value) return undefined;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function split(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}
