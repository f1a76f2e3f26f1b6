/** Agent settings from a request, resolved with the defaults that reads show (agents-api.md 1.1). */
import { newId } from './canonical.ts';
import { isObject, type Agent, type AgentSession, type AgentToolParam, type RawObject } from './wire.ts';

type SessionAgent = AgentSession['agent'];
type SessionTool = SessionAgent['tools'][number];
/** The checked `agent` object of a create or update body. */
export type AgentInput = {
  model?: string;
  instructions?: string | null;
  name?: string | null;
  tools?: AgentToolParam[] | null;
  text?: {
    format?: SessionAgent['text']['format'] | null;
    verbosity?: 'low' | 'medium' | 'high' | null;
  } | null;
  reasoning?: {
    effort?: SessionAgent['reasoning']['effort'];
    summary?: SessionAgent['reasoning']['summary'];
  } | null;
  multi_agent?: { enabled: boolean; max_concurrent_subagents?: number } | null;
  service_tier?: SessionAgent['service_tier'] | null;
  compaction?: { async?: boolean | null } | null;
  experimental?: { time_awareness?: boolean };
};

/** The agent of a new session: what was sent, over a saved agent if one was named, over the defaults. */
export function sessionAgent(input: AgentInput, saved: Agent | undefined): SessionAgent {
  const base: SessionAgent = {
    id: saved?.id ?? newId('agent'),
    name: saved?.name ?? null,
    model: saved?.model ?? input.model ?? '',
    instructions: saved?.instructions ?? null,
    tools: sessionTools(saved?.tools ?? []),
    text: saved?.text ?? { format: { type: 'text' }, verbosity: 'medium' },
    reasoning: saved?.reasoning ?? { effort: null, summary: null },
    multi_agent: saved?.multi_agent ?? { enabled: false, max_concurrent_subagents: null },
    service_tier: saved?.service_tier ?? 'auto',
    ...(saved?.compaction === undefined ? {} : { compaction: saved.compaction }),
    ...(saved?.experimental === undefined ? {} : { experimental: saved.experimental }),
  };
  return changed(base, input);
}

/** An agent with some settings replaced; settings that are absent stay. */
export function changed(agent: SessionAgent, input: AgentInput): SessionAgent {
  const next: SessionAgent = { ...agent };
  if (input.model !== undefined) next.model = input.model;
  if (input.instructions !== undefined) next.instructions = input.instructions;
  if (input.tools !== undefined) next.tools = sessionTools(input.tools ?? []);
  if (input.service_tier !== undefined) next.service_tier = input.service_tier ?? 'auto';
  if (input.reasoning !== undefined) {
    const { effort, summary } = input.reasoning ?? { effort: null };
    next.reasoning = {
      effort: effort === undefined ? agent.reasoning.effort : effort,
      summary: summary === undefined ? agent.reasoning.summary : summary,
    };
  }
  if (input.text !== undefined) {
    next.text = {
      format: input.text?.format ?? { type: 'text' },
      verbosity: input.text?.verbosity ?? 'medium',
    };
  }
  if (input.multi_agent !== undefined) next.multi_agent = multiAgent(input.multi_agent);
  if (input.compaction !== undefined) next.compaction = { async: input.compaction?.async ?? false };
  if (input.experimental !== undefined) {
    const before = agent.experimental?.time_awareness ?? false;
    next.experimental = { time_awareness: input.experimental.time_awareness ?? before };
  }
  return next;
}

function multiAgent(input: AgentInput['multi_agent']): SessionAgent['multi_agent'] {
  const enabled = input?.enabled ?? false;
  return { enabled, max_concurrent_subagents: enabled ? (input?.max_concurrent_subagents ?? 6) : null };
}

/** Tools as session reads show them: `tool_search` is accepted and never listed. */
function sessionTools(tools: readonly AgentToolParam[]): SessionTool[] {
  return tools.filter((tool) => tool.type !== 'tool_search').map(sessionTool);
}

function sessionTool(tool: AgentToolParam): SessionTool {
  switch (tool.type) {
    case 'function':
      return { ...tool, defer_loading: tool.defer_loading ?? false };
    case 'programmatic_tool_calling':
      return { type: tool.type, enabled: tool.enabled ?? true };
    case 'computer_use':
      return { type: tool.type, include_screenshots: tool.include_screenshots ?? false };
    default:
      // MCP, web search and automations are shown as sent: nothing here can use them.
      return tool as unknown as SessionTool;
  }
}

/** A saved agent, made new (`before` absent) or changed. Times are Unix seconds. */
export function savedAgent(body: RawObject, before: Agent | undefined, now: number): Agent {
  const input = body as AgentInput;
  const current =
    before === undefined ? sessionAgent(input, undefined) : changed(asSessionAgent(before), input);
  const metadata = body['metadata'];
  return {
    ...(current as unknown as Agent),
    id: before?.id ?? current.id,
    object: 'agent',
    name: input.name === undefined ? (before?.name ?? null) : input.name,
    metadata:
      metadata === undefined
        ? (before?.metadata ?? {})
        : isObject(metadata)
          ? (metadata as Record<string, string>)
          : {},
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
}

function asSessionAgent(agent: Agent): SessionAgent {
  const { object: _object, metadata: _metadata, created_at: _created, updated_at: _updated, ...rest } = agent;
  return rest as unknown as SessionAgent;
}
