/** Sessions: create, read, list, change, delete, and their events (agents-api.md 1.2, 1.3, 5). */
import { changed, sessionAgent, type AgentInput } from './agent-config.ts';
import { ApiError, badRequest, conflict, notFound } from './api-error.ts';
import { checkCreateBody, checkEventsBody, checkUpdateBody } from './body-checks.ts';
import { digest, newId } from './canonical.ts';
import type { HttpCall, Reply } from './http-call.ts';
import { admit, type Effect } from './inputs.ts';
import { LiveSession, type World } from './live-session.ts';
import { page, queryRules } from './paging.ts';
import { activeTurn, emptyCounters, type QueuedMessage, type SessionRecord } from './records.ts';
import { startRunner, stopRunner } from './runner.ts';
import { liftBudget } from './steps.ts';
import { beginTurn, errorEvent, sessionEvent } from './turns.ts';
import {
  isObject,
  type AgentSession,
  type AgentSessionInputMessageParam,
  type AgentSessionInputParam,
} from './wire.ts';

interface CreateBody {
  agent?: AgentInput;
  agent_id?: string;
  input: string | AgentSessionInputMessageParam[];
  metadata?: Record<string, string> | null;
  prompt_cache_options?: SessionRecord['prompt_cache_options'];
  review?: 'none' | 'auto_review';
  spend_control?: { limit: number | null } | null;
  stream?: boolean;
  stream_options?: { include_obfuscation?: boolean };
  vault_ids?: string[] | null;
}

