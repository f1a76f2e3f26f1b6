/**
 * HTTP in and out. The order of checks is that of Appendix A.1: beta header, key, ids, body; the order
 * of effects is: change saved, events published, answer sent. Faults that concern a request stand
 * around the handler, so no handler knows about lost replies.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ApiError } from './api-error.ts';
import { merge, newId } from './canonical.ts';
import { control, CONTROL_PREFIX } from './control.ts';
import { EventStream } from './event-stream.ts';
import type { Occasion } from './faults.ts';
import { inputTypes, parseJson, readBody, type HttpCall, type Reply } from './http-call.ts';
import type { World } from './live-session.ts';
import { findRoute, makeRoutes, type Route } from './routes.ts';
import type { Sessions } from './sessions-api.ts';

const EVENTS_ROUTE = '/agents/sessions/{session_id}/events';
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;

/** Everything that a request passes through. */
export class ApiServer {
  readonly http: Server;
  private readonly world: World;
  private readonly sessions: Sessions;
  private readonly routes: readonly Route[];
  private readonly apiKey: string | undefined;

  constructor(world: World, sessions: Sessions, apiKey: string | undefined) {
    this.world = world;
    this.sessions = sessions;
    this.apiKey = apiKey;
    this.routes = makeRoutes(world, sessions);
    this.http = createServer((request, response) => {
      // A client may leave at any moment; writing to nobody is no failure of ours.
      response.on('error', () => undefined);
      this.serve(request, response).catch((error: unknown) => {
        if (error instanceof ApiError)
          return sendJson(response, error.status, error.body(), { connection: 'close' });
        world.log(`request failed: ${String(error)}`);
        response.destroy();
      });
    });
    // Longer than clients keep idle sockets, so that a reused socket is not closed under a request.
    this.http.keepAliveTimeout = 65_000;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const method = request.method ?? 'GET';
    const requestId = newId('req');
    response.setHeader('x-request-id', requestId);
    // A page in a browser could reach a loopback port under a name of its own; no client here does.
    if (!LOCAL_HOST.test(request.headers.host ?? '')) {
      return sendJson(response, 403, errorBody('the emulator answers local host names only'));
    }
    if (url.pathname.startsWith(CONTROL_PREFIX)) {
      const name = url.pathname.slice(CONTROL_PREFIX.length);
      const raw = await readBody(request);
      const reply = control(this.world, this.sessions, { method, name, query: url.searchParams, raw });
      return sendJson(response, reply.status, reply.body);
    }
    const path = url.pathname.replace(/^\/v1(?=\/)/, '');
    const found = path === url.pathname ? undefined : findRoute(this.routes, method, path);
    if (found === undefined) {
      request.resume();
      return sendJson(response, 404, errorBody(`Invalid URL (${method} ${url.pathname})`, 'not_found_error'));
    }
    this.world.store.countRequest(`${method} ${found.route.template}`);
    const raw = await readBody(request);
    const { template } = found.route;
    const sessionId = found.params['session_id'];
    const occasion: Occasion = {
      method,
      route: template,
      path,
      session_id: sessionId,
      input_types: inputTypes(raw),
    };
    const call: HttpCall = {
      method,
      path,
      route: template,
      params: found.params,
      query: url.searchParams,
      header: (name) => single(request.headers[name]),
      raw,
      json: () => parseJson(raw),
      occasion,
    };
    await this.answer(call, found.route, response);
  }

  private async answer(call: HttpCall, route: Route, response: ServerResponse): Promise<void> {
    const { faults } = this.world;
    const delay = faults.take('delay', call.occasion);
    if (delay !== undefined && delay.when !== 'after') await sleep(delay.ms);
    if (faults.take('lost_request', call.occasion)) return void response.destroy();
    const forced = faults.take('status', call.occasion);
    const reply = forced === undefined ? this.handle(call, route) : forcedReply(forced);
    const lost = faults.take('lost_reply', call.occasion) !== undefined;
    this.recordPost(call, reply, lost);
    if (delay?.when === 'after') await sleep(delay.ms);
    if (lost) {
      if (reply.kind === 'stream') reply.start(null);
      response.destroy();
    } else if (reply.kind === 'stream') {
      this.openStream(call, reply, response);
    } else {
      this.send(call, reply, response);
    }
  }

  /** Runs the handler; a refusal becomes its error reply and is counted when the client is to blame. */
  private handle(call: HttpCall, route: Route): Reply {
    try {
      this.authenticate(call);
      return route.handle(call);
    } catch (error) {
      if (!(error instanceof ApiError)) {
        this.world.log(`${call.method} ${call.path} broke: ${(error as Error).stack ?? String(error)}`);
        return { kind: 'json', status: 500, body: errorBody('internal error', 'internal_error') };
      }
      if (error.violation !== null) this.blame(call, error.violation, error.message);
      return { kind: 'json', status: error.status, body: error.body(), headers: error.headers };
    }
  }

