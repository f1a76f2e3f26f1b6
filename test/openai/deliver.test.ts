/** Post-and-reconcile: what became of a posting, whatever the service said (I3, I4; agents-api.md 5.4, 12; scenarios 3, 4, 17, 50). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FaultSpec } from '../../src/emulator/index.ts';
import { deliver } from '../../src/openai/deliver.ts';
import type { PostOutcome, Posting } from '../../src/protocol/activities.ts';
import type { ToolResult } from '../../src/protocol/calls.ts';
import { inputMessages } from '../../src/protocol/inputs.ts';
import { until } from '../support/until.ts';
import { Bench, json, Lines, never, oddServer, refusal } from './bench.ts';

const RESULT = { input_type: 'tool_result' };
const GOOD: ToolResult = { success: true, output: 'sunny' };

/** A session with one pending call, and a way to post its result. */
async function pending(t: Parameters<typeof Bench.start>[0], ...faults: FaultSpec[]) {
  const bench = await Bench.start(t, { faults });
  const { id, turn, calls } = await bench.calling('look');
  const posting = (result: ToolResult, fields: Partial<Posting> = {}): Posting =>
    ({ kind: 'tool_result', turn_id: turn, call_id: 'call_look', result, ...fields }) as Posting;
  const post = async (what: Posting, signal = never): Promise<PostOutcome> =>
    deliver({ api: bench.api, sessionId: id, signal, log: bench.log }, what);
  const send = async (result: ToolResult = GOOD): Promise<PostOutcome> => post(posting(result));
  const posts = (): ReturnType<Bench['posts']> => bench.posts(id, 'tool_result');
  return { bench, id, turn, key: calls[0] ?? '', posting, post, send, posts };
}

function outcome(
  key: string,
  words: PostOutcome['outcome'],
  kind: PostOutcome['kind'] = 'tool_result',
): Partial<PostOutcome> {
  return { kind, key, outcome: words };
}

