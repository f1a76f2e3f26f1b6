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

export function currentDetails(state: TaskState): string {
  const lines = [`**${STATE_WORDS[state.name] ?? state.name}**`];
  if (state.opened) {
    const model = state.opened.model ? ` (${escapeMarkdown(state.opened.model)})` : '';
    lines.push(`Agent ${escapeMarkdown(state.opened.label)}${model}, session \`${state.opened.session_id}\``);
  }
  for (const other of state.others) lines.push(`Waiting for ${escapeMarkdown(other.type)} ${other.id ?? ''}`);
  const calls = state.calls.reports().slice(-MAX_CALLS);
  if (calls.length > 0) lines.push(calls.map(callLine).join('\n'));
  const turn = state.turns.at(-1);
  if (turn?.usage) lines.push(`Tokens: ${turn.usage.total_tokens}`);
  if (turn?.output_text) lines.push(`> ${escapeMarkdown(oneLine(turn.output_text, 300))}`);
  return lines.join('\n\n');
}

function callLine(call: CallReport): string {
  const mark = MARKS[call.state] ?? '·';
  const took = call.duration_ms === null ? '' : `, ${(call.duration_ms / 1000).toFixed(1)} s`;
  const note = call.note ? `: ${escapeMarkdown(oneLine(call.note, 100))}` : '';
  return `- ${mark} **${escapeMarkdown(call.name)}** ${escapeMarkdown(oneLine(call.summary, 80))} (${call.state}${took})${note}`;
}