/** The sessions of this process by id, deleted ones included. */
export class Sessions {
  private readonly live = new Map<string, LiveSession>();
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
    for (const record of world.store.sessions.values()) {
      this.live.set(record.id, new LiveSession(record, world));
    }
  }

  /** Goes on with every turn that a former process left unfinished. */
  resume(): void {
    for (const session of this.live.values()) startRunner(session);
  }

  /** Stops all work and all streams; nothing in the records changes. */
  stop(): void {
    for (const session of this.live.values()) {
      stopRunner(session);
      session.endStreams();
    }
  }

  all(): LiveSession[] {
    return [...this.live.values()];
  }

  /** The session of the path. Throws 404 for unknown and deleted ones. */
  find(call: HttpCall): LiveSession {
    const id = call.params['session_id'] ?? '';
    const session = this.live.get(id);
    if (session === undefined || session.record.deleted) throw notFound(id);
    return session;
  }

  create(call: HttpCall): Reply {
    const raw = call.json();
    checkCreateBody(raw);
    const body = raw as CreateBody;
    const again = this.honourKey(call);
    if (again !== undefined) return { kind: 'json', status: 201, body: again.view() };
    const session = new LiveSession(this.newRecord(body, call), this.world);
    this.live.set(session.id, session);
    const first = beginTurn(session, initialMessage(body.input));
    session.commit();
    const start = (): void => {
      // The creation stream's first snapshot already says in_progress (agents-api.md 2.1).
      session.publish(sessionEvent(session, 'created'));
      for (const event of first) session.publish(event);
      startRunner(session);
    };
    if (body.stream === true) {
      const obfuscation = body.stream_options?.include_obfuscation !== false;
      return { kind: 'stream', status: 201, session, obfuscation, endAtIdle: true, start };
    }
    start();
    return { kind: 'json', status: 201, body: session.view() };
  }

  read(call: HttpCall): Reply {
    const session = this.find(call);
    return { kind: 'json', status: 200, body: session.staleView() ?? session.view() };
  }

  update(call: HttpCall): Reply {
    const session = this.find(call);
    const body = call.json();
    checkUpdateBody(body);
    if (!isObject(body)) throw badRequest('At least one update field is required');
    const { record } = session;
    if (isObject(body['agent'])) record.agent = changed(record.agent, body['agent']);
    if (body['metadata'] !== undefined) {
      record.metadata = (body['metadata'] as Record<string, string> | null) ?? {};
      record.metadata_changed_ms = Date.now();
    }
    if (body['prompt_cache_options'] !== undefined) {
      record.prompt_cache_options = cacheOptions(body['prompt_cache_options']);
    }
    if (body['review'] !== undefined) record.review = body['review'] as 'none' | 'auto_review';
    const spend = body['spend_control'] as CreateBody['spend_control'];
    const before = record.spend_limit;
    if (spend !== undefined) record.spend_limit = spend?.limit ?? null;
    session.commit();
    const raised = record.spend_limit === null || (before !== null && record.spend_limit > before);
    if (spend !== undefined && raised) liftBudget(session);
    return { kind: 'json', status: 200, body: session.view() };
  }

  list(call: HttpCall): Reply {
    const wanted = [...call.query].filter(([key]) => key.startsWith('metadata['));
    const pairs = wanted.map(([key, value]) => [key.slice('metadata['.length, -1), value] as const);
    const agentId = call.query.get('agent_id');
    const kind = pairs.length === 0 ? 'unfiltered_list_lag' : 'list_lag';
    const lag = this.world.faults.take(kind, call.occasion);
    const visible = Date.now() - (lag?.ms ?? 0);
    const rows = this.all()
      .filter(({ record }) => !record.deleted)
      .filter(({ record }) => agentId === null || record.agent.id === agentId)
      .filter(({ record }) => pairs.every(([key, value]) => record.metadata[key] === value))
      .filter(({ record }) => lag === undefined || record.metadata_changed_ms <= visible)
      .toSorted((a, b) => a.record.seq - b.record.seq);
    const body = page(
      rows,
      (row) => row.id,
      (row) => row.view(),
      'sessions',
      {
        query: call.query,
        rules: queryRules(this.world.faults, call.occasion),
        extra: (key) => key === 'agent_id' || key.startsWith('metadata['),
      },
    );
    return { kind: 'json', status: 200, body };
  }

  /** Only when nothing is executing; repeating it is fine (agents-api.md 1.3). */
  remove(call: HttpCall): Reply {
    const id = call.params['session_id'] ?? '';
    const session = this.live.get(id);
    if (session === undefined) throw notFound(id);
    const { record } = session;
    if (record.deleted && session.take('delete_once')) throw notFound(id);
    if (!record.deleted) {
      if (activeTurn(record) !== undefined || record.required_actions.length > 0) {
        throw conflict('session must be durably idle or failed without required actions before deletion');
      }
      record.deleted = true;
      record.counters.deletes += 1;
      // Its counters stay; its content is gone.
      Object.assign(record, { items: [], turns: [], calls: [], subagents: [], queue: [], keys: {} });
      session.commit();
      stopRunner(session);
      session.endStreams();
    }
    return { kind: 'json', status: 200, body: { id, object: 'agent.session.deleted', deleted: true } };
  }

  stream(call: HttpCall): Reply {
    const session = this.find(call);
    const { record, world } = session;
    if (session.listeners.size >= world.settings.maxListeners) {
      throw new ApiError(429, `A session has at most ${world.settings.maxListeners} open event streams.`, {
        type: 'rate_limit_error',
        code: 'too_many_streams',
      });
    }
    const start: Extract<Reply, { kind: 'stream' }>['start'] = (listener) => {
      if (record.status !== 'failed' || record.failure === null) return;
      const { code, message } = record.failure;
      listener?.deliver(errorEvent(session, { code: code ?? 'internal_error', message }));
      listener?.deliver(sessionEvent(session, 'failed'));
    };
    const obfuscation = call.query.get('include_obfuscation') !== 'false';
    return { kind: 'stream', status: 200, session, obfuscation, endAtIdle: false, start };
  }

  /**
   * Events of a batch are applied in order; what was applied before a refusal stays (Q5: undocumented), except
   * under the fault `atomic_batch`.
   */
  post(call: HttpCall): Reply {
    const session = this.find(call);
    const body = call.json();
    checkEventsBody(body);
    const events = (body as { events: AgentSessionInputParam[] }).events;
    const key = idempotencyKey(call);
    const { record } = session;
    const known = key === undefined ? undefined : record.keys[key];
    const mark = digest(body);
    if (known !== undefined && isRepeat(session, known === mark)) {
      countRepeat(session, events);
      return { kind: 'json', status: 202, effect: 'repeat' };
    }
    // Saved in the same commit as the effect, taken back if the input is refused.
    if (key !== undefined) record.keys[key] = mark;
    try {
      if (events.length > 1 && session.take('atomic_batch'))
        for (const event of events) admit(session, event);
      const effects = events.map((event): Effect => admit(session, event)());
      const repeat = effects.length > 0 && effects.every((effect) => effect === 'repeat');
      return { kind: 'json', status: 202, effect: repeat ? 'repeat' : 'applied' };
    } catch (error) {
      if (key !== undefined) delete record.keys[key];
      session.save();
      throw error;
    }
  }

  /** The service makes two sessions for two equal creates; other implementations honour the key. */
  private honourKey(call: HttpCall): LiveSession | undefined {
    const key = idempotencyKey(call);
    if (key === undefined) return undefined;
    const known = this.all().find(({ record }) => record.create_key === key && !record.deleted);
    return known !== undefined && known.take('create_key_honoured') !== undefined ? known : undefined;
  }

  private newRecord(body: CreateBody, call: HttpCall): SessionRecord {
    const now = Date.now();
    const { store } = this.world;
    const saved = body.agent_id === undefined ? undefined : store.agents.get(body.agent_id);
    if (body.agent_id !== undefined && saved === undefined) throw this.noAgent(body.agent_id);
    return {
      id: newId('sess'),
      seq: store.nextSeq(),
      agent: sessionAgent(body.agent ?? {}, saved),
      created_ms: now,
      last_active_ms: now,
      metadata: body.metadata ?? {},
      metadata_changed_ms: now,
      vault_ids: body.vault_ids ?? [],
      review: body.review ?? null,
      prompt_cache_options: cacheOptions(body.prompt_cache_options),
      spend_limit: body.spend_control?.limit ?? null,
      status: 'in_progress',
      failure: null,
      turn_error: null,
      required_actions: [],
      turns: [],
      items: [],
      calls: [],
      subagents: [],
      queue: [],
      keys: {},
      create_key: idempotencyKey(call) ?? null,
      deleted: false,
      counters: { ...emptyCounters(), creates: 1 },
    };
  }

  private noAgent(id: string): ApiError {
    const local = this.all().some(({ record }) => record.agent.id === id);
    if (!local) return notFound(id);
    return new ApiError(400, `The agent '${id}' belongs to a session and is not saved.`, {
      type: 'invalid_request_error',
      code: 'agent_not_persisted',
      param: 'agent_id',
      violation: 'agent_not_persisted',
    });
  }
}

