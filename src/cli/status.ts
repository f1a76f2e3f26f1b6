import type { CallReport, TaskOverview } from '../client/index.ts';
import { oneLine } from '../protocol/text.ts';
import { connect } from './connect.ts';
import { print, printJson } from './output.ts';
import { webUiLink } from './web-ui.ts';

const WIDTH = 100;
const SHOWN_CALLS = 10;

/** `holdfast status`: where a task stands, for people or as JSON. */
export async function status(taskId: string, options: { json?: boolean }): Promise<void> {
  await using tasks = await connect();
  const overview = await tasks.status(taskId);
  if (options.json === true) {
    printJson(overview);
    return;
  }
  print(describeTask(overview, { link: webUiLink(taskId), now: Date.now() }));
}

/** The overview in a few lines. Times in ms. */
export function describeTask(
  overview: TaskOverview,
  beside: { link: string | undefined; now: number },
): string {
  const { detail, record } = overview;
  const state = overview.state === 'unknown' ? 'running' : overview.state.replaceAll('_', ' ');
  const lines: string[] = [`${overview.task_id}: ${state}`];
  const add = (label: string, text: string | null | undefined) => {
    if (text) lines.push(`  ${label.padEnd(9)}${oneLine(text, WIDTH)}`);
  };
  if (overview.source === 'server') {
    const silent = `no worker is polling task queue ${JSON.stringify(overview.task_queue)}`;
    add('source', `the server alone: ${overview.worker_polling === true ? 'no worker answered' : silent}`);
  }
  add('task', overview.summary);
  add('agent', named(overview.agent, detail?.model ?? record?.model ?? null));
  add('session', overview.session_id);
  add('started', times(overview, beside.now));
  if (detail?.cancel_requested === true) add('cancel', 'requested');
  for (const wait of detail?.waiting_for ?? []) add('waits', `for a person: ${wait.type} ${wait.id ?? ''}`);
  const calls = detail?.tool_calls ?? record?.tool_calls ?? [];
  for (const { name, reason } of detail?.ignored_signals ?? []) add('ignored', `signal ${name}: ${reason}`);
  add('tools', toolCounts(detail ?? record));
  for (const call of calls.slice(-SHOWN_CALLS)) lines.push(`    ${oneLine(callLine(call), WIDTH)}`);
  for (const call of calls.filter((entry) => entry.state === 'unknown')) {
    add(
      'waits',
      `for a person: holdfast resolve ${overview.task_id} ${call.call_id} --run-again (or --result …)`,
    );
  }
  add('tokens', record?.usage ? String(record.usage.total_tokens) : null);
  add('answer', record?.output_text);
  if (overview.error !== null) add('error', `${overview.error.reason}: ${overview.error.message}`);
  add('Web UI', beside.link);
  return lines.join('\n');
}

function named(agent: string | null, model: string | null): string | null {
  return agent === null || model === null || agent === model ? (agent ?? model) : `${agent} (${model})`;
}

function times(overview: TaskOverview, now: number): string {
  const began = new Date(overview.started_at).toISOString();
  const { ended_at } = overview;
  return ended_at === null
    ? `${began}, ${duration(now - overview.started_at)} ago`
    : `${began}, ended after ${duration(ended_at - overview.started_at)}`;
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

function toolCounts(from: { tool_calls_total?: number; tool_calls_failed?: number } | null): string | null {
  if (!from?.tool_calls_total) return null;
  return `${from.tool_calls_total} settled, ${from.tool_calls_failed ?? 0} failed`;
}

function callLine(call: CallReport): string {
  const took = call.duration_ms === null ? '' : ` (${duration(call.duration_ms)})`;
  const note = call.note === undefined ? '' : `: ${call.note}`;
  return `${call.state.padEnd(10)} ${call.name} ${call.summary}${took}${note}`;
}
