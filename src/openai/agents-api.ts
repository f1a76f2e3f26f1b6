/**
 * The only place that talks to the Agents API, through the official client. Retries are off: Temporal alone
 * retries (agents-api.md 10.29). Every failure leaves here as an ApiError; any 2xx is success (I12).
 */
import OpenAI from 'openai';
import { Agent as Dispatcher } from 'undici';

import type { InputEvent, Item, Page, Session, SessionEvent, Turn } from '../protocol/wire.ts';
import { toApiError } from './api-error.ts';

/** Waiting for the headers of an ordinary request. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Input to a self-hosted environment without executor blocks up to five minutes (agents-api.md 2.3). */
const MESSAGE_TIMEOUT_MS = 330_000;
const PAGE_LIMIT = 100;
const MAX_PAGES = 1000;

export interface AgentsApiOptions {
  apiKey: string;
  /** For example `http://127.0.0.1:8788/v1`. Default: the service. */
  baseURL?: string;
}

export interface ListQuery {
  after?: string;
  limit?: number;
  order?: 'asc' | 'desc';
  metadata?: Record<string, string>;
}

export class AgentsApi {
  readonly #client: OpenAI;

  constructor(options: AgentsApiOptions) {
    this.#client = new OpenAI({
      apiKey: options.apiKey,
      ...(options.baseURL === undefined ? {} : { baseURL: options.baseURL }),
      maxRetries: 0,
      timeout: REQUEST_TIMEOUT_MS,
      logLevel: 'off',
      // Node's fetch kills a body that is silent for 300 s; silence is judged by our own watchdog (agents-api.md 3.1).
      fetchOptions: { dispatcher: new Dispatcher({ bodyTimeout: 0, headersTimeout: 0 }) },
    });
  }

  /** Creates a session. No key protects this request: see `session-opener.ts` (I1). */
  async createSession(body: Record<string, unknown>, signal?: AbortSignal): Promise<Session> {
    const created: unknown = await this.#call('create session', signal, (options) =>
      this.#sessions.create(body as never, options),
    );
    return created as Session;
  }

  async getSession(sessionId: string, signal?: AbortSignal): Promise<Session> {
    return this.#call('read session', signal, (options) =>
      this.#sessions.retrieve(sessionId, options),
    ) as Promise<Session>;
  }

  /** One page of sessions, newest first unless asked otherwise. */
  async listSessions(query: ListQuery, signal?: AbortSignal): Promise<Page<Session>> {
    return this.#page('list sessions', signal, (options) => this.#sessions.list(query, options));
  }

  /** Deletes a session; one that is gone already is success. */
  async deleteSession(sessionId: string, signal?: AbortSignal): Promise<void> {
    await this.#call('delete session', signal, (options) => this.#sessions.delete(sessionId, options));
  }

  /**
   * Posts one input event; atomicity of several is undocumented. `key` is the idempotency key and must go as a
   * parameter: the client's request option sends nothing here (agents-api.md 5.6).
   */
  async postEvent(sessionId: string, event: InputEvent, key: string, signal?: AbortSignal): Promise<void> {
    const timeout = event.type === 'agent.session.input.message' ? MESSAGE_TIMEOUT_MS : REQUEST_TIMEOUT_MS;
    const what = event.type.slice(event.type.lastIndexOf('.') + 1).replace('_', ' ');
    await this.#call(`post ${what}`, signal, (options) =>
      this.#sessions.events.create(
        sessionId,
        { events: [event], 'Idempotency-Key': key },
        { ...options, timeout },
      ),
    );
  }

  async getTurn(sessionId: string, turnId: string, signal?: AbortSignal): Promise<Turn> {
    return this.#call('read turn', signal, (options) =>
      this.#sessions.turns.retrieve(turnId, { session_id: sessionId }, options),
    ) as Promise<Turn>;
  }

  /** The newest turns, newest first. */
  async newestTurns(sessionId: string, limit: number, signal?: AbortSignal): Promise<Turn[]> {
    const page = await this.#page<Turn>('list turns', signal, (options) =>
      this.#sessions.turns.list(sessionId, { limit, order: 'desc' } as never, options),
    );
    return page.data;
  }

  /** All saved items of a root turn, oldest first. Pages by `last_id`: an element's id may be null (R7). */
  async turnItems(sessionId: string, turnId: string, signal?: AbortSignal): Promise<Item[]> {
    const items: Item[] = [];
    let after: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const query = { session_id: sessionId, limit: PAGE_LIMIT, order: 'asc', ...(after ? { after } : {}) };
      const page: Page<Item> = await this.#page('list turn items', signal, (options) =>
        this.#sessions.turns.items.list(turnId, query as never, options),
      );
      items.push(...page.data);
      if (!page.has_more) return items;
      if (!page.last_id || page.last_id === after)
        throw new Error('list turn items: has_more without a new last_id');
      after = page.last_id;
    }
    throw new Error(`list turn items: more than ${MAX_PAGES} pages`);
  }

  /** Opens the session's event stream. Resolves when the headers are there: from then on nothing is missed. */
  async openStream(sessionId: string, signal: AbortSignal): Promise<AsyncIterable<SessionEvent>> {
    // The three-argument form: the two-argument one takes the query for request options (agents-api.md 3.1).
    return this.#call('open event stream', signal, (options) =>
      this.#sessions.events.stream(sessionId, { include_obfuscation: false }, options),
    ) as Promise<unknown> as Promise<AsyncIterable<SessionEvent>>;
  }

  get #sessions(): OpenAI['beta']['agents']['sessions'] {
    return this.#client.beta.agents.sessions;
  }

  async #call<T>(
    doing: string,
    signal: AbortSignal | undefined,
    request: (options: { signal?: AbortSignal }) => PromiseLike<T>,
  ): Promise<T> {
    try {
      return await request(signal ? { signal } : {});
    } catch (error) {
      // The client's own abort error hides why; the signal knows.
      if (signal?.aborted) throw signal.reason;
      throw toApiError(error, doing);
    }
  }

  async #page<T>(
    doing: string,
    signal: AbortSignal | undefined,
    request: (options: { signal?: AbortSignal }) => { asResponse(): Promise<Response> },
  ): Promise<Page<T>> {
    return this.#call(doing, signal, async (options) => {
      const response = await request(options).asResponse();
      return (await response.json()) as Page<T>;
    });
  }
}
