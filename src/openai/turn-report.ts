/** The report of an ended turn, from its saved items (I7). */
import type { TurnReport } from '../protocol/task.ts';
import { failedTools, finalText, userTexts } from '../protocol/outcome.ts';
import { redact } from '../protocol/secrets.ts';
import { truncate, wellFormed } from '../protocol/text.ts';
import type { Item, Turn } from '../protocol/wire.ts';
import type { AgentsApi } from './agents-api.ts';
import { sleep } from './sleep.ts';

/** The answer stands in workflow history, where one value may take 2 MiB. */
const MAX_OUTPUT_BYTES = 512 * 1024;
/** Usage is filled in after the turn's end, or never: a short, bounded wait (agents-api.md 7). */
const USAGE_PAUSES_MS = [0, 150, 350];

export interface EndedTurn {
  report: TurnReport;
  /** Texts of the user messages in the turn. */
  userTexts: string[];
}

/** Reads the turn and its items until usage and an answer are there, or the bound is reached. */
export async function readEndedTurn(
  api: AgentsApi,
  sessionId: string,
  turnId: string,
  signal: AbortSignal,
): Promise<EndedTurn> {
  let turn: Turn | null = null;
  let items: Item[] = [];
  for (const pause of USAGE_PAUSES_MS) {
    await sleep(pause, signal);
    [turn, items] = await Promise.all([
      api.getTurn(sessionId, turnId, signal),
      api.turnItems(sessionId, turnId, signal),
    ]);
    const answered = turn.status !== 'completed' || finalText(items) !== '';
    if (answered && turn.usage) break;
  }
  if (turn === null) throw new Error('unreachable: at least one read was made');
  return {
    report: {
      turn_id: turnId,
      status: turn.status,
      error: turn.error ? { code: turn.error.code ?? null, message: redact(turn.error.message ?? '') } : null,
      usage: turn.usage ?? null,
      output_text: truncate(wellFormed(finalText(items)), MAX_OUTPUT_BYTES),
      failed_tools: failedTools(items),
    },
    userTexts: userTexts(items),
  };
}