  private authenticate(call: HttpCall): void {
    const beta = (call.header('openai-beta') ?? '').split(',').map((part) => part.trim());
    if (!beta.includes('agents=v1') && this.world.faults.take('beta_ignored', call.occasion) === undefined) {
      throw new ApiError(400, "This API is in beta: send the header 'OpenAI-Beta: agents=v1'.", {
        type: 'invalid_request_error',
        code: 'invalid_beta',
        violation: 'invalid_beta',
      });
    }
    const key = /^Bearer\s+(\S+)$/i.exec(call.header('authorization') ?? '')?.[1];
    if (key === undefined || (this.apiKey !== undefined && key !== this.apiKey)) {
      const message =
        key === undefined
          ? "You didn't provide an API key."
          : 'Incorrect API key provided for the local emulator.';
      throw new ApiError(401, message, { type: 'invalid_request_error', code: null });
    }
  }

  private blame(call: HttpCall, kind: string, reason: string): void {
    const { store } = this.world;
    const sessionId = call.params['session_id'];
    const record = sessionId === undefined ? undefined : store.sessions.get(sessionId);
    const counters = record?.counters ?? store.unattached;
    counters.violations += 1;
    if (record !== undefined) store.saveSession(record);
    store.addViolation({
      at: Date.now(),
      session_id: record?.id ?? null,
      route: `${call.method} ${call.route}`,
      kind,
      reason,
    });
  }

  private recordPost(call: HttpCall, reply: Reply, lost: boolean): void {
    if (call.method !== 'POST' || call.route !== EVENTS_ROUTE || reply.kind !== 'json') return;
    const { store } = this.world;
    const sessionId = call.params['session_id'] ?? '';
    const record = store.sessions.get(sessionId);
    if (record !== undefined) {
      record.counters.posts += 1;
      store.saveSession(record);
    }
    store.addPost({
      at: Date.now(),
      session_id: sessionId,
      idempotency_key: call.header('idempotency-key') ?? null,
      input_types: [...(call.occasion.input_types ?? [])],
      body: readable(call),
      body_sha256: createHash('sha256').update(call.raw).digest('hex'),
      status: reply.status,
      effect: reply.effect ?? 'refused',
      error: messageOf(reply.body),
      reply_lost: lost,
    });
  }

  private openStream(
    call: HttpCall,
    reply: Extract<Reply, { kind: 'stream' }>,
    response: ServerResponse,
  ): void {
    const { method, route, path } = call;
    const options = { method, route, path, obfuscation: reply.obfuscation, endAtIdle: reply.endAtIdle };
    reply.start(new EventStream(response, reply.session, options, reply.status));
  }

  private send(call: HttpCall, reply: Extract<Reply, { kind: 'json' }>, response: ServerResponse): void {
    const { faults } = this.world;
    let { status, body, headers } = reply;
    if (status < 300) {
      const patch = faults.take('patch_answer', call.occasion);
      if (patch !== undefined) body = merge(body, patch.patch);
      if (faults.take('no_content_status', call.occasion)) status = status === 202 ? 204 : 200;
      status = faults.take('success_status', call.occasion)?.status ?? status;
    }
    if (status === 404 && faults.take('not_found_code', call.occasion)) {
      body = merge(body, { error: { code: 'not_found', type: 'not_found' } });
    }
    const shape = faults.take('error_as', call.occasion, (fault) => fault.status === status);
    if (shape !== undefined) {
      const { type, code } = shape;
      const error = { ...(type === undefined ? {} : { type }), ...(code === undefined ? {} : { code }) };
      body = merge(body, { error });
      headers = { ...headers, ...shape.headers };
      status = shape.as_status ?? status;
    }
    sendJson(response, status, body, headers);
  }
}

function forcedReply(fault: { status: number; body?: unknown; headers?: Record<string, string> }): Reply {
  const type =
    fault.status === 429
      ? 'rate_limit_error'
      : fault.status >= 500
        ? 'server_error'
        : 'invalid_request_error';
  const body = fault.body ?? errorBody(`forced by a fault (${fault.status})`, type);
  return { kind: 'json', status: fault.status, body, headers: fault.headers ?? {} };
}

function errorBody(message: string, type = 'invalid_request_error'): unknown {
  return { error: { type, code: type, message, param: null } };
}

/** A string body goes out as it is: some proxies answer with HTML. */
function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  if (body === undefined) {
    response.writeHead(status, status === 204 ? headers : { 'content-length': '0', ...headers });
    response.end();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json';
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, { 'content-type': type, 'content-length': length, ...headers });
  response.end(text);
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

function readable(call: HttpCall): unknown {
  try {
    return call.json();
  } catch {
    return call.raw.toString('utf8');
  }
}

function messageOf(body: unknown): string | null {
  const error = (body as { error?: { message?: unknown } } | undefined)?.error;
  return typeof error?.message === 'string' ? error.message : null;
}

/** Ends with the process: an answer that is held back keeps no emulator alive that was closed. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
