/** Loads the agents of a worker from a module. */
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';

import { importModule } from '../load/import-module.ts';
import { isAgent, type Agent } from '../tools/define-agent.ts';
import { isTool, type Tool } from '../tools/define-tool.ts';
import { ConfigError } from './config.ts';

export interface LoadedAgents {
  agents: Agent[];
  tools: Tool[];
}

/**
 * Imports a module and collects every agent and tool that it exports, alone or in lists. TypeScript is loaded as
 * it is. Throws ConfigError when the file is not there, cannot be loaded or exports no agent and no tool.
 */
export async function loadAgents(path: string): Promise<LoadedAgents> {
  const file = resolve(path);
  try {
    await access(file);
  } catch {
    throw new ConfigError(`--agents: there is no file ${path}`);
  }
  const module = await importModule(file);
  const exported = Object.values(module).flatMap((value) =>
    Array.isArray(value) ? (value as unknown[]) : [value],
  );
  const agents = [...new Set(exported.filter(isAgent))];
  const tools = [...new Set(exported.filter(isTool))];
  if (agents.length === 0 && tools.length === 0) {
    throw new ConfigError(`--agents: ${path} exports no agent; export what defineAgent returns`);
  }
  return { agents, tools };
}
