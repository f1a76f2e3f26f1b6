/**
 * The types and statuses that the Agents API is known to send (agents-api.md 1.1, 2 and 3.2). Nothing is refused for
 * being absent here: an unknown one is logged once and passed by (I12). A compile-only test holds the lists against
 * the `openai` package.
 */

export const EVENT_TYPES = [
  'error',
  'agent.output.command_execution_output.delta',
  'agent.session.budget_reached',
  'agent.session.created',
  'agent.session.environment.connected',
  'agent.session.environment.disconnected',
  'agent.session.environment.expired',
  'agent.session.environment.failed',
  'agent.session.environment.pending',
  'agent.session.environment.ready',
  'agent.session.environment.reset',
  'agent.session.environment.suspended',
  'agent.session.failed',
  'agent.session.idle',
  'agent.session.in_progress',
  'agent.session.requires_action',
  'agent.session.subagent.active',
  'agent.session.subagent.closed',
  'agent.session.subagent.created',
  'agent.session.turn.cancelled',
  'agent.session.turn.completed',
  'agent.session.turn.content_part.added',
  'agent.session.turn.content_part.done',
  'agent.session.turn.created',
  'agent.session.turn.failed',
  'agent.session.turn.in_progress',
  'agent.session.turn.item.added',
  'agent.session.turn.item.done',
  'agent.session.turn.output_text.delta',
  'agent.session.turn.output_text.done',
  'agent.session.turn.reasoning_summary_part.added',
  'agent.session.turn.reasoning_summary_part.done',
  'agent.session.turn.reasoning_summary_text.delta',
  'agent.session.turn.reasoning_summary_text.done',
] as const;

export const ITEM_TYPES = [
  'agent_message',
  'close_subagent_call',
  'command_execution',
  'computer_use_approval_request',
  'computer_use_approval_request_result',
  'computer_use_call',
  'create_subagent_call',
  'function_call',
  'function_call_output',
  'interrupt_subagent_call',
  'mcp_call',
  'message',
  'reasoning',
  'resume_subagent_call',
  'send_subagent_input_call',
  'wait_for_subagents_call',
  'web_search_call',
] as const;

export const SESSION_STATUSES = [
  'budget_reached',
  'failed',
  'idle',
  'in_progress',
  'requires_action',
] as const;

export const TURN_STATUSES = [
  'cancelled',
  'completed',
  'failed',
  'in_progress',
  'queued',
  'waiting',
] as const;

export const ACTION_TYPES = [
  'computer_use_approval_request',
  'environment_connection',
  'function_call',
  'mcp_approval_request',
] as const;

const LISTS = {
  event: new Set<string>(EVENT_TYPES),
  item: new Set<string>(ITEM_TYPES),
  session_status: new Set<string>(SESSION_STATUSES),
  turn_status: new Set<string>(TURN_STATUSES),
  action: new Set<string>(ACTION_TYPES),
} as const;

/** True for a value that the API is known to have for this kind of thing. */
export function isKnown(kind: keyof typeof LISTS, value: string): boolean {
  return LISTS[kind].has(value);
}
