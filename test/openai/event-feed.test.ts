/** The stream as a queue: nothing is concluded from its end, and no way of ending it harms the process (I6; scenarios 24, 26, 34, 35, 37). */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import type { AgentsApi } from '../../src/openai/agents-api.ts';
import { EventFeed } from '../../src/openai/event-feed.ts';
import { until } from '../support/until.ts';
import { Bench, never, oddServer, refusal } from './bench.ts';

/** Everything a feed has until its end, or until an event of the type `last`: the types of events, and why it ended. */
async function drain(feed: EventFeed, last?: string): Promise<{ types: string[]; why: string }> {
  const types: string[] = [];
  for (;;) {
    const item = await feed.next(30_000);
    if (item.kind !== 'event') return { types, why: item.kind === 'ended' ? item.why : 'timeout' };
    const type = item.event.type.replace('agent.session.', '');
    types.push(type);
    if (type === last) return { types, why: 'open' };
  }
}

/** Plays a turn while a feed with these faults listens. */
async function played(
  t: Parameters<typeof Bench.start>[0],
  faults: FaultSpec[],
  steps: Step[] = [{ say: 'a b' }],
): ReturnType<typeof drain> {
  const bench = await Bench.start(t);
  const { id } = await bench.idle();
  bench.emulator.addFaults(...faults);
  const feed = await EventFeed.open(bench.api, id, never);
  await bench.say(id, `script:${JSON.stringify(steps)}`);
  const end = await drain(feed, 'idle');
  feed.close();
  return end;
}

/** A server whose stream sends these bytes and then stays open, or ends. */
async function sends(t: Parameters<typeof oddServer>[0], bytes: string, end = true): Promise<AgentsApi> {
  return oddServer(t, (_, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(bytes);
    if (end) response.end();
  });
}

const frame = (body: unknown): string => `event: x\ndata: ${JSON.stringify(body)}\n\n`;
const WHOLE = [
  'turn.created',
  'turn.item.added',
  'in_progress',
  'turn.in_progress',
  'turn.item.added',
  'turn.content_part.added',
  'turn.output_text.delta',
  'turn.output_text.delta',
  'turn.output_text.done',
  'turn.content_part.done',
  'turn.item.done',
  'turn.completed',
  'idle',
];

describe('how a stream ends', { concurrency: true }, () => {
  it('stays open over the end of a turn, and says when nothing comes', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle();
    const feed = await EventFeed.open(bench.api, id, never);
    for (let turn = 0; turn < 2; turn++) {
      await bench.say(id, `script:[{"say":"a b"},{"reason":"${turn}"}]`);
      assert.equal((await drain(feed, 'idle')).why, 'open');
    }
    assert.deepEqual(await feed.next(30), { kind: 'timeout' });
    feed.close();
  });

  it('gives what came before a clean end, a reset and half a frame', async (t) => {
    for (const [mode, why] of [
      ['eof', /^closed by the server$/],
      ['reset', /^TypeError$/],
      ['half_frame', /^SyntaxError$/],
    ] as const) {
      const end = await played(t, [{ kind: 'cut_stream', after_events: 4, mode }]);
      assert.deepEqual(end.types, WHOLE.slice(0, 4), mode);
      assert.match(end.why, why, mode);
    }
  });

  it('ends at malformed JSON and at a frame without data, and skips none of it silently (scenario 34)', async (t) => {
    for (const mode of ['bad_json', 'no_data'] as const) {
      const end = await played(t, [
        { kind: 'malformed_frame', mode, match: { event_type: '*.turn.in_progress' } },
      ]);
      assert.deepEqual(end, { types: WHOLE.slice(0, 3), why: 'SyntaxError' });
    }
  });

  it('says that a silent stream is silent, and nothing else', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle();
    bench.emulator.addFaults({ kind: 'silent_stream' });
    const feed = await EventFeed.open(bench.api, id, never);
    await bench.say(id, 'hello');
    await until('the turn ends', async () =>
      (await bench.api.newestTurns(id, 2)).every((turn) => turn.status === 'completed'),
    );
    assert.deepEqual(await feed.next(30), { kind: 'timeout' });
    feed.close();
  });

  it('reads the same events in any bytes (scenario 35)', async (t) => {
    for (const newline of ['lf', 'cr', 'crlf'] as const) {
      for (const chunk_bytes of [1, 7]) {
        const fault: FaultSpec = {
          kind: 'odd_bytes',
          newline,
          chunk_bytes,
          space: chunk_bytes === 1,
          noise: true,
        };
        assert.deepEqual((await played(t, [fault])).types, WHOLE, `${newline} ${chunk_bytes}`);
      }
    }
  });

  it('gives a last event that no blank line follows', async (t) => {
    const api = await sends(t, frame({ type: 'a' }) + 'data: {"type":"b"}');
    const feed = await EventFeed.open(api, 's', never);
    assert.deepEqual(await drain(feed), { types: ['a', 'b'], why: 'closed by the server' });
  });

  it('gives an event of 5 MB', async (t) => {
    const text = 'x'.repeat(5_000_000);
    const api = await sends(t, frame({ type: 'big', text }));
    const item = await (await EventFeed.open(api, 's', never)).next(60_000);
    assert.equal(item.kind === 'event' && item.event.text?.length, text.length);
  });

  it('passes by what is no event (I12)', async (t) => {
    const odd = [null, 5, 'text', [1], {}, { type: 7 }].map(frame).join('');
    const api = await sends(t, `${odd}${frame({ type: 'moon.risen' })}`);
    const feed = await EventFeed.open(api, 's', never);
    assert.deepEqual(await drain(feed), { types: ['moon.risen'], why: 'closed by the server' });
  });

  it('prints nothing of a stream that it cannot read (I11)', async (t) => {
    const written: unknown[] = [];
    const { stdout, stderr } = process;
    for (const stream of [stdout, stderr]) {
      const write = stream.write.bind(stream);
      t.mock.method(stream, 'write', (...args: Parameters<typeof write>) => {
        written.push(args[0]);
        return write(...args);
      });
    }
    const api = await sends(t, 'data: {"secret": "planted\n\n');
    assert.equal((await drain(await EventFeed.open(api, 's', never))).why, 'SyntaxError');
    assert.doesNotMatch(written.map(String).join(''), /planted/);
  });
});

