/**
 * The demo itself: a task is started, its worker is killed while a tool runs, the next one while the event stream is
 * open, and a third one brings the task to its end. Each kill waits for what the Temporal server says, never for
 * time alone; the local Agents API adds what it sees of its stream.
 */
import { ACTIVITY } from '../../protocol/activities.ts';
import type { RunRecord } from '../../protocol/task.ts';
import type { Kill } from './facts.ts';
import { label, Narrator } from './narrator.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';
import { TaskWatch, type Completed, type Running, type Sight } from './watch.ts';
import type { DemoWorker } from './workers.ts';

/** How long each condition may take. A real model takes its time. */
const LOCAL_LIMIT_MS = 60_000;
const SERVICE_LIMIT_MS = 300_000;

const FOLLOWED = 'the session was followed again';

export interface Played {
  record: RunRecord;
  /** The task's first run. */
  runId: string;
  kills: Kill[];
}

/** Plays to the end of the task. Throws DemoError, or AgentTaskError when the task itself failed. */
export function play(stage: Stage, story: Story, signal: AbortSignal): Promise<Played> {
  return new Plot(stage, story, signal).play();
}

class Plot {
  readonly #stage: Stage;
  readonly #story: Story;
  readonly #narrator: Narrator;
  readonly #watch: TaskWatch;

  constructor(stage: Stage, story: Story, signal: AbortSignal) {
    const { client, workers, local, taskId } = stage;
    this.#stage = stage;
    this.#story = story;
    this.#narrator = new Narrator(story, (pid) => workers.nameOf(pid));
    this.#watch = new TaskWatch({
      handle: client.workflow.getHandle(taskId),
      onSight: (sight) => this.#narrator.take(sight),
      check: () => workers.check(),
      limitMs: local ? LOCAL_LIMIT_MS : SERVICE_LIMIT_MS,
      signal,
    });
  }

  async play(): Promise<Played> {
    const { workers, taskId, input } = this.#stage;
    this.#story.tell('bundling the workflow code once, then starting worker 1');
    await workers.prepare();
    const first = await this.#begin(workers.start());
    const task = await this.#stage.startTask();
    this.#story.tell(`task ${taskId} is started: ${input}`);

    const tool = await this.#watch.until('hold_room ran', ({ running }) =>
      running.find(({ name, attempt }) => name === 'hold_room' && attempt === 1),
    );
    const [killed, second] = await this.#kill(first, `${label(tool)} runs`);

    const follower = await this.#watch.until('the agent wrote into an open stream', (sight) =>
      this.#writing(sight),
    );
    const text = Number(follower.heartbeat?.['text_chars'] ?? 0);
    const [killedToo] = await this.#kill(
      second,
      `the stream is open and the agent writes (${text} characters)`,
    );

    await this.#watch.until('it ended', ({ ended }) => ended);
    const record = await task.result();
    this.#story.tell('the task has completed', 'green');
    return { record, runId: task.runId ?? '', kills: [killed, killedToo] };
  }

  async #begin(worker: DemoWorker): Promise<DemoWorker> {
    await worker.ready;
    this.#story.tell(`worker ${worker.number} (pid ${worker.pid}) is up`);
    return worker;
  }

  /** Kills a worker, starts the next one at once, and waits for the first progress that is the new one's. */
  async #kill(victim: DemoWorker, during: string): Promise<[Kill, DemoWorker]> {
    const { workers } = this.#stage;
    await workers.kill(victim);
    const at = Date.now();
    this.#story.tell(`SIGKILL to worker ${victim.number} while ${during}`, 'red');
    const next = workers.start();
    const { lastEventId } = await this.#watch.look();
    await this.#begin(next);
    const progress = await this.#watch.until(
      `worker ${next.number} made progress`,
      ({ completed, running }) => {
        const done = completed.find(({ eventId }) => eventId > lastEventId);
        if (done) return progressOf(done);
        const follower = running.find(({ name, pid, heartbeat }) => {
          return name === ACTIVITY.followTurn && pid === next.pid && heartbeat !== null;
        });
        return follower && FOLLOWED;
      },
    );
    const seconds = (Date.now() - at) / 1000;
    return [{ worker: victim.number, seconds, progress }, next];
  }

  /** The follower, when its stream is open and the agent is in the middle of a turn. */
  async #writing({ running }: Sight): Promise<Running | null> {
    const { local } = this.#stage;
    const follower = running.find(({ name }) => name === ACTIVITY.followTurn);
    // Its first heartbeat comes after the first event or read, so after the stream is open (I6).
    if (follower?.heartbeat?.['turn'] !== 'in_progress') return null;
    if (local === null) return follower;
    const { current_item, text_chars } = follower.heartbeat;
    if (current_item !== 'message' || Number(text_chars) === 0) return null;
    return (await local.openStreams(this.#narrator.sessionId ?? '')) === 1 ? follower : null;
  }
}

function progressOf(done: Completed): string {
  return done.name === ACTIVITY.followTurn ? FOLLOWED : `${label(done)} ended`;
}
