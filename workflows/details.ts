/** The task in a few lines of markdown, for the Web UI's current details. */
import { escapeMarkdown, oneLine } from '../src/protocol/text.ts';
import type { CallReport } from '../src/protocol/task.ts';
import type { TaskState } from './task-state.ts';

const MAX_CALLS = 12;
const STATE_WORDS: Record<string, string> = {
  opening: 'Opening the session',
  working: 'The agent is working',
  running_tools: 'Running tools',
  waiting_for_person: 'Waiting for a person: answer with the update `resolveCall`',
  waiting_for_service: 'The service waits for something that no tool can give',
  cancelling: 'Cancelling',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
const MARKS: Record<string, string> = {
  succeeded: '✓',
  failed: '✗',
  dropped: '–',
  unknown: '?',
  running: '▶',
  planned: '…',
};

/** What matters most comes first: the Web UI shows as much as fits into its frame. */
export function currentDetails(state: TaskState): string {
  const turn = state.turns.at(-1);
  const blocks = [`**${STATE_WORDS[state.name] ?? state.name}**`];
  if (state.outcome?.error) blocks.push(escapeMarkdown(oneLine(state.outcome.error.message, 300)));
  for (const other of state.others)
    blocks.push(`Waiting for ${escapeMarkdown(other.type)} ${other.id ?? ''}`);
  if (turn?.output_text) blocks.push(`> ${escapeMarkdown(oneLine(turn.output_text, 300))}`);
  if (state.opened) {
    const model = state.opened.model ? ` (${escapeMarkdown(state.opened.model)})` : '';
    const tokens = turn?.usage ? `, ${turn.usage.total_tokens} tokens` : '';
    const session = code(state.opened.session_id);
    blocks.push(`Agent ${escapeMarkdown(state.opened.label)}${model}, session ${session}${tokens}`);
  }
  const calls = state.calls.reports().slice(-MAX_CALLS).toReversed();
  if (calls.length > 0) blocks.push(calls.map(callLine).join('\n'));
  return blocks.join('\n\n');
}

function callLine(call: CallReport): string {
  const mark = MARKS[call.state] ?? '·';
  const took = call.duration_ms === null ? '' : `, ${duration(call.duration_ms)}`;
  const note = call.note ? `: ${escapeMarkdown(oneLine(call.note, 100))}` : '';
  // Whoever has to decide about a call needs its id.
  const id = call.state === 'unknown' ? `, call ${code(call.call_id)}` : '';
  const args = call.summary === '' ? '' : ` ${code(oneLine(call.summary, 80))}`;
  return `- ${mark} **${escapeMarkdown(call.name)}**${args} (${call.state}${took}${id})${note}`;
}

/** Literal text: outside of code the Web UI makes typographic quotes of straight ones. */
function code(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}

function duration(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
