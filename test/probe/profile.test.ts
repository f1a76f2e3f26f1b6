/** Profiles: what is written is read again, what is wrong is named, and what cannot be played is said. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { emulatorFor } from '../../src/probe/emulate.ts';
import { emulatorOptions, loadProfile, ProfileError, saveProfile } from '../../src/probe/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-profile-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'profile.json');

const VALID = {
  holdfast_profile: 1,
  base_url_host: 'agents.example',
  model: 'm',
  probed_at: '2026-01-15T09:30:00.000Z',
  answers: { S1: { verdict: 'differs', seen: 'create: 200', values: { create: '200' }, measured: {} } },
  emulator: {
    settings: { usageDelayMs: 20, firstTurnSteering: true },
    faults: [{ kind: 'success_status', status: 200, times: 0 }],
    check_key: false,
    cannot_play: [],
  },
};

/** The message with which a file of this content is refused. */
async function refusal(content: unknown): Promise<string> {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  try {
    await loadProfile(file);
  } catch (error) {
    assert.ok(error instanceof ProfileError);
    return error.message.replace(`${file}: `, '');
  }
  throw new Error('it was taken');
}

function changed(emulator: Record<string, unknown>): unknown {
  return { ...VALID, emulator: { ...VALID.emulator, ...emulator } };
}

describe('a profile', () => {
  it('is read as it was written', async () => {
    writeFileSync(file, JSON.stringify(VALID));
    const profile = await loadProfile(file);
    assert.deepEqual(profile, VALID);
    await saveProfile(file, profile);
    assert.deepEqual(await loadProfile(file), VALID);
  });

  it('may hold notes of its reader', async () => {
    writeFileSync(file, JSON.stringify({ ...VALID, note: 'from the test account' }));
    assert.equal((await loadProfile(file)).base_url_host, 'agents.example');
  });

  it('that is wrong is refused with the field that is', async () => {
    const rows: [unknown, RegExp][] = [
      ['{"holdfast_profile":', /^is no JSON/],
      ['[]', /^is no profile: /],
      [{ ...VALID, holdfast_profile: 2 }, /^holdfast_profile: expected 1, the version/],
      [{ ...VALID, base_url_host: undefined }, /^base_url_host: expected a text$/],
      [{ ...VALID, answers: { S1: { ...VALID.answers.S1, verdict: 'maybe' } } }, /^answers\.S1\.verdict: /],
      [
        { ...VALID, answers: { S1: { ...VALID.answers.S1, values: { create: 200 } } } },
        /^answers\.S1\.values/,
      ],
      [changed({ settings: { usageDelay: 20 } }), /^emulator\.settings: .*usageDelay/],
      [changed({ settings: { pingMs: 0 } }), /^emulator\.settings\.pingMs: expected 1 or more$/],
      [changed({ settings: { firstTurnSteering: 'yes' } }), /^emulator\.settings\.firstTurnSteering: /],
      [
        changed({ faults: [{ kind: 'earthquake' }] }),
        /^emulator\.faults\.0: unknown fault kind 'earthquake'/,
      ],
      [
        changed({ faults: [{ kind: 'session_lag' }] }),
        /^emulator\.faults\.0: fault 'session_lag' needs 'ms'$/,
      ],
      [changed({ faults: {} }), /^emulator\.faults: expected a list$/],
      [changed({ check_key: 1 }), /^emulator\.check_key: expected true or false$/],
      [changed({ settigns: {} }), /^emulator: .*settigns/],
    ];
    for (const [content, words] of rows) assert.match(await refusal(content), words);
  });

  it('that cannot be read or written is named', async () => {
    await assert.rejects(loadProfile(join(folder, 'none.json')), /none\.json: cannot be read \(ENOENT\)$/);
    writeFileSync(file, JSON.stringify(VALID));
    const profile = await loadProfile(file);
    await assert.rejects(
      saveProfile(join(folder, 'no', 'dir.json'), profile),
      /cannot be written \(ENOENT\)$/,
    );
  });

  it('has the emulator check the key only where the server does, and only a given one', async () => {
    writeFileSync(file, JSON.stringify(changed({ check_key: true })));
    const checking = await loadProfile(file);
    assert.equal(emulatorOptions(checking, 'k').apiKey, 'k');
    assert.equal(emulatorOptions(checking, '').apiKey, undefined);
    assert.equal(emulatorOptions(checking).apiKey, undefined);
    writeFileSync(file, JSON.stringify(VALID));
    assert.equal(emulatorOptions(await loadProfile(file), 'k').apiKey, undefined);
  });
});

