/** Saved agents: as much of them as `agent_id` in a create needs (agents-api.md 1.2). */
import { savedAgent } from './agent-config.ts';
import { notFound } from './api-error.ts';
import { checkCreateAgentBody, checkUpdateAgentBody } from './body-checks.ts';
import type { HttpCall, Reply } from './http-call.ts';
import type { World } from './live-session.ts';
import { page, queryRules } from './paging.ts';
import { seconds } from './views.ts';
import { isObject, type Agent, type RawObject } from './wire.ts';

export class SavedAgents {
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  create(call: HttpCall): Reply {
    const body = call.json();
    checkCreateAgentBody(body);
    return this.keep(savedAgent(asObject(body), undefined, seconds(Date.now())), 201);
  }

  read(call: HttpCall): Reply {
    return { kind: 'json', status: 200, body: this.find(call) };
  }

  /** Existing sessions keep the settings they were made with. */
  update(call: HttpCall): Reply {
    const before = this.find(call);
    const body = call.json();
    checkUpdateAgentBody(body);
    return this.keep(savedAgent(asObject(body), before, seconds(Date.now())), 200);
  }

  list(call: HttpCall): Reply {
    const { store, faults } = this.world;
    const body = page(
      [...store.agents.values()],
      (agent) => agent.id,
      (agent) => agent,
      'sessions',
      { query: call.query, rules: queryRules(faults, call.occasion) },
    );
    return { kind: 'json', status: 200, body };
  }

  remove(call: HttpCall): Reply {
    const { id } = this.find(call);
    this.world.store.agents.delete(id);
    this.world.store.saveAgents();
    return { kind: 'json', status: 200, body: { id, object: 'agent.deleted', deleted: true } };
  }

  private find(call: HttpCall): Agent {
    const id = call.params['agent_id'] ?? '';
    const agent = this.world.store.agents.get(id);
    if (agent === undefined) throw notFound(id);
    return agent;
  }

  private keep(agent: Agent, status: number): Reply {
    this.world.store.agents.set(agent.id, agent);
    this.world.store.saveAgents();
    return { kind: 'json', status, body: agent };
  }
}

function asObject(body: unknown): RawObject {
  return isObject(body) ? body : {};
}
