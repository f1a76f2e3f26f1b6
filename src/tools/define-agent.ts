/** An agent: a configuration of the API's `agent`, with tools that this process can run. */
import { isRecord } from '../protocol/json.ts';
import { isTool, type Tool } from './define-tool.ts';
import { DefinitionError } from './tool-error.ts';

/** A tool entry that the service runs itself, passed through: `{type: 'web_search'}`, `{type: 'mcp', …}` and so on. */
export interface ServiceTool {
  type: string;
  [field: string]: unknown;
}

export interface AgentDefinition {
  /** How tasks name it: `{"agent": "trip-planner"}`. */
  name: string;
  model: string;
  instructions?: string;
  tools?: readonly (Tool | ServiceTool)[];
  /** Further fields of the API's `agent`, unchanged: `reasoning`, `text`, `multi_agent`, `service_tier`, … */
  [field: string]: unknown;
}

export interface Agent {
  readonly kind: 'holdfast.agent';
  readonly name: string;
  readonly model: string;
  readonly tools: readonly Tool[];
  /** The `agent` object for the creation of a session. */
  readonly config: Record<string, unknown>;
}

/** Defines an agent. Throws DefinitionError naming the field that is wrong. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name, model, instructions, tools = [], ...further } = definition;
  const wrong = (field: string, problem: string): never => {
    throw new DefinitionError(`agent ${JSON.stringify(name)}: ${field}: ${problem}`);
  };
  if (typeof name !== 'string' || name.trim() === '') wrong('name', 'expected a name');
  if (typeof model !== 'string' || model.trim() === '') wrong('model', 'expected the name of a model');
  if (!Array.isArray(tools)) wrong('tools', 'expected a list');
  const own: Tool[] = [];
  const entries: Record<string, unknown>[] = [];
  for (const [index, tool] of tools.entries()) {
    if (isTool(tool)) {
      if (own.some((other) => other.name === tool.name))
        wrong(`tools[${index}]`, `${tool.name} is there twice`);
      own.push(tool);
      entries.push({
        type: 'function',
        name: tool.name,
        description: tool.description,
        parameters: tool.jsonSchema,
      });
    } else if (typeof tool?.type === 'string' && tool.type !== 'function') {
      entries.push(tool);
    } else {
      wrong(
        `tools[${index}]`,
        'expected what defineTool returns, or a tool of the service such as {type: "web_search"}',
      );
    }
  }
  return Object.freeze({
    kind: 'holdfast.agent',
    name,
    model,
    tools: own,
    config: { model, ...(instructions === undefined ? {} : { instructions }), tools: entries, ...further },
  });
}

/** True for what `defineAgent` made, also when another copy of this module did. */
export function isAgent(value: unknown): value is Agent {
  return isRecord(value) && value['kind'] === 'holdfast.agent';
}