describe('an answer', () => {
  const play = (id: string, values: Record<string, string>, measured: Record<string, number> = {}) =>
    emulatorFor({ [id]: { values, measured } });

  it('that the emulator gives by itself needs no switch', () => {
    const part = play('S6', { repeat: 'taken', repeat_after_end: 'taken', other_result: 'refused 409' });
    assert.deepEqual(part, { settings: {}, faults: [], check_key: false, cannot_play: [] });
  });

  it('that no switch plays is listed', () => {
    const rows: [string, Record<string, string>, string][] = [
      ['Q1', { same_message: 'refused 409' }, 'Q1.same_message: refused 409'],
      ['Q1', { same_result: 'refused 409' }, 'Q1.same_result: refused 409'],
      ['Q2', { missing: 'something' }, 'Q2.missing: something'],
      ['Q5', { two_results: 'refused 400' }, 'Q5.two_results: refused 400'],
      ['Q5', { order: 'changed' }, 'Q5.order: changed'],
      ['Q10', { keep_alive: 'events' }, 'Q10.keep_alive: events'],
      ['Q6', { first_turn: 'joins', later_turn: 'next_turn' }, 'Q6.first_turn: joins'],
      ['Q13', { over_4_mib: 'refused 413', kib_256: 'taken' }, 'Q13.over_4_mib: refused 413'],
      ['Q19', { on_stream: 'once', saved: 'again' }, 'Q19.saved: again'],
      ['S1', { create: '201', events: '202', result: '200' }, 'S1.result: 200'],
      ['S2', { appear: 'together', after_one_answer: 'in_progress' }, 'S2.after_one_answer: in_progress'],
      ['S3', { refused: '400 busy', retry: 'none' }, 'S3.refused: 400 busy, none'],
      ['S6', { repeat: 'taken', repeat_after_end: 'refused 409' }, 'S6.repeat_after_end: refused 409'],
      ['S13', { items_limit: 'refused 422', items_key: 'ignored' }, 'S13.items_limit: refused 422'],
      ['S14', { status: '200', code: 'none', type: 'none' }, 'S14.status: 200'],
      ['H1', { by_metadata: 'not_filtered' }, 'H1.by_metadata: not_filtered'],
      ['H2', { busy: 'taken' }, 'H2.busy: taken'],
      ['H3', { turn: 'completed', idle: 'taken' }, 'H3.turn: completed'],
      ['H4', { unknown_call: 'refused 404' }, 'H4.unknown_call: refused 404'],
      ['H5', { in_event: 'numbers', read: 'shown' }, 'H5.in_event: numbers'],
    ];
    for (const [id, values, line] of rows) assert.deepEqual(play(id, values).cannot_play, [line], id);
  });

  it('that was measured is played with its numbers', () => {
    const late = { session_after_call: 'late', session_after_end: 'late', turn_after_end: 'fresh' };
    const ms = { session_after_call_ms: 300, session_after_end_ms: 450, turn_after_end_ms: 0 };
    assert.deepEqual(play('Q4', late, ms).faults, [{ kind: 'session_lag', ms: 450, times: 0 }]);
    assert.deepEqual(play('Q10', { keep_alive: 'comments' }, { interval_ms: 9000 }).settings, {
      pingMs: 9000,
    });
    assert.deepEqual(play('S10', { streams: 'more' }).settings, { maxListeners: 10_000 });
    assert.deepEqual(play('H3', { turn: 'cancelled', idle: 'taken' }, { cancel_ms: 4000 }).faults, [
      { kind: 'cancel_lag', ms: 4000, times: 0 },
    ]);
  });
});
