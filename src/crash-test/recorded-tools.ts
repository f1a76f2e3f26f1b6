/** Tools that write down in the journal what they do. Everything else about them stays as it is. */
import { setTimeout as wait } from 'node:timers/promises';

import type { Agent } from '../tools/define-agent.ts';
import type { Tool, ToolCall, ToolCheck } from '../tools/define-tool.ts';
import { renderOutput } from '../tools/render.ts';
import { isToolError } from '../tools/tool-error.ts';
import type { LoadedAgents } from '../worker/load-agents.ts';
import type { Journal, JournalEvent, Outcome } from './journal.ts';

export interface RecordingOptions {
  journal: Journal;
  maxOutputBytes: number;
  /** Whether the texts of errors are kept, which may hold anything. */
  tellErrors: boolean;
  /** How long a call is held up before its tool's code begins. */
  holdMs: (callId: string) => number;
  /** Called when a tool's code begins; the function that it returns when that code has ended. */
  onBegin: () => () => void;
}

/** The same agents and tools, recorded. A tool that several agents share stays one tool. */
export function recorded({ agents, tools }: LoadedAgents, options: RecordingOptions): LoadedAgents {
  const made = new Map<Tool, Tool>();
  const wrap = (tool: Tool): Tool => {
    const wrapped = made.get(tool) ?? recordedTool(tool, options);
    made.set(tool, wrapped);
    return wrapped;
  };
  return {
    agents: agents.map((agent): Agent => ({ ...agent, tools: agent.tools.map(wrap) })),
    tools: tools.map(wrap),
  };
}

function recordedTool(
  tool: Tool,
  { journal, maxOutputBytes, tellErrors, holdMs, onBegin }: RecordingOptions,
): Tool {
  const write = (call: ToolCall, event: JournalEvent): void => {
    const { callId, idempotencyKey } = call;
    journal.write({
      ...event,
      tool: tool.name,
      call_id: callId,
      key: idempotencyKey,
      pid: process.pid,
      at: Date.now(),
    });
  };
  const { check } = tool;
  return {
    ...tool,
    execute: async (args, call) => {
      const hold = holdMs(call.callId);
      if (hold > 0) await wait(hold, undefined, { signal: call.signal });
      write(call, { event: 'begin' });
      const ended = onBegin();
      try {
        const value = await tool.execute(args, call);
        ended();
        write(call, { event: 'end', outcome: rendered(value, maxOutputBytes) });
        return value;
      } catch (error) {
        ended();
        write(call, { event: 'end', outcome: failed(error, tellErrors) });
        throw error;
      }
    },
    check:
      check &&
      (async (args, call): Promise<ToolCheck<unknown>> => {
        try {
          const found = await check(args, call);
          const outcome = found.status === 'done' ? rendered(found.output, maxOutputBytes) : null;
          write(call, { event: 'check', status: found.status, outcome });
          return found;
        } catch (error) {
          write(call, { event: 'check', status: 'unknown', outcome: failed(error, tellErrors) });
          throw error;
        }
      }),
  };
}

/** As it would be posted. A result that cannot be sent is a failure, as it is for the model. */
function rendered(value: unknown, maxBytes: number): Outcome {
  try {
    return { ok: true, output: renderOutput(value, maxBytes) };
  } catch (error) {
    // Made by Holdfast, and free of what the value holds.
    return failed(error, true);
  }
}

/** A sentence meant for the model is kept; of every other error the class alone, by default (I11). */
function failed(error: unknown, tellErrors: boolean): Outcome {
  if (!(error instanceof Error)) return { ok: false, error: 'a thrown value that is no Error' };
  if (isToolError(error)) return { ok: false, error: error.message };
  return { ok: false, error: tellErrors ? `${error.name}: ${error.message}` : error.name };
}
