/** Turns looks at the task into lines of the story: what began, began again, and was saved since the last look. */
import { ACTIVITY } from '../../protocol/activities.ts';
import { isRecord } from '../../protocol/json.ts';
import { oneLine } from '../../protocol/text.ts';
import type { Story } from './story.ts';
import type { Completed, Running, Sight } from './watch.ts';

export class Narrator {
  readonly #story: Story;
  readonly #workerName: (pid: number) => string;
  /** Runs that were told, as `activity id#attempt`. */
  readonly #told = new Set<string>();
  #lastEventId = 0;
  #sessionId: string | null = null;

  constructor(story: Story, workerName: (pid: number) => string) {
    this.#story = story;
    this.#workerName = workerName;
  }

  /** The session's id, once the task has one. */
  get sessionId(): string | null {
    return this.#sessionId;
  }

  take(sight: Sight): void {
    const completed = sight.completed.filter(({ eventId }) => eventId > this.#lastEventId);
    this.#lastEventId = sight.lastEventId;
    for (const each of completed) if (each.name === ACTIVITY.openSession) this.#opened(each);
    const saved = completed.filter(isTool);
    if (saved.length > 0)
      this.#story.tell(
        `${list(saved)} ${saved.length === 1 ? 'has' : 'have'} ended, ${saved.length === 1 ? 'result' : 'results'} saved`,
      );

    const fresh = sight.running.filter((each) => !this.#told.has(runOf(each)));
    const begun = fresh.filter(isTool);
    for (const attempt of new Set(begun.map((each) => each.attempt))) {
      this.#began(begun.filter((each) => each.attempt === attempt));
    }
    for (const each of fresh) {
      // A follower is there when it has spoken; only one that takes over is worth a line.
      if (each.name === ACTIVITY.followTurn && each.heartbeat && each.attempt > 1) this.#follows(each);
    }
  }

  #opened({ result }: Completed): void {
    const id: unknown = isRecord(result) ? result['session_id'] : undefined;
    if (typeof id !== 'string') return;
    this.#sessionId = id;
    this.#story.tell(`session ${id} is open`);
  }

  #began(runs: readonly Running[]): void {
    const [first] = runs;
    if (!first) return;
    for (const run of runs) this.#told.add(runOf(run));
    const again = first.attempt === 1 ? '' : ' again';
    const together = runs.length === 1 ? '' : ' side by side';
    const where = this.#workerName(first.pid);
    const attempt = again && `, attempt ${first.attempt}`;
    this.#story.tell(
      `${list(runs)} ${runs.length === 1 ? 'runs' : 'run'}${again}${together} on ${where}${attempt}`,
    );
  }

  #follows(run: Running): void {
    this.#told.add(runOf(run));
    this.#story.tell(`${this.#workerName(run.pid)} follows session ${this.#sessionId ?? ''} again`);
  }
}

/** A tool with its arguments in short, for example `get_weather {"city":"Lisbon"}`. */
export function label({ name, summary }: { name: string; summary: string }): string {
  return oneLine(summary === '' ? name : `${name} ${summary}`, 60);
}

/** Holdfast's own activities have a dot in their names, tools cannot. */
function isTool({ name }: { name: string }): boolean {
  return !name.includes('.');
}

function runOf({ id, attempt }: Running): string {
  return `${id}#${attempt}`;
}

function list(those: readonly { name: string; summary: string }[]): string {
  const labels = those.map(label);
  return labels.length < 2 ? labels.join('') : `${labels.slice(0, -1).join(', ')} and ${labels.at(-1) ?? ''}`;
}
