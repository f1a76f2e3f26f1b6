/** One run: the scenes in their order, each within its limits, and in any case the deletion of what was created. */
import { randomUUID } from 'node:crypto';
import { judge, QUESTIONS } from './catalogue.ts';
import { isRecord } from '../protocol/json.ts';
import { errorOf, isTaken, NoAnswer, ProbeHttp, type Answer } from './http.ts';
import { Ledger, type Cleared } from './ledger.ts';
import { Notes } from './notes.ts';
import type { ProbeReport } from './report.ts';
import { Scene, told, type Limits, type SceneContext } from './scene.ts';
import { asyncTool, ASYNC_TOOL } from './scenes/async-tool.ts';
import { doors, DOORS } from './scenes/doors.ts';
import { CannotCreate, firstTurn, FIRST_TURN } from './scenes/first-turn.ts';
import { keepAlive, KEEP_ALIVE } from './scenes/keep-alive.ts';
import { largeResult, LARGE_RESULT } from './scenes/large-result.ts';
import { laterTurn, LATER_TURN } from './scenes/later-turn.ts';
import { spare, SPARE } from './scenes/spare.ts';
import { Unasked } from './unasked.ts';

/** The server cannot be probed at all: not reached, the key refused, no session to be had. One line. */
export class CannotProbe extends Error {
  override readonly name = 'CannotProbe';
}

export interface ProbeOptions {
  /** Such as `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey: string;
  model: string;
  /** Ids of questions; null asks all. */
  only: readonly string[] | null;
  /** Spending limit of each session in cents; null sets none. */
  budgetCents: number | null;
  limits?: Partial<Limits>;
  /** Ends the run early; what was created is deleted all the same. */
  signal?: AbortSignal;
  /** Asked when the server has answered and before anything is created there; a throw ends the run. */
  confirm?: () => Promise<void>;
  /** Told what is asked now. */
  progress?: (doing: string) => void;
}

export const LIMITS: Limits = {
  quietMs: 1500,
  readMs: 10_000,
  requestMs: 30_000,
  modelMs: 60_000,
  sceneMs: 120_000,
  totalMs: 300_000,
  listenMs: 20_000,
  clearMs: 40_000,
};

interface SceneRow {
  name: string;
  ids: readonly string[];
  run: (scene: Scene) => Promise<void>;
  /** It goes on in the session that the first turn makes. */
  needsMain: boolean;
}

const SCENES: readonly SceneRow[] = [
  { name: 'requests without a session', ids: DOORS, run: doors, needsMain: false },
  { name: 'a first turn', ids: FIRST_TURN, run: firstTurn, needsMain: false },
  { name: 'a second turn', ids: LATER_TURN, run: laterTurn, needsMain: true },
  { name: 'a large result, and a cancel', ids: LARGE_RESULT, run: largeResult, needsMain: true },
  { name: 'a second session, and its end', ids: SPARE, run: spare, needsMain: true },
  { name: 'an async tool', ids: ASYNC_TOOL, run: asyncTool, needsMain: false },
  { name: 'silence', ids: KEEP_ALIVE, run: keepAlive, needsMain: true },
];

/**
 * Sessions and turns that asking these questions takes. More turns begin where a message that should join a turn, or
 * have no effect, begins one; they are cancelled at once.
 */
export function estimate(only: readonly string[] | null): { sessions: number; turns: number; most: number } {
  const names = new Set(chosen(only).map(({ run }) => run));
  const has = (run: SceneRow['run']): number => (names.has(run) ? 1 : 0);
  const turns = has(firstTurn) + has(laterTurn) + has(largeResult) + has(spare) + has(asyncTool);
  const sessions = has(firstTurn) + has(spare) + has(asyncTool);
  return { sessions, turns, most: turns + has(firstTurn) + 3 * has(laterTurn) };
}

