/** What the author of agents and tools needs. */
export { defineAgent, type Agent, type AgentDefinition, type ServiceTool } from './define-agent.ts';
export {
  defineTool,
  type Tool,
  type ToolCall,
  type ToolCheck,
  type ToolDefinition,
  type ToolLog,
} from './define-tool.ts';
export { DefinitionError, ToolError } from './tool-error.ts';
