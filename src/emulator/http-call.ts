/** One request as the handlers see it, and what they may answer. */
import type { IncomingMessage } from 'node:http';
import { badRequest } from './api-error.ts';
import type { Occasion } from './faults.ts';
import type { LiveSession, Listener } from './live-session.ts';
import type { Effect } from './inputs.ts';
import { isObject } from './wire.ts';

const MAX_BODY_BYTES = 64 * 1024 * 1024;

export interface HttpCall {
  method: string;
  /** Path below `/v1`, without the query. */
  path: string;
  /** The template that the path fits, for faults and counters. */
  route: string;
  params: Record<string, string>;
  query: URLSearchParams;
  header: (name: string) => string | undefined;
  raw: Buffer;
  /** The parsed body. Throws the 400 for a body that is no JSON. */
  json: () => unknown;
  /** What faults can match on. */
  occasion: Occasion;
}

export type Reply =
  | {
      kind: 'json';
      status: number;
      body?: unknown;
      headers?: Record<string, string>;
      /** Set by event posts: whether the request changed anything. */
      effect?: Effect;
    }
  | {
      kind: 'stream';
      status: number;
      session: LiveSession;
      obfuscation: boolean;
      endAtIdle: boolean;
      /** Runs once the stream listens; without a listener when the reply gets lost. */
      start: (listener: Listener | null) => void;
    };

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw badRequest('The request body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function parseJson(raw: Buffer): unknown {
  if (raw.length === 0) return {};
  try {
    return JSON.parse(raw.toString('utf8')) as unknown;
  } catch {
    throw badRequest('We could not parse the JSON body of your request.');
  }
}

/** Short types of the input events in a body, such as `tool_result`; empty when it holds none. */
export function inputTypes(raw: Buffer): string[] {
  let body: unknown;
  try {
    body = JSON.parse(raw.toString('utf8'));
  } catch {
    return [];
  }
  if (!isObject(body)) return [];
  const events = Array.isArray(body['events']) ? (body['events'] as unknown[]) : [];
  return events
    .map((event) => (isObject(event) ? event['type'] : undefined))
    .filter((type) => typeof type === 'string')
    .map((type) => type.replace(/^agent\.session\.input\./, ''));
}