/** Throws CannotProbe; an abort ends in a report too, with `stopped`. */
export async function probe(options: ProbeOptions): Promise<ProbeReport> {
  const begun = new Date();
  const limits = { ...LIMITS, ...options.limits };
  const http = new ProbeHttp(options.baseUrl, options.apiKey, limits.requestMs);
  const notes = new Notes();
  const { only } = options;
  const context: SceneContext = {
    http,
    notes,
    limits,
    ledger: new Ledger(http, randomUUID(), (id) => options.progress?.(`session ${id} is made`)),
    model: options.model,
    budgetCents: options.budgetCents,
    wants: (id) => only === null || only.includes(id),
    main: null,
  };
  const stop = new AbortController();
  const halt = (why: string): void => stop.abort(new Unasked(why));
  const stopped = (): void => halt('the run was stopped');
  options.signal?.addEventListener('abort', stopped, { once: true });
  if (options.signal?.aborted === true) stopped();
  let late: NodeJS.Timeout | undefined;
  let cleared: Cleared;
  try {
    await reach(http, stop.signal);
    await options.confirm?.();
    late = setTimeout(() => halt('the time for the whole run was over'), limits.totalMs);
    for (const row of chosen(only)) {
      if (!stop.signal.aborted) options.progress?.(row.name);
      await play(row, context, stop.signal);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    clearTimeout(late);
    options.signal?.removeEventListener('abort', stopped);
    cleared = await clear(context, options.progress);
  }
  const findings = QUESTIONS.filter(({ id }) => context.wants(id)).map((question) => {
    return judge(
      question,
      notes.of(question.id),
      stop.signal.aborted ? reasonOf(stop.signal) : 'it did not come up',
    );
  });
  return {
    holdfast_probe: 1,
    base_url_host: http.host,
    model: options.model,
    started_at: begun.toISOString(),
    seconds: Math.round((Date.now() - begun.getTime()) / 100) / 10,
    stopped: options.signal?.aborted === true,
    requests: http.requests,
    sessions: { created: context.ledger.created, deleted: cleared.deleted.length, left: cleared.left },
    turns: cleared.turns,
    tokens: cleared.tokens,
    broken: findings.filter(({ safe }) => safe === false).map(({ id }) => id),
    findings,
  };
}

function reasonOf(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : String(signal.reason);
}

function chosen(only: readonly string[] | null): SceneRow[] {
  const wanted = (row: SceneRow): boolean => only === null || row.ids.some((id) => only.includes(id));
  const rows = SCENES.filter(wanted);
  const main = rows.some(({ needsMain }) => needsMain);
  return SCENES.filter((row) => rows.includes(row) || (main && row.run === firstTurn));
}

/** Closes every stream first: a server may count them. */
async function clear(context: SceneContext, progress: ProbeOptions['progress']): Promise<Cleared> {
  const { clearMs } = context.limits;
  context.main?.stream.close();
  if (context.ledger.created > 0) progress?.('deleting the sessions');
  const cleared = await context.ledger.clear(clearMs);
  for (const { id, why } of cleared.left) progress?.(`session ${id} is left behind: ${why}`);
  return cleared;
}

/** One scene. What keeps it from being played is the reason for all of its questions that lack an answer. */
async function play(row: SceneRow, context: SceneContext, run: AbortSignal): Promise<void> {
  const abort = new AbortController();
  const stop = (): void => abort.abort(run.reason);
  if (run.aborted) stop();
  run.addEventListener('abort', stop, { once: true });
  const late = setTimeout(
    () => abort.abort(new Unasked('the time for this question was over')),
    context.limits.sceneMs,
  );
  try {
    abort.signal.throwIfAborted();
    await row.run(new Scene(context, abort.signal));
  } catch (error) {
    if (error instanceof CannotCreate) throw noSession(context.http, error.answer);
    if (!(error instanceof Unasked) && !(error instanceof NoAnswer)) throw error;
    for (const id of row.ids) context.notes.unasked(id, error.message);
  } finally {
    clearTimeout(late);
    run.removeEventListener('abort', stop);
  }
}

/** Is anybody there who speaks this wire and takes this key? */
async function reach(http: ProbeHttp, signal: AbortSignal): Promise<void> {
  let answer: Answer;
  try {
    answer = await http.send({ method: 'GET', path: '/agents/sessions?limit=1', signal });
  } catch (error) {
    throw error instanceof NoAnswer ? new CannotProbe(error.message) : error;
  }
  if (isTaken(answer) && isRecord(answer.body) && Array.isArray(answer.body['data'])) return;
  const words = http.shown(errorOf(answer).message ?? '');
  throw new CannotProbe(`${http.host} ${refusalOf(answer, http)}${words === '' ? '' : ` (${words})`}`);
}

/** What is wrong with a server that gives no list of sessions, and what to do about it. */
function refusalOf(answer: Answer, http: ProbeHttp): string {
  const { status, headers } = answer;
  if (isTaken(answer)) return 'does not speak this wire: it answered a list of sessions with something else';
  if (status === 401 || status === 403)
    return `refused the API key with ${status}: is OPENAI_API_KEY the one for this server?`;
  if (status === 404)
    return 'knows no /agents/sessions below this base URL: give it up to its version, such as …/v1';
  const location = status < 400 ? headers.get('location') : null;
  const elsewhere = location === null ? '' : ` and sends to ${http.shown(location)}`;
  return `answered a list of sessions with ${told(answer)}${elsewhere}`;
}

function noSession(http: ProbeHttp, answer: Answer): CannotProbe {
  const words = http.shown(errorOf(answer).message ?? '');
  const hint = /spend_control/.test(words) ? ' (--budget-cents 0 sends no limit)' : '';
  return new CannotProbe(`${http.host} made no session: ${told(answer)} ${words}${hint}`.trim());
}
