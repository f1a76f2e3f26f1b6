/** Servers that are not the emulator: other ids, statuses and fields, slow, with greetings, and pages of HTML. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startEmulator, type EmulatorOptions } from '../../src/emulator/index.ts';
import { CannotProbe, probe, profileOf, type ProbeReport } from '../../src/probe/index.ts';
import { always, finding, KEY, LIMIT, LIMITS, type Probed } from './bench.ts';
import { startFront, type Changes } from './front.ts';

/** Probes an emulator through a front. */
async function throughFront(
  changes: Changes,
  only: readonly string[] | null,
  emulator: EmulatorOptions = {},
): Promise<Probed> {
  const running = await startEmulator({ deltaMs: 1, stepMs: 1, ...emulator });
  const front = await startFront(running.url, changes);
  try {
    const ask = { apiKey: KEY, model: 'm', only, budgetCents: null, limits: LIMITS };
    const report = await probe({ ...ask, baseUrl: front.url });
    return { report, counters: running.counters() };
  } finally {
    await front.close();
    await running.close();
  }
}

function words({ report }: { report: ProbeReport }): Record<string, unknown> {
  return Object.fromEntries(report.findings.map(({ id, values }) => [id, values]));
}

describe('a server that is not the emulator', { ...LIMIT, concurrency: true }, () => {
  it('may have other ids, statuses and fields, and be slow', async () => {
    // Its streams are few, as each takes its time to open, and silent.
    const emulator = { maxListeners: 6, pingMs: 600_000 };
    // An id may hold whatever has to be encoded in a path.
    const slow = await throughFront(
      {
        delayMs: 200,
        incoming: (text) => text.replaceAll(/S\/ (\w+)%/g, 'sess_$1').replaceAll(/T\? (\w+)/g, 'turn_$1'),
        outgoing: (text) =>
          text
            .replaceAll(/sess_(?!holdfast)(\w+)/g, 'S/ $1%')
            .replaceAll(/turn_(?!id)([0-9a-f]+)/g, 'T? $1')
            .replaceAll('"object":', '"unheard_of":{"of":[1]},"object":'),
        status: (status) => (status === 201 ? 203 : status === 202 ? 299 : status),
      },
      null,
      emulator,
    );
    const quick = await throughFront({}, null, emulator);
    const { S1, ...others } = words(slow);
    const { S1: own, ...expected } = words(quick);
    assert.deepEqual(others, expected);
    assert.deepEqual(own, { create: '201', events: '202', result: '202' });
    assert.deepEqual(S1, { create: '203', events: '299', result: '299' });
    assert.deepEqual(slow.report.broken, []);
    const { creates, deletes } = slow.counters.totals;
    assert.deepEqual([creates, deletes, slow.report.sessions.left], [3, 3, []]);
    assert.ok(slow.report.seconds < 60, `${slow.report.seconds} s`);
  });

  it('may list every session whatever the filter is', async () => {
    const incoming = (text: string): string => text.replace(/metadata\[holdfast_probe\]=[\w-]*&?/, '');
    const seen = await throughFront({ incoming }, ['H1']);
    assert.deepEqual(finding(seen, 'H1').values, { by_metadata: 'not_filtered', newest: 'at_once' });
    assert.deepEqual([finding(seen, 'H1').verdict, seen.report.broken], ['differs', []]);
    assert.deepEqual(profileOf(seen.report).emulator.cannot_play, ['H1.by_metadata: not_filtered']);
  });

  it('may greet at the opening of a stream, which keeps nothing alive', async () => {
    const quiet = { pingMs: 600_000 };
    const greeting = ': welcome\n\n';
    const greeted = await throughFront({ greeting }, ['Q10'], quiet);
    assert.match(
      finding(greeted, 'Q10').reason ?? '',
      /^nothing came while a stream was open for \d+\.\d s$/,
    );
    const limits = { ...LIMITS, listenMs: 5000 };
    const running = await startEmulator({ deltaMs: 1, stepMs: 1, pingMs: 600_000 });
    try {
      const heard: Record<string, unknown> = {};
      for (const text of [': beat\n\n', 'event: ping\ndata: {}\n\n', 'data: {"type":"keep_alive"}\n\n']) {
        const front = await startFront(running.url, { greeting, beat: { text, everyMs: 400 } });
        const ask = { apiKey: KEY, model: 'm', only: ['Q10'], budgetCents: null, limits };
        const report = await probe({ ...ask, baseUrl: front.url });
        await front.close();
        const seen = finding({ report }, 'Q10');
        const interval = seen.measured['interval_ms'] ?? 0;
        // The gap of a busy machine may be longer; the greeting would make one of nothing.
        assert.ok(interval > 300 && interval < 2500, `${interval} ms`);
        heard[text] = [seen.values['keep_alive'], profileOf(report).emulator.cannot_play];
      }
      const events = ['events', ['Q10.keep_alive: events']];
      assert.deepEqual(Object.values(heard), [['comments', []], events, events]);
    } finally {
      await running.close();
    }
  });
});

