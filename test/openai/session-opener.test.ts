/** One session per task, whatever is lost on the way (I1; scenario 51). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FaultSpec } from '../../src/emulator/index.ts';
import { ApiError } from '../../src/openai/api-error.ts';
import {
  createOrAdopt,
  findByKey,
  sweep,
  withTaskMetadata,
  type OpenedRemote,
} from '../../src/openai/session-opener.ts';
import { Bench, never, oddServer, json, refusal, script } from './bench.ts';

const SESSION_KEY_FIELD = 'holdfast_key';
const TASK_ID_FIELD = 'holdfast_task';
const MINE = 'key-of-this-task';
const CREATE = { method: 'POST', path: '/agents/sessions' };
const body = (key = MINE, steps = [{ say: 'hi' }]): Record<string, unknown> => ({
  environment: { type: 'none' },
  agent: { model: 'm' },
  input: script(steps),
  metadata: withTaskMetadata({ mine: 'too' }, key, 'task-1'),
});

async function open(bench: Bench, lookFirst: boolean): Promise<OpenedRemote> {
  return createOrAdopt(bench.api, { key: MINE, body: body(), lookFirst, signal: never, log: bench.log });
}
const creates = (bench: Bench): number => bench.emulator.counters().totals.creates;

describe('createOrAdopt', { concurrency: true }, () => {
  it('creates at the first attempt, without a look', async (t) => {
    const bench = await Bench.start(t);
    const { session, how } = await open(bench, false);
    assert.equal(how, 'created');
    assert.deepEqual(session.metadata, { mine: 'too', [SESSION_KEY_FIELD]: MINE, [TASK_ID_FIELD]: 'task-1' });
    assert.equal(bench.emulator.counters().requests['GET /agents/sessions'], undefined);
  });

  it('adopts what an attempt created whose answer was lost', async (t) => {
    const bench = await Bench.start(t, { faults: [{ kind: 'lost_reply', match: CREATE }] });
    const lost = await refusal(() => open(bench, false));
    assert.deepEqual([lost.kind, creates(bench)], ['unavailable', 1]);
    const { how, session } = await open(bench, true);
    assert.equal(how, 'adopted');
    assert.equal(session.metadata?.[SESSION_KEY_FIELD], MINE);
    assert.equal(creates(bench), 1);
  });

  it('finds it in the newest pages while the filtered list lags', async (t) => {
    const lag: FaultSpec = { kind: 'list_lag', ms: 600_000, times: 0 };
    const bench = await Bench.start(t, { faults: [lag, { kind: 'lost_reply', match: CREATE }] });
    await refusal(() => open(bench, false));
    assert.deepEqual((await bench.api.listSessions({ metadata: { [SESSION_KEY_FIELD]: MINE } })).data, []);
    assert.equal((await open(bench, true)).how, 'adopted');
    assert.equal(creates(bench), 1);
  });

  it('looks again for a while, for a creation that is still on its way', async (t) => {
    const bench = await Bench.start(t, { faults: [{ kind: 'delay', ms: 700, match: CREATE }] });
    const slow = open(bench, false);
    const { how, session } = await open(bench, true);
    assert.equal(how, 'adopted');
    assert.equal(session.id, (await slow).session.id);
    assert.equal(creates(bench), 1);
  });

  it('creates when a bounded search finds none, and leaves the sessions of others alone', async (t) => {
    const bench = await Bench.start(t);
    await bench.api.createSession(body('key of another task'));
    await bench.session([{ say: 'hi' }]);
    const { how } = await open(bench, true);
    assert.equal(how, 'created');
    assert.equal(creates(bench), 3);
  });

  it('adopts the oldest of several, and names them all', async (t) => {
    const ids = ['s_3', 's_1', 's_2'];
    const sessions = ids.map((id, index) => ({
      id,
      created_at: [30, 10, 20][index],
      metadata: { [SESSION_KEY_FIELD]: MINE },
    }));
    const api = await oddServer(t, (_, response) => json(response, { data: sessions, has_more: false }));
    const bench = await Bench.start(t);
    const { log } = bench;
    const opened = await createOrAdopt(api, { key: MINE, body: {}, lookFirst: true, signal: never, log });
    assert.equal(opened.session.id, 's_1');
    assert.deepEqual(log.with(/several sessions/)[0]?.fields, { sessions: ['s_1', 's_2', 's_3'] });
  });

  it('stops with its signal', async (t) => {
    const bench = await Bench.start(t);
    const abort = new AbortController();
    const opening = createOrAdopt(bench.api, {
      key: MINE,
      body: body(),
      lookFirst: true,
      signal: abort.signal,
      log: bench.log,
    });
    setTimeout(() => abort.abort(new Error('stop')), 100);
    await assert.rejects(opening, /^Error: stop$/);
    assert.equal(creates(bench), 0);
  });
});

describe('findByKey', { concurrency: true }, () => {
  it('believes no server that ignores the filter', async (t) => {
    const bench = await Bench.start(t);
    const other = { id: 's_other', created_at: 1, metadata: { [SESSION_KEY_FIELD]: 'other' } };
    const api = await oddServer(t, (_, response) =>
      json(response, { data: [other, { id: 's_bare', created_at: 1, metadata: null }], has_more: false }),
    );
    assert.deepEqual(await findByKey(api, MINE, never), []);
    const created = await bench.api.createSession(body());
    assert.deepEqual(
      (await findByKey(bench.api, MINE, never)).map((session) => session.id),
      [created.id],
    );
  });

  it('reads the two newest pages, and no more', async (t) => {
    const cursors: (string | null)[] = [];
    const api = await oddServer(t, (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      if ([...searchParams.keys()].some((key) => key.startsWith('metadata')))
        return json(response, { data: [], has_more: true, last_id: 'x' });
      cursors.push(searchParams.get('after'));
      json(response, { data: [], has_more: true, last_id: `cursor_${cursors.length}` });
    });
    assert.deepEqual(await findByKey(api, MINE, never), []);
    assert.deepEqual(cursors, [null, 'cursor_1']);
  });
});

describe('withTaskMetadata', () => {
  it("keeps the caller's pairs, fits the API's limit, and stays well-formed", () => {
    const long = `${'x'.repeat(511)}😀`;
    const metadata = withTaskMetadata({ a: 'b', [SESSION_KEY_FIELD]: 'not yours' }, 'k', long);
    assert.deepEqual([metadata['a'], metadata[SESSION_KEY_FIELD]], ['b', 'k']);
    const task = metadata[TASK_ID_FIELD] ?? '';
    assert.ok(task.length <= 512 && task.startsWith('x'.repeat(511)));
    assert.equal(Buffer.from(task).toString(), task);
  });
});

describe('sweep', { concurrency: true }, () => {
  const gone = async (bench: Bench, id: string): Promise<boolean> => {
    try {
      await bench.api.getSession(id);
      return false;
    } catch (error) {
      assert.ok(error instanceof ApiError && error.kind === 'not_found');
      return true;
    }
  };

  it('removes every session with the key but one: idle, working, waiting; and no other', async (t) => {
    const bench = await Bench.start(t);
    const create = async (key: string, steps: unknown[]): Promise<string> =>
      (await bench.api.createSession(body(key, steps as never))).id;
    const [kept, idle, working, waiting, other] = [
      await create(MINE, []),
      await create(MINE, []),
      await create(MINE, [{ wait_for: 'cancel' }]),
      await create(MINE, [{ call: { name: 'look' } }]),
      await create('key of another task', []),
    ];
    await bench.status(waiting, 'requires_action');
    const swept = await sweep(bench.api, { key: MINE, keep: kept, signal: never, log: bench.log });
    assert.deepEqual([swept.removed.toSorted(), swept.left], [[idle, working, waiting].toSorted(), []]);
    for (const [id, expected] of [
      [kept, false],
      [idle, true],
      [working, true],
      [waiting, true],
      [other, false],
    ] as const)
      assert.equal(await gone(bench, id), expected);
    assert.equal(bench.log.with(/removed a session/).length, 3);
  });

  it('waits for a cancellation that takes its time', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.api.createSession(body(MINE, [{ wait_for: 'cancel' }] as never));
    bench.emulator.addFaults({ kind: 'cancel_lag', ms: 400 });
    const swept = await sweep(bench.api, { key: MINE, keep: null, signal: never, log: bench.log });
    assert.deepEqual(swept, { removed: [id], left: [] });
  });

  it('deletes a session that takes no input any more', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.api.createSession(body());
    await bench.status(id, 'idle');
    const failed = { error: { code: 'session_failed', message: 'the session has failed' } };
    bench.emulator.addFaults({
      kind: 'status',
      status: 409,
      body: failed,
      times: 0,
      match: { input_type: 'cancel' },
    });
    const swept = await sweep(bench.api, { key: MINE, keep: null, signal: never, log: bench.log });
    assert.deepEqual(swept, { removed: [id], left: [] });
  });

  it('tries again after a failure of the service, and takes a session that is gone for removed', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.api.createSession(body());
    await bench.status(id, 'idle');
    bench.emulator.addFaults(
      { kind: 'status', status: 503, match: { input_type: 'cancel' } },
      { kind: 'lost_reply', match: { method: 'DELETE' } },
    );
    const swept = await sweep(bench.api, { key: MINE, keep: null, signal: never, log: bench.log });
    assert.deepEqual(swept, { removed: [id], left: [] });
  });

  it('names what it cannot remove within its bound', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.api.createSession(body());
    bench.emulator.addFaults({ kind: 'status', status: 409, times: 0, match: { method: 'DELETE' } });
    const swept = await sweep(bench.api, { key: MINE, keep: null, signal: never, log: bench.log });
    assert.deepEqual(swept, { removed: [], left: [id] });
    assert.deepEqual(bench.log.with(/could not remove/)[0]?.fields, { session_id: id });
  });
});
