/**
 * A server that is not the emulator: a proxy before one, which changes what goes through as other servers of this wire
 * might. Every request takes `delayMs` longer.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export interface Changes {
  delayMs?: number;
  /** Of a request: its path with the query, and its body. */
  incoming?: (text: string) => string;
  /** Of an answer: its body, or one frame of a stream. */
  outgoing?: (text: string) => string;
  status?: (status: number) => number;
  /** Written as soon as a stream is open. */
  greeting?: string;
  /** Written on an open stream again and again. */
  beat?: { text: string; everyMs: number };
}

export interface Front {
  /** The base URL. */
  url: string;
  close: () => Promise<void>;
}

/** @param base the base URL of the emulator. */
export async function startFront(base: string, changes: Changes): Promise<Front> {
  const server = createServer((request, response) => {
    pass(base, changes, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function pass(
  base: string,
  changes: Changes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { incoming = same, outgoing = same, status = same, greeting, beat } = changes;
  await wait(changes.delayMs ?? 0);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = incoming(Buffer.concat(chunks).toString('utf8'));
  const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers;
  const left = new AbortController();
  response.on('close', () => left.abort());
  const answer = await fetch(
    `${base}${incoming(decodeURIComponent(request.url ?? '')).slice('/v1'.length)}`,
    {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      signal: left.signal,
      ...(body === '' ? {} : { body }),
    },
  );
  const type = answer.headers.get('content-type') ?? 'application/json';
  const retry = answer.headers.get('x-should-retry');
  response.writeHead(status(answer.status), {
    'content-type': type,
    ...(retry === null ? {} : { 'x-should-retry': retry }),
  });
  if (!type.startsWith('text/event-stream')) {
    response.end(outgoing(await answer.text()));
    return;
  }
  response.flushHeaders();
  if (greeting !== undefined) response.write(greeting);
  const beats = beat === undefined ? undefined : setInterval(() => response.write(beat.text), beat.everyMs);
  try {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) response.write(`${outgoing(frame)}\n\n`);
    }
    response.end();
  } finally {
    clearInterval(beats);
  }
}

function same<T>(value: T): T {
  return value;
}
