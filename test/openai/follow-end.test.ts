/** Following a turn to its end, whatever else ends before it (I4, I6, I7; R11, R12). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../src/emulator/index.ts';
import type { FollowView } from '../../src/openai/follow-options.ts';
import { until } from '../support/until.ts';
import { Bench } from './bench.ts';
import { follow, say } from './follower.ts';

const TURN = { method: 'GET', path: '/agents/sessions/{session_id}/turns/{turn_id}' };
const HELLO: Step[] = [{ wait_ms: 30 }, { say: 'hello there, world' }];

describe('the end of the turn', { concurrency: true }, () => {
  it('is reported with the saved answer and its usage, and the stream is closed', async (t) => {
    const bench = await Bench.start(t, { firstTurnSteering: true });
    const { id } = await bench.session([
      { wait_for: 'message' },
      { say: 'thinking aloud' },
      { say: 'hello there, world' },
    ]);
    const views: FollowView[] = [];
    const following = follow(bench, { session_id: id }, { view: (view) => views.push(view) });
    // Before that, its first read might find the end, and no event would be needed.
    await until('it has read', () => views.length > 0);
    await bench.say(id, 'go on');
    const { output } = await following;
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
    assert.deepEqual([output.calls, output.others, output.error, output.next_turn_id], [[], [], null, null]);
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
    const { id } = await bench.session([{ wait_for: 'message' }]);
    const [first] = await bench.api.newestTurns(id, 1);
    // It ends the wait, after which the turn has nothing left to do: it begins the next one.
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
