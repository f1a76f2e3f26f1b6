/**
 * A child process of a crash test: loads the user's agents file, so that the crash test itself runs nothing of it,
 * and then answers requests. One child describes and observes; the others are workers, each until it is killed.
 * Arguments: `observer` or `worker`, the agents file, and the file with `observe` if that is another one.
 */
import { resolve } from 'node:path';

import { exampleOf } from '../emulator/example-arguments.ts';
import { importModule } from '../load/import-module.ts';
import { isRecord } from '../protocol/json.ts';
import { checkArguments } from '../tools/arguments.ts';
import type { Tool } from '../tools/define-tool.ts';
import { ConfigError } from '../worker/config.ts';
import { loadAgents, type LoadedAgents } from '../worker/load-agents.ts';
import { CrashTestError } from './crash-test-error.ts';
import type { Answer, Description, Protocol, Request, ToolFacts } from './messages.ts';
import type * as Working from './working.ts';

const OBSERVE_MS = 30_000;

const [role, agentsFile = '', observeFile = agentsFile] = process.argv.slice(2);

/** Loaded by workers alone: it takes longer than everything else together. */
const worker = (): Promise<typeof Working> => import('./working.ts');

/** Loaded once; that the file cannot be loaded is told when something is asked. */
let loading: Promise<LoadedAgents> | null = null;
const loaded = (): Promise<LoadedAgents> => (loading ??= load());

async function load(): Promise<LoadedAgents> {
  try {
    return await loadAgents(agentsFile);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Here the file is no option, but the command's argument.
    throw new CrashTestError(error.message.replace(/^--agents: /, ''));
  }
}

type Handlers = {
  [Name in keyof Protocol]: (
    send: Protocol[Name]['send'],
  ) => Protocol[Name]['answer'] | Promise<Protocol[Name]['answer']>;
};

const handlers: Handlers = {
  describe,
  observe,
  work: async (setup) => (await worker()).work(await loaded(), setup),
  arm: async (arming) => (await worker()).arm(arming),
};

async function handle({ name, send: sent }: Request): Promise<unknown> {
  // Name and content belong together, which the types cannot say of a lookup.
  return (handlers[name] as (sent: unknown) => unknown)(sent);
}

async function describe(given: Record<string, unknown>): Promise<Description> {
  const { agents, tools } = await loaded();
  const all = new Set([...agents.flatMap((agent) => agent.tools), ...tools]);
  return {
    agents: agents.map(({ name, config, tools: own }) => ({
      name,
      config,
      tools: own.map((tool) => tool.name),
    })),
    tools: [...all].map((tool) => facts(tool, given[tool.name])),
    has_observe: (await observer()) !== null,
  };
}

function facts(tool: Tool, given: unknown): ToolFacts {
  const args = given ?? exampleOf(tool.jsonSchema);
  const object = isRecord(args) ? args : {};
  const checked = checkArguments(tool, object);
  const fault = checked.ok ? null : checked.problem;
  return {
    name: tool.name,
    effect: tool.effect,
    has_check: tool.check !== null,
    timeout_ms: tool.timeoutMs,
    entry: {
      type: 'function',
      name: tool.name,
      description: tool.description,
      parameters: tool.jsonSchema,
    },
    arguments: object,
    problem: isRecord(args) ? fault : 'the arguments must be a JSON object',
  };
}

type Observe = (() => unknown) | null;
let observing: Promise<Observe> | null = null;
const observer = (): Promise<Observe> => (observing ??= loadObserver());

async function loadObserver(): Promise<Observe> {
  const module = await importModule(resolve(observeFile));
  const found = module['observe'];
  if (found !== undefined && typeof found !== 'function') {
    throw new CrashTestError(`${observeFile}: observe must be a function`);
  }
  if (found === undefined && observeFile !== agentsFile) {
    throw new CrashTestError(`${observeFile} exports no function observe`);
  }
  return (found as Observe | undefined) ?? null;
}

async function observe(): Promise<unknown> {
  const look = await observer();
  if (look === null) return null;
  const limit = new Promise<never>((_, reject) => {
    const late = (): void =>
      reject(new CrashTestError(`observe() gave nothing within ${OBSERVE_MS / 1000} s`));
    setTimeout(late, OBSERVE_MS).unref();
  });
  try {
    const json = JSON.stringify(await Promise.race([look(), limit]));
    if (json !== undefined) return JSON.parse(json);
  } catch (error) {
    if (error instanceof CrashTestError) throw error;
    throw new CrashTestError(`observe() failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new CrashTestError('observe() gave nothing that JSON can hold');
}

function reply(answer: Answer): void {
  // Without the parent there is nobody to answer, and the process ends.
  if (process.connected) process.send?.(answer);
}

// Without waiting for a request, so that a worker that is to take over can do so at once.
loaded().catch(() => undefined);
if (role === 'worker') worker().catch(() => undefined);
process.on('disconnect', () => process.exit(1));
process.on('message', (request: Request) => {
  const { id } = request;
  handle(request).then(
    (value) => reply({ id, ok: true, value }),
    (error: unknown) =>
      reply({ id, ok: false, message: error instanceof Error ? error.message : String(error) }),
  );
});
