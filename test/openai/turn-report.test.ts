/** The report of an ended turn: bounded in size and in waiting, from saved items alone (I7, I10; agents-api.md 7). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readEndedTurn, shownError } from '../../src/openai/turn-report.ts';
import { Bench, never } from './bench.ts';

const ITEMS = { method: 'GET', path: '*/turns/{turn_id}/items' };

describe('readEndedTurn', { concurrency: true }, () => {
  it('waits a little for usage that comes late, and takes none for unknown', async (t) => {
    const late = await Bench.start(t, { usageDelayMs: 100 });
    const ended = await late.idle();
    const { report } = await readEndedTurn(late.api, ended.id, ended.turn, never);
    assert.notEqual(report.usage, null);
    const none = await Bench.start(t, { usageDelayMs: 600_000 });
    const other = await none.idle();
    assert.equal((await readEndedTurn(none.api, other.id, other.turn, never)).report.usage, null);
  });

  it('waits a little for an answer whose items are not listed yet', async (t) => {
    const bench = await Bench.start(t);
    const { id, turn } = await bench.idle();
    bench.emulator.addFaults({ kind: 'patch_answer', patch: { data: [] }, match: ITEMS });
    const { report, userTexts } = await readEndedTurn(bench.api, id, turn, never);
    assert.equal(report.output_text, 'ready');
    assert.equal(userTexts.length, 1);
  });

  it('cuts an answer that history could not hold', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ say: 'ü'.repeat(400_000), delta_ms: 0 }]);
    await bench.status(id, 'idle');
    const [turn] = await bench.api.newestTurns(id, 1);
    const { report } = await readEndedTurn(bench.api, id, turn ?? assert.fail('no turn'), never);
    assert.match(report.output_text, /^ü+\n\[cut: \d+ of 800000 bytes left out\]$/);
    const bytes = Buffer.byteLength(report.output_text);
    assert.equal(Math.ceil(bytes / 1024), 512);
  });

  it('cuts an answer further that takes much more room as JSON', async (t) => {
    const bench = await Bench.start(t);
    const { id } = await bench.session([{ say: '\u0001'.repeat(500_000), delta_ms: 0 }]);
    await bench.status(id, 'idle');
    const [turn] = await bench.api.newestTurns(id, 1);
    const { report } = await readEndedTurn(bench.api, id, turn ?? assert.fail('no turn'), never);
    const bytes = Buffer.byteLength(JSON.stringify(report.output_text));
    assert.ok(bytes > 900 * 1024 && bytes <= 1024 * 1024 + 2, `${bytes} bytes`);
  });

  it('reads the items once, however long usage is missing', async (t) => {
    const bench = await Bench.start(t, { usageDelayMs: 600_000 });
    const { id, turn } = await bench.idle();
    await readEndedTurn(bench.api, id, turn, never);
    const { requests } = bench.emulator.counters();
    const reads = (what: string): number =>
      requests[`GET /agents/sessions/{session_id}/turns/{turn_id}${what}`] ?? 0;
    assert.deepEqual([reads('/items'), reads('')], [1, 3]);
  });

  it('ends with its signal', async (t) => {
    const bench = await Bench.start(t, { usageDelayMs: 600_000 });
    const { id, turn } = await bench.idle();
    const abort = new AbortController();
    const reading = readEndedTurn(bench.api, id, turn, abort.signal);
    abort.abort(new Error('stop'));
    await assert.rejects(reading, /^Error: stop$/);
  });
});

it('shownError is short, and shows no key', () => {
  assert.deepEqual(shownError('server_error', 'It broke.'), { code: 'server_error', message: 'It broke.' });
  const { code, message } = shownError('x'.repeat(1000), `sk-abcdefgh ${'y'.repeat(100_000)}`);
  assert.equal(Array.from(code ?? '').length, 100);
  assert.match(message, /^\[redacted\] y+\n\[cut: /);
  assert.ok(Buffer.byteLength(message) <= 2000, 'I10');
  assert.equal(shownError(null, '').code, null);
});
