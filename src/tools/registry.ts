/** The agents and tools that a worker can serve. */
import type { Agent } from './define-agent.ts';
import type { Tool } from './define-tool.ts';
import { DefinitionError } from './tool-error.ts';

export class Registry {
  readonly #agents = new Map<string, Agent>();
  readonly #tools = new Map<string, Tool>();

  /** @param tools tools beyond those of the agents, for inline and attached agents. Throws DefinitionError. */
  constructor(agents: readonly Agent[], tools: readonly Tool[] = []) {
    for (const agent of agents) {
      if (this.#agents.has(agent.name)) throw new DefinitionError(`agent "${agent.name}" is defined twice`);
      this.#agents.set(agent.name, agent);
    }
    for (const tool of [...agents.flatMap((agent) => agent.tools), ...tools]) {
      const known = this.#tools.get(tool.name);
      // Tools are Temporal activities under their own names: one name, one tool, in the whole worker.
      if (known && known !== tool)
        throw new DefinitionError(`tool "${tool.name}" is defined twice, differently`);
      this.#tools.set(tool.name, tool);
    }
  }

  get agentNames(): string[] {
    return [...this.#agents.keys()].toSorted();
  }

  get tools(): Tool[] {
    return [...this.#tools.values()];
  }

  agent(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** The tools that answer for a registered agent; every tool for an inline, saved or attached one (null). */
  toolsFor(agentName: string | null): ReadonlyMap<string, Tool> {
    const agent = agentName === null ? undefined : this.#agents.get(agentName);
    return agent ? new Map(agent.tools.map((tool) => [tool.name, tool])) : this.#tools;
  }
}