describe('deliver', { concurrency: true }, () => {
  describe('a result', { concurrency: true }, () => {
    it('is accepted, with its own ids and bytes', async (t) => {
      const { key, id, turn, send, posts, bench } = await pending(t);
      assert.deepEqual(await send(), outcome(key, 'accepted'));
      const event = { type: 'agent.session.input.tool_result', turn_id: turn, call_id: 'call_look', ...GOOD };
      assert.deepEqual(
        posts().map((post) => post.body),
        [{ events: [event] }],
      );
      await bench.status(id, 'idle');
    });

    it('keeps a null output, parts and an error as they are', async (t) => {
      const parts: ToolResult = { success: true, output: [{ type: 'input_text', text: 'a' }] };
      for (const result of [{ success: true, output: null }, parts, { success: false, error: 'No.' }]) {
        const { key, send, posts } = await pending(t);
        assert.deepEqual(await send(result), outcome(key, 'accepted'));
        const { events } = (posts()[0]?.body ?? { events: [] }) as { events: [Record<string, unknown>] };
        assert.deepEqual({ ...result, ...events[0] }, events[0]);
      }
    });

    it('is the same post when its answer was lost, from any process (scenario 3)', async (t) => {
      const { bench, key, send, posts } = await pending(t, { kind: 'lost_reply', match: RESULT });
      assert.equal((await refusal(send)).kind, 'unavailable');
      assert.deepEqual(await send(), outcome(key, 'accepted'));
      const [first, second] = posts();
      assert.equal(first?.body_sha256, second?.body_sha256);
      assert.equal(first?.idempotency_key, second?.idempotency_key);
      assert.deepEqual([first?.effect, second?.effect], ['applied', 'repeat']);
      assert.equal(bench.emulator.counters().totals.results_accepted, 1);
    });

    it('is a repeat after the end of its turn too', async (t) => {
      const { bench, id, key, send } = await pending(t);
      await send();
      await bench.status(id, 'idle');
      assert.deepEqual(await send(), outcome(key, 'accepted'));
      assert.equal(bench.emulator.counters().totals.results_accepted, 1);
    });

    it('waits for a call that is not registered yet, at least a second (scenario 4)', async (t) => {
      const { key, send, posts, bench } = await pending(t, { kind: 'early_result', refusals: 3 });
      const begun = Date.now();
      assert.deepEqual(await send(), outcome(key, 'accepted'));
      assert.ok(Date.now() - begun >= 990);
      assert.deepEqual(
        posts().map((post) => post.status),
        [400, 400, 400, 202],
      );
      assert.equal(new Set(posts().map((post) => post.body_sha256)).size, 1);
      assert.equal(new Set(posts().map((post) => post.idempotency_key)).size, 1);
      assert.equal(bench.emulator.counters().totals.violations, 0);
    });

    it('is to be posted again when the call is required and still refused as unknown', async (t) => {
      const { key, send, posts } = await pending(t, { kind: 'early_result', refusals: 100 });
      const end = await send();
      assert.deepEqual(
        { ...end, detail: undefined },
        { ...outcome(key, 'still_required'), detail: undefined },
      );
      assert.match(end.detail ?? '', /Unknown pending tool call: call_look/);
      assert.equal(posts().length, 4, 'no hot loop');
    });

    it('is delivered when its repeat is refused as unknown and the turn holds this very result (R17)', async (t) => {
      const { bench, id, turn, key, send } = await pending(t, { kind: 'refuse_when_settled', times: 0 });
      await bench.answer(id, turn, 'call_look', 'sunny');
      await bench.status(id, 'idle');
      const end = await send();
      assert.equal(end.outcome, 'accepted');
      assert.equal(end.key, key);
      assert.equal(bench.log.with(/no longer waits/).length, 0);
    });

    it('is not dropped for one stale read', async (t) => {
      const { bench, send } = await pending(t, { kind: 'early_result', refusals: 100 });
      bench.emulator.addFaults({ kind: 'stale_session' });
      assert.equal((await send()).outcome, 'still_required');
    });

    it('is unwanted after a cancel, by a 409 (scenario 38)', async (t) => {
      const { bench, id, send, posts } = await pending(t);
      await bench.cancel(id);
      const end = await send();
      assert.equal(end.outcome, 'unwanted');
      assert.deepEqual(
        posts().map((post) => post.status),
        [409],
      );
    });

    it('is unwanted when another result was taken before', async (t) => {
      const { bench, id, turn, send } = await pending(t);
      await bench.answer(id, turn, 'call_look', 'another answer');
      assert.equal((await send()).outcome, 'unwanted');
    });

    it('is refused for what it is when it is too large, and its smaller successor has a key of its own (scenario 17)', async (t) => {
      const { key, send, posts } = await pending(t, { kind: 'result_limit', bytes: 1000, times: 0 });
      const end = await send({ success: true, output: 'x'.repeat(2000) });
      assert.equal(end.outcome, 'refused');
      assert.match(end.detail ?? '', /HTTP 400: Tool result is too large/);
      assert.equal(posts().length, 1, 'the same bytes are not sent twice');
      assert.deepEqual(await send({ success: false, error: 'too large' }), outcome(key, 'accepted'));
      assert.notEqual(posts()[0]?.idempotency_key, posts()[1]?.idempotency_key);
    });

    it('is refused under a wrong turn, not retried', async (t) => {
      const { post, posting, posts } = await pending(t);
      const end = await post(posting(GOOD, { turn_id: 'turn_other' }));
      assert.deepEqual([end.outcome, end.key], ['refused', 'turn_other/call_look']);
      assert.match(end.detail ?? '', /belongs to a different managed agent turn/);
      assert.equal(posts().length, 1);
    });

    it('stops between its attempts with its signal', async (t) => {
      const { post, posting, posts } = await pending(t, { kind: 'early_result', refusals: 100 });
      const abort = new AbortController();
      const sending = post(posting(GOOD), abort.signal);
      await until('it was refused', () => posts().length > 0);
      const before = posts().length;
      abort.abort(new Error('stop'));
      await assert.rejects(sending, /^Error: stop$/);
      assert.ok(posts().length <= before + 1, 'no more than was on its way');
    });

    it('is unwanted when its turn is not to be found: only the session decides', async (t) => {
      // A call of a subagent's turn: session-level turn routes answer 404 (agents-api.md 9).
      const log = new Lines();
      const api = await oddServer(t, (request, response) => {
        const url = request.url ?? '';
        if (request.method === 'POST')
          json(response, { error: { code: 'conflict_error', message: 'no' } }, 409);
        else if (url.includes('/turns/'))
          json(response, { error: { code: 'not_found_error', message: 'no' } }, 404);
        else json(response, { id: 's', status: 'in_progress', required_actions: [] });
      });
      const posting: Posting = { kind: 'tool_result', turn_id: 't', call_id: 'c', result: GOOD };
      assert.equal((await deliver({ api, sessionId: 's', signal: never, log }, posting)).outcome, 'unwanted');
    });
  });

  describe('what a retry must mend leaves as an ApiError', { concurrency: true }, () => {
    const rows: [string, FaultSpec, string, number | null][] = [
      [
        '429 with Retry-After',
        { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
        'unavailable',
        7000,
      ],
      ['429 without', { kind: 'status', status: 429 }, 'unavailable', null],
      ['503', { kind: 'status', status: 503 }, 'unavailable', null],
      ['a lost connection', { kind: 'lost_request' }, 'unavailable', null],
      ['401', { kind: 'status', status: 401 }, 'unauthorized', null],
      ['403', { kind: 'status', status: 403 }, 'unauthorized', null],
      ['404', { kind: 'status', status: 404 }, 'not_found', null],
    ];
    for (const [name, fault, kind, retryAfterMs] of rows) {
      it(name, async (t) => {
        const { bench, send, key } = await pending(t);
        bench.emulator.addFaults({ ...fault, match: RESULT });
        const error = await refusal(send);
        assert.deepEqual([error.kind, error.retryAfterMs], [kind, retryAfterMs]);
        assert.deepEqual(await send(), outcome(key, 'accepted'), 'the next attempt brings the same');
      });
    }

    it('an account out of money: not the bytes are refused', async (t) => {
      const { bench, send, key } = await pending(t);
      const body = { error: { type: 'x', code: 'insufficient_quota', message: 'You ran out.' } };
      bench.emulator.addFaults({ kind: 'status', status: 429, body, match: RESULT });
      const error = await refusal(send);
      assert.deepEqual([error.code, error.retryable], ['insufficient_quota', false]);
      assert.deepEqual(await send(), outcome(key, 'accepted'));
    });
  });

  describe('a message', { concurrency: true }, () => {
    const posting: Posting = { kind: 'message', key: 'hf_m1', input: inputMessages('hello') };

    it('is accepted under its key, and its repeat has no effect (R19)', async (t) => {
      const bench = await Bench.start(t, {
        faults: [{ kind: 'lost_reply', match: { input_type: 'message' } }],
      });
      const { id } = await bench.idle();
      const context = { api: bench.api, sessionId: id, signal: never, log: bench.log };
      await refusal(() => deliver(context, posting));
      assert.deepEqual(await deliver(context, posting), outcome('hf_m1', 'accepted', 'message'));
      assert.equal((await bench.api.newestTurns(id, 10)).length, 2);
      assert.deepEqual(
        new Set(bench.posts(id, 'message').map((post) => post.idempotency_key)),
        new Set(['hf_m1']),
      );
    });

    it('waits for the end of a turn that takes no steering', async (t) => {
      const bench = await Bench.start(t);
      const context = { api: bench.api, signal: never, log: bench.log };
      // The first turn of a session without environment, and any later one (agents-api.md 5.7, 12).
      const first = await bench.calling('look');
      const early = await deliver({ ...context, sessionId: first.id }, posting);
      assert.equal(early.outcome, 'still_required');
      assert.match(early.detail ?? '', /session initial input is still pending/);
      const { id } = await bench.idle();
      await bench.say(id, 'script:[{"wait_for":"cancel"}]');
      bench.emulator.addFaults({ kind: 'steering_refused' });
      assert.equal((await deliver({ ...context, sessionId: id }, posting)).outcome, 'still_required');
      assert.equal((await deliver({ ...context, sessionId: id }, posting)).outcome, 'accepted');
    });

    it('is refused for what it is, and for a key that was used with another body', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.idle();
      const context = { api: bench.api, sessionId: id, signal: never, log: bench.log };
      const empty = await deliver(context, { kind: 'message', key: 'hf_m2', input: [] });
      assert.equal(empty.outcome, 'refused');
      await deliver(context, posting);
      const other = await deliver(context, { ...posting, input: inputMessages('something else') });
      assert.equal(other.outcome, 'refused');
      assert.match(other.detail ?? '', /idempotency_conflict/);
    });

    it('is refused by a session that takes none any more', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.session([{ fail_session: { code: 'sandbox_error', message: 'gone' } }]);
      await bench.status(id, 'failed');
      const context = { api: bench.api, sessionId: id, signal: never, log: bench.log };
      assert.equal(
        (await deliver(context, posting)).outcome,
        'still_required',
        'the follower reads the failure',
      );
    });
  });

  describe('a cancellation', { concurrency: true }, () => {
    const posting: Posting = { kind: 'cancel', key: 'hf_c1' };

    it('is accepted by a running turn, by an idle session, and twice', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.calling('look');
      const context = { api: bench.api, sessionId: id, signal: never, log: bench.log };
      for (let time = 0; time < 2; time++)
        assert.deepEqual(await deliver(context, posting), outcome('hf_c1', 'accepted', 'cancel'));
      const [turn] = await bench.api.newestTurns(id, 1);
      assert.equal(turn?.status, 'cancelled');
    });

    it('is unwanted where the session refuses it', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.idle();
      bench.emulator.addFaults({ kind: 'status', status: 409, match: { input_type: 'cancel' } });
      const context = { api: bench.api, sessionId: id, signal: never, log: bench.log };
      assert.equal((await deliver(context, posting)).outcome, 'unwanted');
    });
  });
});