function initialMessage(input: CreateBody['input']): QueuedMessage {
  if (typeof input !== 'string') return { input };
  return { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }] };
}

function cacheOptions(value: unknown): NonNullable<AgentSession['prompt_cache_options']> | null {
  if (!isObject(value)) return null;
  return { ttl: value['ttl'] === '12h' ? '12h' : '30m' };
}

function idempotencyKey(call: HttpCall): string | undefined {
  const key = call.header('idempotency-key');
  if (key !== undefined && (key.length < 1 || key.length > 256)) {
    throw badRequest('The Idempotency-Key must have 1 to 256 characters.', 'Idempotency-Key');
  }
  return key;
}

/**
 * What a key that was used before means for this request: true, it is a repeat without effect; false, it is taken
 * as new. Throws the 409 for another body (agents-api.md 5.6, 12).
 */
function isRepeat(session: LiveSession, sameBody: boolean): boolean {
  const fault = session.take('key_handling', {}, ({ same_body: same, other_body, status, code }) =>
    sameBody ? same !== undefined : (other_body ?? status ?? code) !== undefined,
  );
  const way = sameBody ? (fault?.same_body ?? 'repeat') : (fault?.other_body ?? 'refuse');
  if (way !== 'refuse') return way === 'repeat';
  const code = fault?.code ?? 'idempotency_conflict';
  throw new ApiError(fault?.status ?? 409, 'The idempotency key was used before with a different body.', {
    type: code,
    code,
    violation: 'idempotency_conflict',
  });
}

function countRepeat(session: LiveSession, events: readonly AgentSessionInputParam[]): void {
  const { counters } = session.record;
  for (const event of events) {
    if (event.type === 'agent.session.input.message') counters.messages_repeated += 1;
    if (event.type === 'agent.session.input.tool_result') counters.results_repeated += 1;
  }
  session.save();
}
