/** Puts the emulator together and starts it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readCounters, type Counters } from './counters.ts';
import { Faults, type FaultStatus } from './faults.ts';
import type { FaultSpec } from './fault-kinds.ts';
import type { Settings, World } from './live-session.ts';
import type { AgentScript } from './script.ts';
import { ApiServer } from './server.ts';
import { Sessions } from './sessions-api.ts';
import { checkScript } from './step-check.ts';
import { Store, type PostRecord } from './store.ts';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'] as const;

export interface EmulatorOptions extends Partial<Settings> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. Anything that is not loopback is refused. */
  host?: (typeof LOOPBACK)[number];
  /** Keeps the state on disk; an emulator started again on the same directory goes on with every turn. */
  dataDir?: string;
  /** Tried before the built-in script, in order. */
  scripts?: readonly AgentScript[];
  faults?: readonly FaultSpec[];
  /** When set, other bearer keys get 401; when not, any non-empty one is accepted. */
  apiKey?: string;
  log?: (line: string) => void;
}

/** A running emulator. */
export interface Emulator {
  /** Base URL for a client, such as `http://127.0.0.1:4010/v1`. */
  url: string;
  origin: string;
  port: number;
  counters(): Counters;
  /** Every POST of events so far, of one session or of all. */
  posts(sessionId?: string): PostRecord[];
  /** Throws an Error for an unknown kind or a bad parameter. */
  addFaults(...specs: FaultSpec[]): FaultStatus[];
  /** How the faults stand, in the order they were set: a test sees whether each has struck. */
  faults(): FaultStatus[];
  clearFaults(): void;
  /** Stops serving; turns stay where they are. */
  close(): Promise<void>;
}

const DEFAULTS: Settings = {
  deltaMs: 15,
  stepMs: 5,
  usageDelayMs: 50,
  pingMs: 15_000,
  maxListeners: 64,
  firstTurnSteering: false,
  maxResultBytes: 4_194_304,
};

/**
 * Starts a local Agents API. Throws when an option is bad or the port is taken. With `dataDir`, turns
 * that a former process left unfinished go on at once.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const host = options.host ?? '127.0.0.1';
  if (!LOOPBACK.includes(host)) {
    throw new Error(`the emulator listens on loopback only (${LOOPBACK.join(', ')}), not on '${host}'`);
  }
  const scripts = (options.scripts ?? []).map((script, index) => checkScript(script, `scripts[${index}]`));
  const names = scripts.map((script) => script.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two scripts are named '${twice}'`);
  const faults = new Faults();
  faults.add(options.faults ?? []);
  const world: World = {
    settings: settingsOf(options),
    faults,
    scripts,
    store: new Store(options.dataDir),
    log: options.log ?? (() => undefined),
  };
  const sessions = new Sessions(world);
  const server = new ApiServer(world, sessions, options.apiKey);
  server.http.listen(options.port ?? 0, host);
  await once(server.http, 'listening');
  sessions.resume();
  const { port } = server.http.address() as AddressInfo;
  const origin = `http://${host === '::1' ? '[::1]' : host}:${port}`;
  return {
    url: `${origin}/v1`,
    origin,
    port,
    counters: () => readCounters(world.store, sessions),
    posts: (sessionId) =>
      world.store.posts.filter((post) => sessionId === undefined || post.session_id === sessionId),
    addFaults: (...specs) => faults.add(specs),
    faults: () => faults.list(),
    clearFaults: () => void faults.clear(),
    close: async () => {
      if (!server.http.listening) return;
      const closed = once(server.http, 'close');
      sessions.stop();
      server.http.close();
      server.http.closeAllConnections();
      await closed;
      world.store.flush();
    },
  };
}

function settingsOf(options: EmulatorOptions): Settings {
  const settings = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof Settings)[]) {
    const value = options[key];
    if (value !== undefined) Object.assign(settings, { [key]: value });
  }
  return settings;
}
