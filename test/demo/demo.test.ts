/** The demo as a user runs it: its own process, real workers, real kills. It must say so when a promise is broken. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { startEmulator, type Emulator } from '../../src/emulator/index.ts';
import { broken, factLines, type Facts } from '../../src/examples/demo/facts.ts';
import script from '../../src/examples/trip-planner.script.ts';
import type { CallReport } from '../../src/protocol/task.ts';
import { connect } from '../client/temporal.ts';
import { groupMembers, holdChild, signalGroup } from '../support/leash.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

function startDemo(baseURL: string) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/examples/demo/main.ts'], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      OPENAI_BASE_URL: baseURL,
      OPENAI_API_KEY: 'test-key',
      // A lost worker is noticed soon, so that the test is; the demo itself waits for the default of 10 s.
      HOLDFAST_HEARTBEAT_TIMEOUT: '2s',
    },
  });
  holdChild(child);
  const demo = { child, output: '', ended: once(child, 'close') as Promise<[number | null]> };
  child.stdout.on('data', (data: Buffer) => (demo.output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (demo.output += data.toString()));
  return demo;
}

/** The same API without the control path, as a real service is. */
async function withoutControl(emulator: Emulator): Promise<{ url: string; server: Server }> {
  const target = new URL(emulator.url);
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith('/v1/') !== true) {
      outgoing.writeHead(404).end();
      return;
    }
    const { method, url: path, headers } = incoming;
    const onward = request({ host: target.hostname, port: target.port, method, path, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      outgoing.flushHeaders();
      reply.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server };
}

/** A compiler's helper process ends a moment after the process that it helped. */
async function nothingLeft(child: ChildProcess): Promise<void> {
  await until('nothing of the demo runs any more', () => groupMembers(child).length === 0, 5000);
}

function taskIdIn(output: string): string | undefined {
  return /task (\S+) is started/.exec(output)?.[1];
}

describe('the demo', { concurrency: true }, () => {
  it('kills two workers and keeps every promise', async () => {
    const emulator = await startEmulator({ scripts: [script] });
    try {
      const demo = startDemo(emulator.url);
      const [code] = await demo.ended;
      assert.equal(code, 0, demo.output);
      assert.match(demo.output, /SIGKILL to worker 1 while hold_room .* runs\n/);
      assert.match(demo.output, /SIGKILL to worker 2 while the stream is open and the agent writes/);
      assert.match(demo.output, /hold_room .* runs again on worker 2, attempt 2/);
      assert.match(demo.output, /sessions created +1\n/);
      assert.match(demo.output, /results accepted +4 for 4 calls\n/);
      assert.match(demo.output, /after kill 2 +\d+\.\d s to the next progress/);
      const { totals } = emulator.counters();
      assert.deepEqual([totals.creates, totals.turns_started, totals.results_accepted], [1, 1, 4]);
      await nothingLeft(demo.child);
    } finally {
      await emulator.close();
    }
  });

  it('needs nothing that only the local API has', async () => {
    const emulator = await startEmulator({ scripts: [script] });
    const { url, server } = await withoutControl(emulator);
    try {
      const demo = startDemo(url);
      const [code] = await demo.ended;
      assert.equal(code, 0, demo.output);
      assert.match(demo.output, /results accepted +not known at this server\n/);
      assert.match(demo.output, /sessions created +1\n/);
      assert.equal(emulator.counters().totals.creates, 1);
    } finally {
      server.closeAllConnections();
      server.close();
      await emulator.close();
    }
  });

  it('leaves no worker and no running task when it is stopped', async () => {
    const emulator = await startEmulator({ scripts: [script] });
    const client = await connect();
    try {
      const demo = startDemo(emulator.url);
      await until('a tool runs', () => demo.output.includes('get_weather'), 60_000);
      demo.child.kill('SIGTERM');
      const [code] = await demo.ended;
      assert.equal(code, 143, demo.output);
      assert.match(demo.output, /stopped by SIGTERM/);
      await nothingLeft(demo.child);
      const task = await client.workflow.getHandle(taskIdIn(demo.output) ?? '').describe();
      assert.notEqual(task.status.name, 'RUNNING');
    } finally {
      await client.connection.close();
      await emulator.close();
    }
  });

  it('says plainly why it cannot run', async () => {
    const demo = startDemo('not a url');
    const [code] = await demo.ended;
    assert.equal(code, 1);
    assert.equal(demo.output, 'demo: OPENAI_BASE_URL: expected an http or https URL\n');
    signalGroup(demo.child, 'SIGKILL');
  });
});

describe('the verdict of the demo', () => {
  const call = (name: string, effect: CallReport['effect']): CallReport => ({
    turn_id: 'turn_1',
    call_id: `call_${name}`,
    name,
    summary: '{}',
    effect,
    state: 'succeeded',
    runs: 1,
    attempts: 1,
    duration_ms: 5,
  });
  const good: Facts = {
    record: {
      run: { id: 'demo-1', status: 'completed', stop_reason: 'turn_completed', error: null },
      session_id: 'sess_1',
      agent: 'trip-planner',
      model: null,
      output_text: 'Done.',
      output: null,
      turns: [],
      tool_calls: [call('hold_room', 'repeatable'), call('book_room', 'once')],
      tool_calls_total: 2,
      tool_calls_failed: 0,
      usage: null,
    },
    sessions: 1,
    effects: new Map([
      ['call_hold_room', 2],
      ['call_book_room', 1],
    ]),
    posts: {
      acceptedByCall: new Map([
        ['call_hold_room', 1],
        ['call_book_room', 1],
      ]),
      refused: 0,
    },
    kills: [
      { worker: 1, seconds: 13.5, progress: 'hold_room ended' },
      { worker: 2, seconds: 11, progress: 'the session was followed again' },
    ],
    seconds: 44,
    heartbeatTimeoutMs: 10_000,
    webUi: undefined,
  };

  it('finds nothing wrong where everything is as promised', () => {
    assert.deepEqual(broken(good), []);
    assert.deepEqual(broken({ ...good, posts: null }), []);
  });

  it('names each promise that was not kept', () => {
    const effects = new Map([...good.effects, ['call_book_room', 2]] as const);
    assert.deepEqual(broken({ ...good, effects }), ['book_room {} took effect 2 times, not once']);
    assert.deepEqual(broken({ ...good, sessions: 2 }), ['2 sessions were created for the task, not 1']);
    const twice = {
      acceptedByCall: new Map([...(good.posts?.acceptedByCall ?? []), ['call_hold_room', 2]] as const),
      refused: 0,
    };
    assert.deepEqual(broken({ ...good, posts: twice }), [
      'the result of hold_room {} was accepted 2 times, not once',
    ]);
    const failed = { ...good.record, run: { ...good.record.run, status: 'failed' as const } };
    assert.deepEqual(broken({ ...good, record: failed }), ['the task ended as failed']);
    const unbooked = { ...good.record, tool_calls: good.record.tool_calls.slice(0, 1) };
    assert.deepEqual(broken({ ...good, record: unbooked }), ['the agent never called book_room']);
  });

  it('shows counts of the service only where they are known', () => {
    const shown = (facts: Facts): string =>
      factLines(facts)
        .map(([name, ...lines]) => `${name}: ${lines.join('/')}`)
        .join('\n');
    assert.match(shown(good), /posts refused: 0\n/);
    assert.match(shown({ ...good, posts: null }), /posts refused: not known at this server\n/);
  });
});
