/**
 * What to do about a new call, decided once and kept in history: a later deploy cannot change the decision.
 */
import { createHash } from 'node:crypto';

import type { PlannedCall, RequiredCall, ToolResult } from '../protocol/calls.ts';
import { canonicalJson } from '../protocol/json.ts';
import { oneLine } from '../protocol/text.ts';
import { argumentsObject, checkArguments, summarize } from './arguments.ts';
import type { Tool } from './define-tool.ts';

/** Arguments above this stay out of history; the tool activity reads them again and checks the digest (I10). */
const MAX_ARGUMENT_BYTES = 32 * 1024;
const MAX_NAMES = 20;

/** Plans a call: run it by its tool's policy, or answer it at once when it cannot be run. */
export function planCall(tools: ReadonlyMap<string, Tool>, call: RequiredCall): PlannedCall {
  const { turn_id, call_id } = call;
  const tool = tools.get(call.name);
  // An unknown name comes from the model and may be anything.
  const name = tool ? call.name : oneLine(call.name, 64);
  const args = argumentsObject(call.arguments);
  // Arguments that no tool could take are answered at once: nothing is compared with their digest.
  const digest = argumentsDigest(args.ok ? args.value : null);
  const planned = { turn_id, call_id, name, arguments_digest: digest };
  if (!tool) {
    const known = [...tools.keys()].toSorted();
    const list = known.slice(0, MAX_NAMES).join(', ') || 'none';
    const error = `Unknown tool "${name}". Known tools: ${list}${known.length > MAX_NAMES ? ', …' : ''}.`;
    return { ...planned, summary: args.ok ? summarize(args.value) : '', plan: answer(error) };
  }
  if (!args.ok) return { ...planned, summary: '', plan: answer(`Tool "${name}": ${args.problem}`) };
  const summary = summarize(args.value);
  const checked = checkArguments(tool, args.value);
  if (!checked.ok) return { ...planned, summary, plan: answer(`Tool "${name}": ${checked.problem}`) };
  const small = Buffer.byteLength(JSON.stringify(args.value)) <= MAX_ARGUMENT_BYTES;
  return {
    ...planned,
    summary,
    ...(small ? { arguments: args.value } : {}),
    plan: {
      kind: 'run',
      effect: tool.effect,
      timeout_ms: tool.timeoutMs,
      attempts: tool.attempts,
      backoff_ms: tool.backoffMs,
      has_check: tool.check !== null,
    },
  };
}

/** SHA-256 of the arguments, the same for any order of keys. */
export function argumentsDigest(args: unknown): string {
  return createHash('sha256').update(canonicalJson(args)).digest('hex');
}

function answer(error: string): { kind: 'answer'; result: ToolResult } {
  return { kind: 'answer', result: { success: false, error } };
}
