/**
 * A session's event stream as a queue that can be read with a time limit. One feed is one connection: when it
 * ends, cleanly or not, nothing is concluded from it (I6); the caller reads the session and opens a new one.
 */
import { isRecord } from '../protocol/json.ts';
import type { SessionEvent } from '../protocol/wire.ts';
import type { AgentsApi } from './agents-api.ts';

export type FeedItem =
  | { kind: 'event'; event: SessionEvent }
  /** Nothing came within the time limit. */
  | { kind: 'timeout' }
  /** The stream is over: closed by the server, cut, or unreadable. */
  | { kind: 'ended'; why: string };

export class EventFeed {
  readonly #abort = new AbortController();
  readonly #queue: SessionEvent[] = [];
  #ended: string | null = null;
  #wake: (() => void) | null = null;

  private constructor() {}

  /** Opens the stream; resolves once nothing can be missed any more. Throws an ApiError, or the signal's reason. */
  static async open(api: AgentsApi, sessionId: string, signal: AbortSignal): Promise<EventFeed> {
    const feed = new EventFeed();
    const stream = await api.openStream(sessionId, AbortSignal.any([signal, feed.#abort.signal]));
    void feed.#pump(stream);
    return feed;
  }

  /** The next event, waiting at most `waitMs`. Queued events come first even after the end. */
  async next(waitMs: number): Promise<FeedItem> {
    const queued = this.#take();
    if (queued) return queued;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, waitMs));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return this.#take() ?? { kind: 'timeout' };
  }

  /** An event that is here already, or null. */
  poll(): SessionEvent | null {
    return this.#queue.shift() ?? null;
  }

  /** Wakes a waiting `next`, which then answers `timeout` if nothing is there. */
  nudge(): void {
    this.#wake?.();
  }

  /** Closes the connection. Closing cancels nothing at the service (agents-api.md 2.1). */
  close(): void {
    this.#abort.abort();
  }

  #take(): FeedItem | null {
    const event = this.#queue.shift();
    if (event) return { kind: 'event', event };
    return this.#ended === null ? null : { kind: 'ended', why: this.#ended };
  }

  async #pump(stream: AsyncIterable<SessionEvent>): Promise<void> {
    try {
      for await (const event of stream) {
        // A frame of another shape is passed by (I12).
        if (!isRecord(event) || typeof event.type !== 'string') continue;
        this.#queue.push(event);
        this.#wake?.();
      }
      this.#ended = 'closed by the server';
    } catch (error) {
      // A cut socket, half a frame or bad JSON: all the same to us, the text may hold anything and is not shown.
      this.#ended = error instanceof Error ? error.name : 'unreadable';
    }
    this.#wake?.();
  }
}
