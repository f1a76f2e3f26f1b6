/** The report of an ended turn, from its saved items (I7). */
import type { TurnReport } from '../protocol/task.ts';
import { failedTools, finalText, isTerminal, userTexts } from '../protocol/outcome.ts';
import { redact } from '../protocol/secrets.ts';
import { oneLine, truncate, wellFormed, withinJson } from '../protocol/text.ts';
import type { Item, Turn } from '../protocol/wire.ts';
import type { AgentsApi } from './agents-api.ts';
import { sleep } from './sleep.ts';

/** The answer stands in workflow history, where one value may take 2 MiB. */
const MAX_OUTPUT_BYTES = 512 * 1024;
const MAX_ERROR_BYTES = 2000;
const MAX_CODE = 100;
/** Usage is filled in after the turn's end, or never: a short, bounded wait (agents-api.md 7). */
const USAGE_PAUSES_MS = [0, 150, 350];

export interface EndedTurn {
  report: TurnReport;
  /** Texts of the user messages in the turn. */
  userTexts: string[];
}

/**
 * Reads an ended turn and its items until usage and an answer are there, or the bound is reached. A read that is
 * older than the end changes nothing of it.
 */
export async function readEndedTurn(
  api: AgentsApi,
  sessionId: string,
  ended: Turn,
  signal: AbortSignal,
): Promise<EndedTurn> {
  let turn = ended;
  let items: Item[] = [];
  let answered = false;
  for (const pause of USAGE_PAUSES_MS) {
    await sleep(pause, signal);
    const [read, saved] = await Promise.all([
      api.getTurn(sessionId, ended.id, signal),
      // A long turn's items are many: only an answer that is missing makes them worth another read.
      answered ? items : api.turnItems(sessionId, ended.id, signal),
    ]);
    if (isTerminal(read)) turn = read;
    items = saved;
    answered = turn.status !== 'completed' || finalText(items) !== '';
    if (answered && turn.usage) break;
  }
  const text = wellFormed(finalText(items));
  return {
    report: {
      turn_id: turn.id,
      status: turn.status,
      error: turn.error ? shownError(turn.error.code ?? null, turn.error.message ?? '') : null,
      usage: turn.usage ?? null,
      output_text: withinJson(MAX_OUTPUT_BYTES, (max) => truncate(text, max)),
      failed_tools: failedTools(items),
    },
    userTexts: userTexts(items),
  };
}

/** An error of the service as it stands in history: without keys, and bounded (I10, I11). */
export function shownError(code: string | null, message: string): { code: string | null; message: string } {
  const safe = truncate(redact(wellFormed(message)), MAX_ERROR_BYTES);
  return { code: code === null ? null : oneLine(redact(code), MAX_CODE), message: safe };
}