/** Probes a server made of this, with garbage collected all the while: it has taken timeouts along before. */
async function hanging<T>(answer: RequestListener, work: (baseUrl: string) => Promise<T>): Promise<T> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const collecting = setInterval(collect, 50);
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  } finally {
    clearInterval(collecting);
    server.closeAllConnections();
    server.close();
  }
}

describe('a server that hangs', { timeout: 20_000 }, () => {
  const ask = { apiKey: KEY, model: 'm', budgetCents: null };
  const limits = { ...LIMITS, requestMs: 600, clearMs: 1500 };

  it('from the first request on is given up', async () => {
    await hanging(
      () => undefined,
      async (baseUrl) => {
        await assert.rejects(
          probe({ ...ask, baseUrl, only: null, limits }),
          /^CannotProbe: \S+ did not answer \(timeout\)$/,
        );
      },
    );
  });

  it('in the middle of its body is given up', async () => {
    const answer: RequestListener = (_request, response) => void response.writeHead(200).write('{"data":[');
    await hanging(answer, async (baseUrl) => {
      await assert.rejects(probe({ ...ask, baseUrl, only: null, limits }), /did not answer \(timeout\)$/);
    });
  });

  it('once a session is made is given up, and the session named', async () => {
    const answer: RequestListener = ({ method, url = '' }, response) => {
      if (method === 'GET' && url.startsWith('/v1/agents/sessions?')) response.end('{"data":[]}');
      if (method === 'POST' && url === '/v1/agents/sessions') response.writeHead(201).end('{"id":"sess_1"}');
    };
    const report = await hanging(answer, async (baseUrl) =>
      probe({ ...ask, baseUrl, only: ['S6', 'H4', 'Q10'], limits }),
    );
    assert.match(finding({ report }, 'H4').reason ?? '', /did not answer \(timeout\)/);
    assert.deepEqual(
      report.sessions.left.map(({ id }) => id),
      ['sess_1'],
    );
    assert.ok(report.requests < 20, `${report.requests} requests`);
  });
});

describe('what is no server of this wire', LIMIT, () => {
  const html = '<html><body>Welcome</body></html>';
  const pages: Record<string, [status: number, headers: Record<string, string>, words: RegExp]> = {
    'a page of HTML': [200, { 'content-type': 'text/html' }, /does not speak this wire/],
    'a page that moved': [302, { location: '/login' }, /with 302 and sends to \/login$/],
    'a 404 for everything': [404, {}, /knows no \/agents\/sessions below this base URL: give it up to its/],
    'a refused key': [401, {}, /refused the API key with 401: is OPENAI_API_KEY the one/],
  };
  for (const [what, [status, headers, told]] of Object.entries(pages)) {
    it(`${what} is told after one request, before anything is asked or paid for`, async () => {
      let requests = 0;
      const server = createServer((_request, response) => {
        requests += 1;
        response.writeHead(status, headers).end(html);
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      try {
        const confirm = async (): Promise<void> => assert.fail('nobody is asked to pay');
        const ask = { apiKey: KEY, model: 'm', only: null, budgetCents: null, confirm };
        await assert.rejects(probe({ ...ask, baseUrl: `http://127.0.0.1:${port}/v1` }), (error) => {
          assert.ok(error instanceof CannotProbe);
          assert.match(error.message, told);
          assert.doesNotMatch(error.message, /\n|html/);
          return true;
        });
        assert.equal(requests, 1);
      } finally {
        server.close();
      }
    });
  }

  it('a code of the server gets to the terminal without what steers one', async () => {
    const body = { error: { type: 'x', code: '\u001b[2Jcleared\n', message: 'm' } };
    const faults = always({ kind: 'status', status: 404, body, match: { path: '/agents/sessions/*' } });
    const seen = await throughFront({}, ['S14'], { faults });
    const { values, seen: told } = finding(seen, 'S14');
    assert.deepEqual([values['code'], told], ['[2Jcleared', '404 [2Jcleared']);
  });
});
