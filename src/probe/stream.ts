/** One event stream as it comes: events with their ids and times, what only keeps it alive, and how it ended. */
import { isRecord } from '../protocol/json.ts';
import { Deadline } from './waiting.ts';

/** A wait looks at its deadline this often. */
const LOOK_MS = 100;
/** The types of events that tell something of a session (agents-api.md 3.2). */
const OF_SESSIONS = /^(agent\.|error$)/;

export interface StreamEvent {
  type: string;
  /** The event's `event_id`; null when it has none. */
  id: string | null;
  data: Record<string, unknown>;
  /** Arrival, in ms of `performance.now()`. */
  at: number;
}

export class ProbeStream {
  readonly openedAt = performance.now();
  readonly events: StreamEvent[] = [];
  /** What says nothing but that the stream is alive: comments, and events that belong to no session. */
  readonly signs: { by: 'comments' | 'events'; at: number }[] = [];
  #ended: 'eof' | 'broken' | null = null;
  readonly #abort: AbortController;
  readonly #wakes = new Set<() => void>();

  constructor(body: ReadableStream<Uint8Array>, abort: AbortController) {
    this.#abort = abort;
    void this.#pump(body);
  }

  /** How the stream ended; null while it is open. */
  get ended(): 'eof' | 'broken' | null {
    return this.#ended;
  }

  /** Waits until `look` answers something; null when the time is over, or the stream is and nothing is left to come. */
  async until<T>(
    signal: AbortSignal,
    limit: number | Deadline,
    look: () => T | undefined,
  ): Promise<T | null> {
    const end = typeof limit === 'number' ? new Deadline(limit) : limit;
    for (;;) {
      signal.throwIfAborted();
      const found = look();
      if (found !== undefined) return found;
      const left = end.leftMs;
      if (left <= 0 || this.#ended !== null) return null;
      await this.#change(signal, Math.min(left, LOOK_MS));
    }
  }

  /** The first event from index `from` on that fits, or null when none comes in time. */
  async event(
    signal: AbortSignal,
    limit: number | Deadline,
    from: number,
    fits: (event: StreamEvent) => boolean,
  ): Promise<StreamEvent | null> {
    return this.until(signal, limit, () => this.events.slice(from).find(fits));
  }

  close(): void {
    this.#abort.abort();
  }

  async #change(signal: AbortSignal, limitMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wakes.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, limitMs);
      this.#wakes.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async #pump(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
        rest = this.#take(rest + decoder.decode(chunk, { stream: true }));
        this.#wake();
      }
      this.#ended = 'eof';
    } catch {
      this.#ended = 'broken';
    }
    this.#wake();
  }

  /** Takes all whole frames; answers what is left. A CR at the very end may be half of a CRLF, and waits. */
  #take(text: string): string {
    const frames = text.split(/\r\n\r\n|\n\n|\r\r(?!\n)/);
    const rest = frames.pop() ?? '';
    for (const frame of frames) this.#frame(frame);
    return rest;
  }

  #frame(frame: string): void {
    const at = performance.now();
    const lines = frame.split(/\r\n|\n|\r/);
    const data = lines
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).replace(/^ /, ''));
    const value = parsed(data.join('\n'));
    if (isRecord(value) && typeof value['type'] === 'string') {
      const id = value['event_id'];
      this.events.push({ type: value['type'], id: typeof id === 'string' ? id : null, data: value, at });
      if (!OF_SESSIONS.test(value['type'])) this.signs.push({ by: 'events', at });
    } else if (lines.some((line) => line !== '')) {
      const named = data.length > 0 || lines.some((line) => line.startsWith('event:'));
      this.signs.push({ by: named ? 'events' : 'comments', at });
    }
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
