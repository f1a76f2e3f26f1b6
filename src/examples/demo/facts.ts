/** What came of it: measured, shown, and held against what Holdfast promises. */
import type { CallReport, RunRecord } from '../../protocol/task.ts';
import { label } from './narrator.ts';
import type { Posts } from './local-api.ts';
import type { Fact } from './story.ts';

/** A kill, and the first progress after it. */
export interface Kill {
  worker: number;
  /** Seconds from the kill to the progress. */
  seconds: number;
  progress: string;
}

export interface Facts {
  record: RunRecord;
  /** Sessions at the service that carry the task's key. */
  sessions: number;
  /** Effects by call id. */
  effects: ReadonlyMap<string, number>;
  /** Null at a service that does not count. */
  posts: Posts | null;
  kills: readonly Kill[];
  seconds: number;
  heartbeatTimeoutMs: number;
  webUi: string | undefined;
}

const UNKNOWN = 'not known at this server';

/** The facts, ready to be shown. */
export function factLines(facts: Facts): Fact[] {
  const { record, posts, kills, effects, webUi } = facts;
  const calls = record.tool_calls;
  const width = Math.max(0, ...calls.map((call) => label(call).length));
  return [
    ['answer', ...wrap(record.output_text, 78)],
    ['sessions created', String(facts.sessions)],
    [
      'effects per call',
      ...calls.map(
        (call) => `${label(call).padEnd(width)}  ${effects.get(call.call_id) ?? 0}${attempts(call)}`,
      ),
    ],
    ['results accepted', posts === null ? UNKNOWN : acceptance(calls, posts)],
    ['posts refused', posts === null ? UNKNOWN : String(posts.refused)],
    ['kills', `${kills.length}, by SIGKILL`],
    ...kills.map(({ worker, seconds, progress }): Fact => [
      `after kill ${worker}`,
      `${seconds.toFixed(1)} s to the next progress: ${progress}`,
    ]),
    ['', `(a worker counts as lost when it has been silent for ${facts.heartbeatTimeoutMs / 1000} s)`],
    ['whole demo', `${facts.seconds.toFixed(0)} s`],
    ...(webUi === undefined ? [] : [['Web UI', webUi, '(as long as the server runs)'] as const]),
  ];
}

/** What does not hold, in plain words. Empty when everything does. */
export function broken({ record, sessions, effects, posts, kills }: Facts): string[] {
  const problems: string[] = [];
  if (record.run.status !== 'completed') problems.push(`the task ended as ${record.run.status}`);
  if (sessions !== 1) problems.push(`${sessions} sessions were created for the task, not 1`);
  if (kills.length !== 2) problems.push(`${kills.length} workers were killed, not 2`);
  const bookings = record.tool_calls.filter(({ name }) => name === 'book_room');
  if (bookings.length === 0) problems.push('the agent never called book_room');
  for (const call of record.tool_calls) {
    const count = effects.get(call.call_id) ?? 0;
    if (call.effect === 'once' && count !== 1)
      problems.push(`${label(call)} took effect ${count} times, not once`);
    if (call.state !== 'succeeded') problems.push(`${label(call)} ended as ${call.state}`);
    const accepted = posts?.acceptedByCall.get(call.call_id) ?? 0;
    if (posts !== null && accepted !== 1)
      problems.push(`the result of ${label(call)} was accepted ${accepted} times, not once`);
  }
  return problems;
}

function attempts({ attempts: count }: CallReport): string {
  return count > 1 ? `  (${count} attempts)` : '';
}

function acceptance(calls: readonly CallReport[], { acceptedByCall }: Posts): string {
  let total = 0;
  for (const count of acceptedByCall.values()) total += count;
  return `${total} for ${calls.length} calls`;
}

/** Breaks a text into lines at spaces. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
