/** Builders for items and for the events that show them (agents-api.md 3.2, 4). */
import { newId } from './canonical.ts';
import type { ItemRecord } from './records.ts';
import type {
  AgentFunctionCallOutput,
  AgentSessionInputMessageParam,
  AgentSessionItem,
  ApprovalRequest,
  EventBody,
} from './wire.ts';

type AssistantMessage = Extract<AgentSessionItem, { type: 'message' }>;
type Reasoning = Extract<AgentSessionItem, { type: 'reasoning' }>;
type FunctionCall = Extract<AgentSessionItem, { type: 'function_call' }>;
type ItemStatus = 'in_progress' | 'completed' | 'failed' | 'incomplete';

/** An item's record under a key of its own, which is the item's id on the wire too. */
function recorded<I extends AgentSessionItem>(
  turnId: string,
  prefix: string,
  outputIndex: number | null,
  item: (key: string) => I,
  subagentId: string | null = null,
): ItemRecord & { item: I } {
  const key = newId(prefix);
  return { key, turn_id: turnId, subagent_id: subagentId, output_index: outputIndex, item: item(key) };
}

/** A user's message. Its wire `id` is null under the fault `null_id_item` (legacy messages). */
export function userItem(
  turnId: string,
  message: AgentSessionInputMessageParam,
  nullId: boolean,
): ItemRecord {
  return recorded(turnId, 'msg', null, (key) => ({
    type: 'message',
    id: nullId ? null : key,
    role: 'user',
    phase: null,
    status: 'completed',
    content: message.content,
    turn_id: turnId,
  }));
}

export function assistantItem(
  turnId: string,
  phase: AssistantMessage['phase'],
  outputIndex: number,
  subagentId: string | null = null,
): ItemRecord & { item: AssistantMessage } {
  return recorded(
    turnId,
    'msg',
    outputIndex,
    (key) => ({
      type: 'message',
      id: key,
      role: 'assistant',
      phase,
      status: 'in_progress',
      content: [],
      turn_id: turnId,
    }),
    subagentId,
  );
}

export function reasoningItem(turnId: string, outputIndex: number): ItemRecord & { item: Reasoning } {
  return recorded(turnId, 'rs', outputIndex, (key) => ({
    type: 'reasoning',
    id: key,
    status: 'in_progress',
    summary: [],
    turn_id: turnId,
  }));
}

export function callItem(
  turnId: string,
  call: { call_id: string; name: string; arguments: unknown },
  outputIndex: number,
): ItemRecord & { item: FunctionCall } {
  return recorded(turnId, 'fc', outputIndex, (key) => ({
    type: 'function_call',
    id: key,
    status: 'in_progress',
    turn_id: turnId,
    ...call,
  }));
}

/** What the client posted for a call. A failed result keeps its error and has no output. */
export function callOutputItem(
  turnId: string,
  callId: string,
  result: { success: boolean; output: AgentFunctionCallOutput | null; error: string | null },
): ItemRecord {
  return recorded(turnId, 'fco', null, (key) => ({
    type: 'function_call_output',
    id: key,
    call_id: callId,
    output: result.success ? result.output : null,
    error: result.success ? null : result.error,
    status: result.success ? 'completed' : 'failed',
    turn_id: turnId,
  }));
}

export function createSubagentItem(
  turnId: string,
  agentId: string,
  task: string,
  outputIndex: number,
): ItemRecord {
  return recorded(turnId, 'sc', outputIndex, (key) => ({
    type: 'create_subagent_call',
    id: key,
    agent_id: agentId,
    content: [{ type: 'output_text', text: task }],
    model: null,
    reasoning_effort: null,
    status: 'in_progress',
    turn_id: turnId,
  }));
}

export function agentMessageItem(turnId: string, from: string, to: string, text: string): ItemRecord {
  return recorded(turnId, 'am', null, (key) => ({
    type: 'agent_message',
    id: key,
    sender_agent_id: from,
    recipient_agent_id: to,
    content: [{ type: 'output_text', text }],
    turn_id: turnId,
  }));
}

/** Only sign-in requests leave an item; MCP approvals and origin access do not (agents-api.md 4). */
export function approvalItem(
  turnId: string,
  requestId: string,
  request: ApprovalRequest,
  outputIndex: number,
): ItemRecord | null {
  if (request.type !== 'browser_authentication') return null;
  return recorded(turnId, 'cua', outputIndex, (key) => ({
    type: 'computer_use_approval_request',
    id: key,
    request_id: requestId,
    request,
    turn_id: turnId,
  }));
}

/** The status of an item, or null for items that have none. */
export function statusOf(item: AgentSessionItem): ItemStatus | null {
  return 'status' in item ? item.status : null;
}

/** The item in its final form. Items without a status stay as they are. */
export function closed(
  item: AgentSessionItem,
  status: 'completed' | 'failed' | 'incomplete',
): AgentSessionItem {
  if (!('status' in item)) return item;
  // Output items know no "failed"; for them a failure is an incomplete item.
  const output = item.type === 'message' || item.type === 'reasoning' || item.type === 'web_search_call';
  const value = output && status === 'failed' ? 'incomplete' : status;
  return { ...item, status: value } as AgentSessionItem;
}

export function addedEvent(sessionId: string, record: ItemRecord): EventBody {
  return {
    type: 'agent.session.turn.item.added',
    session_id: sessionId,
    turn_id: record.turn_id,
    output_index: record.output_index,
    item: record.item,
  };
}

/** `item.done`, which exists for output items only (agents-api.md 3.3). */
export function doneEvent(sessionId: string, record: ItemRecord): EventBody {
  return {
    type: 'agent.session.turn.item.done',
    session_id: sessionId,
    turn_id: record.turn_id,
    output_index: record.output_index ?? 0,
    item: record.item as Extract<EventBody, { type: 'agent.session.turn.item.done' }>['item'],
  };
}

/** The plain text of a message or a result: texts joined, images named. */
export function plainText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '[image]'))
    .join('');
}
