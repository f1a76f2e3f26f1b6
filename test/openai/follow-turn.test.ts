/** Following a turn to a decision: its end, calls to run, something to wait for (I5, I6, I7, I9). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../src/emulator/index.ts';
import { until } from '../support/until.ts';
import { Bench, refusal } from './bench.ts';
import { follow, keys, resultOf, say } from './follower.ts';

const SESSION = { method: 'GET', path: '/agents/sessions/{session_id}' };
const TURN = { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' };
const HELLO: Step[] = [{ wait_ms: 30 }, { say: 'hello there, world' }];

describe('followTurn', { concurrency: true }, () => {
  describe('the end of the turn', { concurrency: true }, () => {
    it('is reported with the saved answer and its usage, and the stream is closed', async (t) => {
      const bench = await Bench.start(t, { firstTurnSteering: true });
      const { id } = await bench.session([
        { wait_for: 'message' },
        { say: 'thinking aloud' },
        { say: 'hello there, world' },
      ]);
      const following = follow(bench, { session_id: id });
      await bench.listened(id);
      await bench.say(id, 'go on');
      const { output, views } = await following;
      assert.equal(output.reason, 'ended');
      const { usage, ...report } = output.turn ?? assert.fail('no report');
      assert.deepEqual(report, {
        turn_id: output.turn_id,
        status: 'completed',
        error: null,
        output_text: 'hello there, world',
        failed_tools: 0,
      });
      assert.ok((usage?.total_tokens ?? 0) > 0);
      assert.deepEqual(
        [output.calls, output.others, output.error, output.next_turn_id],
        [[], [], null, null],
      );
      const last = views.at(-1);
      assert.deepEqual([last?.turn, last?.turn_id, last?.reconnects], ['completed', output.turn_id, 0]);
      assert.equal(last?.text_chars, 'thinking aloud'.length + 'hello there, world'.length);
      await until('the stream is closed', () => bench.emulator.counters().totals.streams_open === 0);
    });

    it('answers a message that was posted after the stream was open (I6)', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.idle();
      const posting = say(HELLO);
      const { output } = await follow(bench, { session_id: id, after_turn_id: turn.id, postings: [posting] });
      assert.equal(output.turn?.output_text, 'hello there, world');
      assert.deepEqual(output.posted, [{ kind: 'message', key: 'hf_m1', outcome: 'accepted' }]);
      assert.deepEqual(output.landed, ['hf_m1']);
      assert.notEqual(output.turn_id, turn.id);
      assert.equal(bench.posts(id, 'message').length, 1);
    });

    it('is found when it came while nobody listened (R12, scenario 27)', async (t) => {
      const bench = await Bench.start(t);
      const completed = await bench.session([{ say: 'done' }]);
      const failed = await bench.session([
        { fail: { code: 'server_error', message: 'broke with sk-abcdefgh' } },
      ]);
      const cancelled = await bench.session([{ wait_for: 'cancel' }]);
      await bench.cancel(cancelled.id);
      for (const { id } of [completed, failed, cancelled]) await bench.status(id, 'idle');
      const reports = await Promise.all(
        [completed, failed, cancelled].map(async ({ id }) => {
          const [turn] = await bench.api.newestTurns(id, 1);
          const known = await follow(bench, { session_id: id, turn_id: turn?.id ?? null });
          const unknown = await follow(bench, { session_id: id });
          assert.deepEqual(unknown.output.turn, known.output.turn);
          return known.output.turn;
        }),
      );
      assert.deepEqual(
        reports.map((report) => [report?.status, report?.output_text, report?.error]),
        [
          ['completed', 'done', null],
          ['failed', '', { code: 'server_error', message: 'broke with [redacted]' }],
          ['cancelled', '', null],
        ],
      );
    });

    it('says how many tools failed in a turn that completed (I7)', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.calling('look', 'read');
      await bench.answer(id, turn, 'call_look', 'fine');
      const failure = {
        kind: 'tool_result',
        turn_id: turn,
        call_id: 'call_read',
        result: { success: false, error: 'No.' },
      } as const;
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        postings: [failure],
        known: [`${turn}/call_read`],
      });
      assert.deepEqual([output.turn?.status, output.turn?.failed_tools], ['completed', 1]);
      assert.deepEqual(output.confirmed, [`${turn}/call_read`]);
    });

    it('is never reported as anything but an end, whatever a later read says (I4)', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.idle();
      // The read that decides is right, every later one is older.
      bench.emulator.addFaults({
        kind: 'patch_answer',
        patch: { status: 'in_progress', usage: null },
        match: TURN,
        after: 1,
        times: 0,
      });
      const { output } = await follow(bench, { session_id: id, turn_id: turn.id });
      assert.equal(output.turn?.status, 'completed');
      assert.equal(output.turn?.output_text, 'ready');
    });

    it("is the root's, however subagents end before it (R11, scenario 30)", async (t) => {
      for (const outcome of ['completed', 'failed', 'cancelled'] as const) {
        const bench = await Bench.start(t);
        const { id } = await bench.session([
          { wait_ms: 30 },
          { subagent: { name: 'scout', say: 'found it, all of it', outcome, on_stream: true } },
          { wait_ms: 30 },
          { say: 'done' },
        ]);
        const { output, views } = await follow(bench, { session_id: id });
        const [root] = await bench.api.newestTurns(id, 1);
        assert.deepEqual(
          [output.reason, output.turn_id, output.turn?.output_text],
          ['ended', root?.id, 'done'],
          outcome,
        );
        for (const view of views) assert.ok(view.text_chars <= 'done'.length, 'scenario 31');
      }
    });

    it('is told with the next turn when a message waits for it', async (t) => {
      const bench = await Bench.start(t, { firstTurnSteering: true });
      const { id } = await bench.session([{ wait_for: 'message' }, { wait_ms: 80 }, { say: 'one' }]);
      const [first] = await bench.api.newestTurns(id, 1);
      await bench.say(id, 'steer');
      // Queued behind the turn: it becomes the next one.
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: first?.id ?? null,
        postings: [say([{ wait_for: 'cancel' }])],
      });
      assert.equal(output.turn_id, first?.id);
      const newest = await until('the next turn', async () => {
        const [turn] = await bench.api.newestTurns(id, 1);
        return turn?.id === first?.id ? null : turn;
      });
      assert.deepEqual([output.landed, output.next_turn_id], [[], newest.id]);
    });

    it('knows a message of several parts by all of them', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.idle();
      const text = (value: string) => ({ type: 'input_text', text: value }) as const;
      const input = [
        { role: 'user', content: [text('first '), text('half')] } as const,
        { role: 'user', content: [text('second half')] } as const,
      ].map((one) => ({ ...one, content: [...one.content] }));
      const posting = { kind: 'message', key: 'hf_two', input } as const;
      const { output } = await follow(bench, { session_id: id, after_turn_id: turn.id, postings: [posting] });
      assert.deepEqual(output.landed, ['hf_two']);
    });
  });

  describe('calls', { concurrency: true }, () => {
    it('are handed on together, planned once each, and the turn waits', async (t) => {
      const bench = await Bench.start(t);
      const call = ['look', 'read'].map((name) => ({ name, call_id: `call_${name}` }));
      const { id } = await bench.session([{ wait_ms: 30 }, { call }, { say: 'done' }]);
      const { output, plans } = await follow(bench, { session_id: id });
      assert.equal(output.reason, 'calls');
      assert.deepEqual(
        output.calls.map(({ name }) => name),
        ['look', 'read'],
      );
      assert.ok(output.waiting);
      assert.deepEqual(plans, keys(output));
      await until('nothing is held (I9)', () => bench.emulator.counters().totals.streams_open === 0);
    });

    it('that appear one by one are gathered, while the turn is not said to wait', async (t) => {
      const bench = await Bench.start(t);
      bench.emulator.addFaults({
        kind: 'patch_answer',
        patch: { status: 'in_progress' },
        match: TURN,
        times: 0,
      });
      const call = ['a', 'b', 'c'].map((name) => ({ name, call_id: `call_${name}` }));
      const { id } = await bench.session([
        { wait_ms: 30 },
        { call, appear: 'one_by_one', gap_ms: 400 },
        { say: 'done' },
      ]);
      const [turn] = await bench.api.newestTurns(id, 1);
      const { output } = await follow(bench, { session_id: id, turn_id: turn?.id ?? null });
      assert.deepEqual([output.reason, output.calls.map(({ name }) => name)], ['calls', ['a', 'b', 'c']]);
    });

    it('are handed on at once when the turn waits for them; a late one is found later', async (t) => {
      const bench = await Bench.start(t);
      const call = ['a', 'b'].map((name) => ({ name, call_id: `call_${name}` }));
      const { id } = await bench.session([
        { wait_ms: 30 },
        { call, appear: 'one_by_one', gap_ms: 1500 },
        { say: 'done' },
      ]);
      const first = await follow(bench, { session_id: id });
      await until(
        'the second call',
        async () => (await bench.api.getSession(id)).required_actions.length === 2,
      );
      const second = await follow(bench, { session_id: id, known: keys(first.output) });
      assert.deepEqual(
        [...first.output.calls, ...second.output.calls].map(({ name }) => name),
        ['a', 'b'],
      );
    });

    it('that became pending while nobody listened are found without any event (R15, scenario 28)', async (t) => {
      const bench = await Bench.start(t);
      const { id, calls } = await bench.calling('look');
      const { output, views } = await follow(bench, { session_id: id });
      assert.deepEqual([output.reason, keys(output), views.at(-1)?.events], ['calls', calls, 0]);
    });

    it('are found when the event that tells of them is lost', async (t) => {
      const bench = await Bench.start(t);
      bench.emulator.addFaults({
        kind: 'drop_events',
        match: { event_type: 'agent.session.requires_action' },
      });
      const { id } = await bench.session([{ wait_ms: 50 }, { call: { name: 'look' } }]);
      const { output } = await follow(bench, { session_id: id });
      assert.equal(output.reason, 'calls');
    });

    it('are found behind a stale snapshot after their event (R14)', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.session([{ wait_ms: 50 }, { call: { name: 'look' } }]);
      const following = follow(bench, { session_id: id });
      bench.emulator.addFaults({
        kind: 'patch_answer',
        patch: { status: 'in_progress', required_actions: [] },
        match: SESSION,
        after: 1,
        times: 3,
      });
      assert.equal((await following).output.reason, 'calls');
    });

    it('are found behind a stale snapshot without any event', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.calling('look');
      bench.emulator.addFaults({
        kind: 'patch_answer',
        patch: { status: 'in_progress', required_actions: [] },
        match: SESSION,
      });
      // Not only after a silence, which would be too late here.
      const { output } = await follow(bench, { session_id: id }, { silenceMs: 60_000 });
      assert.equal(output.reason, 'calls');
    });

    it('that are in the history and not required are left alone (I5, R16)', async (t) => {
      const bench = await Bench.start(t);
      const item = {
        type: 'function_call',
        call_id: 'old',
        name: 'look',
        arguments: {},
        status: 'in_progress',
      };
      const { id } = await bench.session([{ wait_ms: 30 }, { item }, { wait_ms: 700 }, { say: 'done' }]);
      const { output, plans } = await follow(bench, { session_id: id });
      assert.deepEqual([output.reason, output.turn?.output_text, plans], ['ended', 'done', []]);
    });

    it('of a turn that was cancelled meanwhile are not handed on', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.calling('look');
      // The turn is not said to wait, so the follower gathers.
      const fault = {
        kind: 'patch_answer',
        patch: { status: 'in_progress' },
        match: TURN,
        times: 2,
      } as const;
      bench.emulator.addFaults(fault);
      const following = follow(bench, { session_id: id, turn_id: turn });
      await until('the first read', () => (bench.emulator.counters().requests[`GET ${TURN.path}`] ?? 0) > 0);
      await bench.cancel(id);
      const { output, plans } = await following;
      assert.deepEqual([output.reason, output.turn?.status, plans.length], ['ended', 'cancelled', 1]);
      assert.deepEqual(output.calls, []);
    });

    it("of a turn that the session's routes do not know are handed on, not the session given up (agents-api.md 9)", async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.idle();
      const call = {
        type: 'function_call',
        turn_id: 'turn_child',
        call_id: 'c',
        name: 'look',
        arguments: {},
      };
      const patch = { status: 'requires_action', required_actions: [call] };
      bench.emulator.addFaults({ kind: 'patch_answer', patch, match: SESSION, times: 0 });
      const { output } = await follow(bench, { session_id: id, after_turn_id: turn.id });
      assert.deepEqual([output.reason, keys(output)], ['calls', ['turn_child/c']]);
    });
  });

  describe('something to wait for', { concurrency: true }, () => {
    it('is known calls: nothing is held for them (I9)', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look', 'read');
      const { output, plans } = await follow(bench, { session_id: id, turn_id: turn, known: calls });
      assert.deepEqual([output.reason, output.waiting, output.calls, plans], ['blocked', true, [], []]);
    });

    it('is a person: the request is named (scenario 16)', async (t) => {
      const bench = await Bench.start(t);
      const ask = {
        type: 'mcp_tool_call',
        server_label: 'mail',
        name: 'send',
        arguments: null,
        message: 'Send?',
      } as const;
      const { id } = await bench.session([{ ask: ask as never, request_id: 'req_1' }, { say: 'sent' }]);
      const { output } = await follow(bench, { session_id: id });
      assert.deepEqual(
        [output.reason, output.others],
        ['blocked', [{ type: 'mcp_approval_request', id: 'req_1' }]],
      );
    });

    it('is not there while the service goes on by itself', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look');
      await bench.answer(id, turn, 'call_look', 'sunny');
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        known: calls,
        unconfirmed: calls,
      });
      assert.deepEqual([output.reason, output.confirmed], ['ended', calls]);
    });
  });

  describe('results', { concurrency: true }, () => {
    it('are posted, and confirmed by a read after the post', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look', 'read');
      const [look = '', read = ''] = calls;
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        postings: [resultOf(look, 'sunny')],
        known: calls,
      });
      assert.deepEqual(output.posted, [{ kind: 'tool_result', key: look, outcome: 'accepted' }]);
      assert.deepEqual([output.reason, output.confirmed, output.required_again], ['blocked', [look], []]);
      const rest = await follow(bench, {
        session_id: id,
        turn_id: turn,
        postings: [resultOf(read, 'so')],
        known: calls,
      });
      assert.deepEqual(
        [rest.output.reason, rest.output.confirmed, rest.output.turn?.output_text],
        ['ended', [read], 'done'],
      );
    });

    it('that were accepted and not taken are required again, after two reads (I4)', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look');
      bench.emulator.addFaults({ kind: 'status', status: 202, match: { input_type: 'tool_result' } });
      const begun = Date.now();
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        postings: calls.map((key) => resultOf(key, 'x')),
        known: calls,
      });
      assert.deepEqual([output.reason, output.required_again, output.confirmed], ['blocked', calls, []]);
      assert.ok(Date.now() - begun >= 2900);
    });

    it('are not taken for confirmed by a snapshot that is older than the turn', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look');
      bench.emulator.addFaults({
        kind: 'patch_answer',
        patch: { status: 'in_progress', required_actions: [] },
        match: SESSION,
      });
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        known: calls,
        unconfirmed: calls,
      });
      assert.deepEqual([output.confirmed, output.required_again], [[], calls]);
    });

    it('are posted once each, in order, however often the stream breaks', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look', 'read');
      bench.emulator.addFaults({ kind: 'cut_stream', after_events: 0, times: 3 });
      const postings = calls.map((key) => resultOf(key, 'x'));
      const { output, views } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        postings,
        known: calls,
      });
      assert.equal(output.reason, 'ended');
      assert.deepEqual(
        bench.posts(id, 'tool_result').map((post) => post.effect),
        ['applied', 'applied'],
      );
      assert.ok(views.length > 0);
    });

    it('that are refused for what they are come back as such', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn, calls } = await bench.calling('look');
      bench.emulator.addFaults({ kind: 'result_limit', bytes: 10 });
      const { output } = await follow(bench, {
        session_id: id,
        turn_id: turn,
        postings: calls.map((key) => resultOf(key, 'x'.repeat(50))),
        known: calls,
      });
      assert.deepEqual([output.reason, output.posted[0]?.outcome], ['blocked', 'refused']);
    });
  });

  describe('a session that is over', { concurrency: true }, () => {
    it('is gone when it was deleted, before or meanwhile (scenario 26 d)', async (t) => {
      const bench = await Bench.start(t);
      const { id, turn } = await bench.idle();
      const following = follow(bench, { session_id: id, after_turn_id: turn.id });
      await until('it listens', () => bench.emulator.counters().totals.streams_open === 1);
      await bench.api.deleteSession(id);
      for (const output of [(await following).output, (await follow(bench, { session_id: id })).output]) {
        assert.equal(output.reason, 'session_gone');
        assert.match(output.error?.message ?? '', /HTTP 404/);
      }
      const posting = await follow(bench, { session_id: id, postings: [say('hello')] });
      assert.deepEqual([posting.output.reason, posting.output.posted], ['session_gone', []]);
    });

    it('failed, with its error', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.session([{ wait_for: 'cancel' }]);
      const patch = { status: 'failed', error: `sandbox broke, key sk-abcdefgh ${'x'.repeat(100_000)}` };
      bench.emulator.addFaults({ kind: 'patch_answer', patch, match: SESSION });
      const { output } = await follow(bench, { session_id: id });
      assert.equal(output.reason, 'session_failed');
      assert.match(output.error?.message ?? '', /^sandbox broke, key \[redacted\] x+/);
      assert.ok(Buffer.byteLength(JSON.stringify(output)) < 10_000, 'I10');
    });

    it('that failed together with its turn reports the turn (I7)', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.session([
        { wait_ms: 50 },
        { fail_session: { code: 'sandbox_error', message: 'gone' } },
      ]);
      const { output } = await follow(bench, { session_id: id });
      assert.deepEqual(
        [output.reason, output.turn?.status, output.turn?.error?.code],
        ['ended', 'failed', 'sandbox_error'],
      );
    });

    it('reached its budget in the middle of a turn (R23)', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.session([{ wait_ms: 50 }, { budget: true }, { say: 'never' }], {
        spend_control: { limit: 5 },
      });
      assert.equal((await follow(bench, { session_id: id })).output.reason, 'budget_reached');
    });

    it('did not reach it for one stale read', async (t) => {
      const bench = await Bench.start(t);
      const { id } = await bench.session([{ wait_ms: 1000 }, { say: 'done' }]);
      bench.emulator.addFaults({ kind: 'patch_answer', patch: { status: 'budget_reached' }, match: SESSION });
      assert.equal((await follow(bench, { session_id: id })).output.reason, 'ended');
    });

    it('lost its environment', async (t) => {
      const bench = await Bench.start(t, { firstTurnSteering: true });
      for (const [status, error, expected] of [
        [
          'failed',
          { code: 'sandbox_error', message: 'no room, sk-abcdefgh', type: 'x' },
          { code: 'sandbox_error', message: 'no room, [redacted]' },
        ],
        ['expired', null, { code: 'expired', message: 'environment expired' }],
      ] as const) {
        const environment = { id: 'env', type: 'openai_hosted', status, error };
        const event = { type: `agent.session.environment.${status}`, environment };
        const { id } = await bench.session([{ wait_for: 'message' }, { event }, { wait_for: 'cancel' }]);
        const following = follow(bench, { session_id: id });
        await bench.listened(id);
        await bench.say(id, 'go on');
        const { output } = await following;
        assert.deepEqual([output.reason, output.error], ['environment_failed', expected]);
      }
    });
  });

  it('leaves as an ApiError what this attempt cannot mend', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ wait_for: 'cancel' }]);
    for (const [status, kind] of [
      [503, 'unavailable'],
      [429, 'unavailable'],
      [401, 'unauthorized'],
    ] as const) {
      for (const path of [SESSION.path, TURN.path.replace('/{turn_id}', ''), '*/events']) {
        bench.emulator.clearFaults();
        bench.emulator.addFaults({ kind: 'status', status, times: 0, match: { method: 'GET', path } });
        assert.equal((await refusal(() => follow(bench, { session_id: id }))).kind, kind);
      }
    }
    await until('no stream is left open', () => bench.emulator.counters().totals.streams_open === 0);
    bench.emulator.clearFaults();
  });
});