describe('waiting', { concurrency: true }, () => {
  it('gives queued events first, one by one, even after the end', async (t) => {
    const api = await sends(t, frame({ type: 'a' }) + frame({ type: 'b' }) + frame({ type: 'c' }));
    const feed = await EventFeed.open(api, 's', never);
    await until('all is there', async () => (await feed.next(0)).kind === 'event');
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    assert.equal(feed.poll()?.type, 'b');
    assert.deepEqual(await drain(feed), { types: ['c'], why: 'closed by the server' });
    assert.equal(feed.poll(), null);
    assert.equal((await feed.next(0)).kind, 'ended', 'for good');
  });

  it('keeps its time limit, past and negative ones too, and can be woken', async (t) => {
    const feed = await EventFeed.open(await sends(t, '', false), 's', never);
    for (const ms of [20, 0, -5]) assert.deepEqual(await feed.next(ms), { kind: 'timeout' });
    const begun = Date.now();
    const waiting = feed.next(60_000);
    feed.nudge();
    assert.deepEqual(await waiting, { kind: 'timeout' });
    feed.nudge();
    assert.ok(Date.now() - begun < 50_000, 'not after its time limit');
    feed.close();
  });
});

describe('abort (scenario 37)', { concurrency: true }, () => {
  // node:test fails a test file on any unhandled rejection: that none comes is part of each of these.
  it('while connecting: the reason comes out', async (t) => {
    const api = await oddServer(t, () => undefined);
    const abort = new AbortController();
    const opening = EventFeed.open(api, 's', abort.signal);
    abort.abort(new Error('stop'));
    await assert.rejects(opening, /^Error: stop$/);
  });

  it('while reading, twice, and after the end', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle();
    const abort = new AbortController();
    const feed = await EventFeed.open(bench.api, id, abort.signal);
    const waiting = feed.next(30_000);
    abort.abort(new Error('stop'));
    assert.equal((await waiting).kind, 'ended');
    feed.close();
    feed.close();
    await until('the service sees it closed', () => bench.emulator.counters().totals.streams_open === 0);
  });

  it('when the socket breaks after it', async (t) => {
    const open: ServerResponse[] = [];
    const api = await oddServer(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame({ type: 'a' }));
      open.push(response);
    });
    const feed = await EventFeed.open(api, 's', never);
    await feed.next(30_000);
    feed.close();
    open[0]?.socket?.resetAndDestroy();
    assert.equal((await drain(feed)).types.length, 0);
  });

  it('closes the connection of a feed that nobody reads', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.idle();
    const feed = await EventFeed.open(bench.api, id, never);
    await until('the stream is open', () => bench.emulator.counters().totals.streams_open === 1);
    feed.close();
    await until('the stream is closed', () => bench.emulator.counters().totals.streams_open === 0);
  });
});

it('a stream that cannot be opened is an ApiError', async (t) => {
  const bench = await Bench.start(t, { maxListeners: 1 });
  const { id } = await bench.idle();
  const first = await EventFeed.open(bench.api, id, never);
  const error = await refusal(() => EventFeed.open(bench.api, id, never));
  assert.deepEqual([error.status, error.kind], [429, 'unavailable']);
  first.close();
});
