/**
 * A server is probed, the emulator plays the profile, and is probed itself: the same answers, in every word. The
 * servers are emulators under switches that are not those of the profile, where two ways lead to one behaviour.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { EmulatorOptions } from '../../src/emulator/index.ts';
import { emulatorOptions, loadProfile, profileOf, saveProfile } from '../../src/probe/index.ts';
import { always, finding, KEY, LIMIT, probed, type Probed } from './bench.ts';

interface Trip {
  first: Probed;
  second: Probed;
}

/** A slow run would hear a keep-alive that a quick one does not. */
const SILENT = { pingMs: 600_000 };

/** Probes, saves, loads, plays, and probes again. */
async function roundTrip(server: EmulatorOptions, only: readonly string[] | null = null): Promise<Trip> {
  const first = await probed({ ...SILENT, ...server }, { only });
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-probe-'));
  try {
    const file = join(folder, 'profile.json');
    await saveProfile(file, profileOf(first.report));
    const profile = await loadProfile(file);
    assert.deepEqual(profile, profileOf(first.report));
    assert.deepEqual(profile.emulator.cannot_play, []);
    const second = await probed({ ...SILENT, ...emulatorOptions(profile, KEY) }, { only });
    return { first, second };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function assertSame({ first, second }: Trip): void {
  const answers = ({ report }: Probed) =>
    Object.fromEntries(
      report.findings.map(({ id, verdict, safe, values }) => [id, { verdict, safe, values }]),
    );
  assert.deepEqual(answers(second), answers(first));
  for (const { report, counters } of [first, second]) {
    assert.deepEqual(report.sessions.left, []);
    assert.equal(counters.totals.creates, report.sessions.created);
    assert.equal(counters.totals.deletes, report.sessions.created);
    assert.ok(report.sessions.created <= 4, 'few sessions');
    assert.ok(counters.totals.turns_started <= 9, 'few turns');
  }
}

/** Ids of what differs from the assumptions. */
function differing({ report }: Probed): string[] {
  return report.findings.filter(({ verdict }) => verdict === 'differs').map(({ id }) => id);
}

function words(seen: Probed, ids: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(ids.map((id) => [id, finding(seen, id).values]));
}

/** Asked of no server that is probed in a short and cheap way; Q10 is heard only by those who wait for it. */
const NOT_ASKED = ['Q8', 'Q9', 'Q10', 'Q11', 'Q12', 'Q16', 'S4', 'S5', 'S9'];

describe('a probed server, and the emulator with its profile', { ...LIMIT, concurrency: true }, () => {
  it('the emulator as it is: every assumption holds, except that it takes any key', async () => {
    const trip = await roundTrip({});
    assertSame(trip);
    const { first } = trip;
    assert.deepEqual(differing(first), ['Q17']);
    assert.deepEqual(first.report.broken, []);
    const open = first.report.findings.filter(({ verdict }) => verdict === 'not_asked');
    assert.deepEqual(
      open.map(({ id }) => id),
      NOT_ASKED,
    );
    for (const { id, reason, seen, safe } of open) {
      assert.ok(reason, id);
      assert.deepEqual([seen, safe], [null, null], id);
    }
  });

  it('another implementation of the wire', async () => {
    const trip = await roundTrip({
      pingMs: 150,
      faults: always(
        { kind: 'no_content_status' },
        { kind: 'calls_one_by_one', gap_ms: 60 },
        { kind: 'refuse_when_settled' },
        { kind: 'create_key_honoured' },
        { kind: 'strict_query' },
        { kind: 'out_of_order_start' },
        { kind: 'empty_part' },
        { kind: 'not_found_code' },
        { kind: 'steering_refused' },
      ),
    });
    assertSame(trip);
    const unknown = 'refused 400 unknown_call';
    assert.deepEqual(
      words(trip.first, ['S1', 'S2', 'S3', 'S6', 'S7', 'S8', 'S11', 'S12', 'S13', 'S14', 'Q6', 'Q10']),
      {
        S1: { create: '200', events: '204', result: '204' },
        S2: { appear: 'one_by_one', after_one_answer: 'requires_action' },
        S3: { refused: '409 active_turn_not_steerable', retry: 'false' },
        S6: { repeat: unknown, repeat_after_end: unknown, other_result: unknown, after_cancel: unknown },
        S7: { other_body: 'refused 409 idempotency_conflict' },
        S8: { same_key: 'same_session' },
        S11: { first: 'in_progress' },
        S12: { new_message: 'one_empty_part' },
        S13: {
          sessions_limit: 'refused 400',
          sessions_key: 'refused 400',
          items_limit: 'refused 400',
          items_key: 'refused 400',
          turns_limit: 'refused 400',
          turns_key: 'refused 400',
        },
        S14: { status: '404', code: 'not_found', type: 'not_found' },
        Q6: { first_turn: 'refused 409', later_turn: 'refused 409' },
        Q10: { keep_alive: 'comments' },
      },
    );
    assert.deepEqual(trip.first.report.broken, [], 'Holdfast works with it');
  });

  it('a server whose reads and lists lag', async () => {
    const trip = await roundTrip({
      faults: always(
        { kind: 'session_lag', ms: 700 },
        { kind: 'turn_lag', ms: 700 },
        { kind: 'list_lag', ms: 1500 },
      ),
    });
    assertSame(trip);
    const { values, measured, safe } = finding(trip.first, 'Q4');
    assert.deepEqual(values, {
      session_after_call: 'late',
      session_after_result: 'late',
      session_after_end: 'late',
      turn_after_end: 'late',
    });
    assert.equal(safe, true);
    assert.ok((measured['session_after_call_ms'] ?? 0) >= 350);
    assert.deepEqual(finding(trip.first, 'H1').values, { by_metadata: 'later', newest: 'at_once' });
    // What is told does not depend on when it is told.
    assert.deepEqual(differing(trip.first), ['Q4', 'Q17', 'H1']);
  });

  it('a server that does the opposite wherever a switch lets it', async () => {
    const trip = await roundTrip({
      apiKey: KEY,
      firstTurnSteering: true,
      maxListeners: 12,
      maxResultBytes: 100_000,
      faults: always(
        { kind: 'success_status', status: 200, match: { method: 'POST', path: '/agents/sessions' } },
        { kind: 'error_as', status: 401, as_status: 403, type: 'forbidden', code: 'forbidden' },
        { kind: 'error_as', status: 429, code: 'slow_down', headers: { 'retry-after': '1' } },
        { kind: 'beta_ignored' },
        { kind: 'lenient_limit' },
        { kind: 'strict_query', limits: false, match: { path: '/agents/sessions/{session_id}/items' } },
        { kind: 'unfiltered_list_lag', ms: 1500 },
        { kind: 'key_handling', same_body: 'apply' },
        { kind: 'key_handling', other_body: 'apply' },
        { kind: 'atomic_batch' },
        { kind: 'steering_queued' },
        { kind: 'delete_once' },
        { kind: 'async_calls_run_on' },
        { kind: 'late_subscription', ms: 150 },
        { kind: 'initial_status_event' },
        { kind: 'reemit_on_reconnect', same_id: true },
        { kind: 'reemit_result_item' },
        { kind: 'refuse_when_settled', of: 'other' },
        { kind: 'cancel_lag', ms: 400 },
      ),
    });
    assertSame(trip);
    const ids = ['Q1', 'Q3', 'Q5', 'Q6', 'Q7', 'Q13', 'Q14', 'Q17', 'Q18', 'Q19', 'S7', 'S10', 'H1', 'H2'];
    assert.deepEqual(words(trip.first, ids), {
      Q1: { same_message: 'second_turn', same_result: 'taken' },
      Q3: { items: 'shown', status: 'shown', event_id: 'same' },
      Q5: { two_results: 'taken', order: 'kept', refused_second: 'nothing_stays' },
      Q6: { first_turn: 'next_turn', later_turn: 'next_turn' },
      Q7: { status: '429', error: 'rate_limit_error/slow_down', retry_after: 'given' },
      Q13: { over_4_mib: 'refused 400', kib_256: 'refused 400' },
      Q14: { call: 'runs_on', late_result: 'refused 409' },
      Q17: {
        no_key: '403',
        no_key_error: 'forbidden/forbidden',
        wrong_key: '403',
        wrong_key_error: 'forbidden/forbidden',
        no_beta: 'taken',
      },
      Q18: { first_event: 'missed' },
      Q19: { on_stream: 'again', saved: 'once' },
      S7: { other_body: 'applied' },
      S10: { streams: '12' },
      H1: { by_metadata: 'at_once', newest: 'later' },
      H2: { busy: 'refused 409', read_after: '404', stream: 'ends', again: 'refused 404' },
    });
    assert.deepEqual(trip.first.report.broken, ['Q1', 'Q13']);
  });

  it('a server that answers with pages of HTML, and takes no message during a turn, asked for that only', async () => {
    const page = '<html>not here</html>';
    const missing = { method: 'GET', path: '/agents/sessions/sess_holdfast_probe_no_such_session' };
    const trip = await roundTrip(
      {
        faults: always(
          { kind: 'status', status: 404, body: page, match: missing },
          { kind: 'steering_refused' },
        ),
      },
      ['S14', 'Q6'],
    );
    assertSame(trip);
    assert.deepEqual(words(trip.first, ['S14', 'Q6']), {
      S14: { status: '404', code: 'none', type: 'none' },
      Q6: { first_turn: 'refused 409', later_turn: 'refused 409' },
    });
  });
});
