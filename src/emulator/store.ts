/**
 * The emulator's memory, and its copy on disk when it has a data directory. A session's file is replaced
 * as a whole (write beside, rename), so a process killed at any moment leaves the state before or after
 * a change, never half of one. It survives a killed process, not a power cut: nothing is fsynced.
 */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ItemLog } from './item-log.ts';
import { emptyCounters, type CounterSet, type SessionRecord } from './records.ts';
import type { Agent } from './wire.ts';

/** A mistake of the client, with the moment and a short name for its kind. */
export interface Violation {
  /** Unix milliseconds. */
  at: number;
  session_id: string | null;
  route: string;
  kind: string;
  reason: string;
}

/** One `POST …/events` as it was answered. `reply_lost`: the client never saw the answer. */
export interface PostRecord {
  at: number;
  session_id: string;
  idempotency_key: string | null;
  input_types: string[];
  body: unknown;
  /** Of the raw bytes, to prove that a repeat is byte-identical. */
  body_sha256: string;
  status: number;
  effect: 'applied' | 'repeat' | 'refused';
  error: string | null;
  reply_lost: boolean;
}

/** The newest ones are kept in memory; an emulator may run for days. */
const KEPT_POSTS = 10_000;

/** A session's file; its items are the first `item_lines` lines of its log. */
type SessionFile = SessionRecord & { item_lines: number };

interface ServerFile {
  requests: Record<string, number>;
  violations: Violation[];
  /** Counts that belong to no session. */
  unattached: CounterSet;
}

export class Store {
  readonly sessions = new Map<string, SessionRecord>();
  readonly agents = new Map<string, Agent>();
  readonly posts: PostRecord[] = [];
  readonly requests: Record<string, number> = {};
  readonly violations: Violation[] = [];
  readonly unattached: CounterSet = emptyCounters();
  private readonly dir: string | undefined;
  private readonly logs = new Map<string, ItemLog>();
  private lastSeq = 0;
  private requestsTimer: NodeJS.Timeout | undefined;

  constructor(dir?: string) {
    this.dir = dir;
    if (dir !== undefined) this.load(dir);
  }

  /** Writes a session, new or changed. Without a data directory this only remembers it. */
  saveSession(record: SessionRecord): void {
    this.sessions.set(record.id, record);
    if (this.dir === undefined) return;
    const log =
      this.logs.get(record.id) ?? new ItemLog(join(this.dir, 'sessions', `${record.id}.items.jsonl`));
    this.logs.set(record.id, log);
    // The lines first: a session file never counts lines that are not there.
    const itemLines = log.append(record.items);
    this.write(join('sessions', `${record.id}.json`), { ...record, items: [], item_lines: itemLines });
    log.settle();
  }

  saveAgents(): void {
    if (this.dir !== undefined) this.write('agents.json', [...this.agents.values()]);
  }

  addPost(post: PostRecord): void {
    this.posts.push(post);
    if (this.posts.length > KEPT_POSTS) this.posts.shift();
    if (this.dir !== undefined) appendFileSync(join(this.dir, 'posts.jsonl'), `${JSON.stringify(post)}\n`);
  }

  addViolation(violation: Violation): void {
    this.violations.push(violation);
    this.flush();
  }

  /** Counts a request. Written a moment later: a kill may lose the last few of these, and only these. */
  countRequest(route: string): void {
    this.requests[route] = (this.requests[route] ?? 0) + 1;
    if (this.dir === undefined || this.requestsTimer !== undefined) return;
    this.requestsTimer = setTimeout(() => this.flush(), 200);
    this.requestsTimer.unref();
  }

  /** Writes what belongs to no session. */
  flush(): void {
    clearTimeout(this.requestsTimer);
    this.requestsTimer = undefined;
    if (this.dir === undefined) return;
    const file: ServerFile = {
      requests: this.requests,
      violations: this.violations,
      unattached: this.unattached,
    };
    this.write('server.json', file);
  }

  /** The place of the next session in the order of creation. */
  nextSeq(): number {
    this.lastSeq += 1;
    return this.lastSeq;
  }

  private write(name: string, value: unknown): void {
    const path = join(this.dir ?? '.', name);
    writeFileSync(`${path}.new`, JSON.stringify(value));
    renameSync(`${path}.new`, path);
  }

  private load(dir: string): void {
    const folder = join(dir, 'sessions');
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) {
      if (!name.endsWith('.json')) continue;
      const { item_lines: lines, ...record } = read(join(folder, name)) as SessionFile;
      const log = new ItemLog(join(folder, `${record.id}.items.jsonl`));
      record.items = log.load(lines);
      this.logs.set(record.id, log);
      this.sessions.set(record.id, record);
      this.lastSeq = Math.max(this.lastSeq, record.seq);
    }
    for (const agent of (read(join(dir, 'agents.json')) as Agent[] | undefined) ?? [])
      this.agents.set(agent.id, agent);
    const server = read(join(dir, 'server.json')) as ServerFile | undefined;
    if (server !== undefined) {
      Object.assign(this.requests, server.requests);
      this.violations.push(...server.violations);
      Object.assign(this.unattached, server.unattached);
    }
    this.posts.push(...readLines(join(dir, 'posts.jsonl')).slice(-KEPT_POSTS));
  }
}

function read(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A kill can cut the last line short: that record was not finished, and the next one needs a fresh line. */
function readLines(path: string): PostRecord[] {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const lines = content.split('\n');
  const torn = lines.pop() ?? '';
  if (torn !== '') truncateSync(path, Buffer.byteLength(content) - Buffer.byteLength(torn));
  return lines.map((line) => JSON.parse(line) as PostRecord);
}
