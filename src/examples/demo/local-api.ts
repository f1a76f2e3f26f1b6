/** What only the local Agents API can tell: it counts what reached it. A real service has no such path. */
import { z } from 'zod';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const ANSWER_MS = 2000;

const health = z.object({ ok: z.literal(true) });
const counters = z.object({ totals: z.object({ deletes: z.int() }) });
const streams = z.record(z.string(), z.int());
const posts = z.object({
  data: z.array(
    z.object({
      effect: z.enum(['applied', 'repeat', 'refused']),
      body: z
        .object({ events: z.array(z.object({ type: z.string(), call_id: z.string().optional() })) })
        .catch({
          events: [],
        }),
    }),
  ),
});

/** Results that the service took, by call, and the number of posts that it refused. */
export interface Posts {
  acceptedByCall: Map<string, number>;
  refused: number;
}

export class LocalApi {
  readonly #origin: string;

  private constructor(origin: string) {
    this.#origin = origin;
  }

  /** The control path behind this base URL; null where there is none. Asks loopback addresses only. */
  static async find(baseURL: string | undefined): Promise<LocalApi | null> {
    if (baseURL === undefined || !LOOPBACK.test(new URL(baseURL).hostname)) return null;
    const local = new LocalApi(new URL(baseURL).origin);
    try {
      health.parse(await local.#get('health'));
      return local;
    } catch {
      return null;
    }
  }

  /** How many sessions were deleted in all. */
  async deletes(): Promise<number> {
    return counters.parse(await this.#get('counters')).totals.deletes;
  }

  /** How many event streams of a session are open now. */
  async openStreams(sessionId: string): Promise<number> {
    const open = streams.parse(await this.#get(`streams?session_id=${encodeURIComponent(sessionId)}`));
    return open[sessionId] ?? 0;
  }

  async posts(sessionId: string): Promise<Posts> {
    const { data } = posts.parse(await this.#get(`posts?session_id=${encodeURIComponent(sessionId)}`));
    const acceptedByCall = new Map<string, number>();
    for (const { effect, body } of data) {
      if (effect !== 'applied') continue;
      for (const { type, call_id } of body.events) {
        if (type !== 'agent.session.input.tool_result' || call_id === undefined) continue;
        acceptedByCall.set(call_id, (acceptedByCall.get(call_id) ?? 0) + 1);
      }
    }
    return { acceptedByCall, refused: data.filter(({ effect }) => effect === 'refused').length };
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#origin}/__emulator/${path}`, {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`);
    return response.json();
  }
}
