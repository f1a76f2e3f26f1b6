/** Whatever a script does and wherever it is cut short: what the stream told is what the reads show. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Step } from '../../src/emulator/index.ts';
import {
  cancel,
  dig,
  emulate,
  failure,
  message,
  result,
  script,
  waitFor,
  type Bench,
  type Json,
  LIMIT,
} from './support.ts';

const text = fc.string({ maxLength: 30 });
const calls = fc.array(fc.record({ name: fc.constantFrom('a', 'b'), arguments: fc.jsonValue() }), {
  minLength: 1,
  maxLength: 3,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ say: text }),
  fc.record({ reason: text }),
  fc.record({ call: calls, appear: fc.constantFrom('together', 'one_by_one'), gap_ms: fc.constant(1) }),
  fc.record({ subagent: fc.record({ name: fc.constant('kid'), say: text, work_ms: fc.constant(1) }) }),
  fc.record({ item: fc.record({ type: fc.constant('oddity'), value: fc.jsonValue() }) }),
  fc.constant<Step>({ wait_ms: 1 }),
  fc.constant<Step>({ fail: { code: 'server_error', message: 'x' } }),
);

/** Answers whatever is pending until the session is idle. */
async function serve(bench: Bench, id: string): Promise<void> {
  await waitFor('the end of the turn', async () => {
    const session = await bench.session(id);
    for (const action of session['required_actions'] as { turn_id: string; call_id: string }[]) {
      const answer = action.call_id.charCodeAt(6) % 2 === 0 ? result(action, 'ok') : failure(action, 'no');
      await bench.post(id, answer);
    }
    return session['status'] === 'idle' ? true : undefined;
  });
}

describe('the stream and the reads', LIMIT, () => {
  it('agree on every item and on the turn', async (t) => {
    const bench = await emulate(t, { deltaMs: 0, stepMs: 0 });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 5 }), fc.option(fc.nat(25)), async (steps, cancelAt) => {
        const id = await bench.startIdle();
        const before = (await bench.items(id)).length;
        const stream = await bench.open(id);
        await bench.post(id, message(script(steps)));
        if (cancelAt !== null) {
          await waitFor('the moment to cancel', async () =>
            stream.events.length >= cancelAt ||
            stream.types.some((type) => type === 'idle' || type === 'requires_action')
              ? true
              : undefined,
          );
          await bench.post(id, cancel);
        }
        await serve(bench, id);
        await stream.until('idle');
        const told = new Map<unknown, Json>();
        for (const event of stream.events) {
          const item = event['item'] as Json | undefined;
          if (item !== undefined) told.set(item['id'], item);
        }
        const saved = (await bench.items(id)).slice(before);
        assert.deepEqual([...told.values()], saved);
        assert.ok(saved.every((item) => item['status'] !== 'in_progress'));
        const ends = stream.events.filter((event) => /turn\.(completed|failed|cancelled)$/.test(event.type));
        assert.equal(ends.length, 1);
        const [turn] = await bench.list(`/agents/sessions/${id}/turns?limit=1`);
        assert.equal(dig(ends[0], 'turn', 'status'), turn?.['status']);
        const ids = stream.events.map((event) => event['event_id']);
        assert.equal(new Set(ids).size, ids.length);
        await stream.cancel();
      }),
      { numRuns: 40 },
    );
    assert.equal(bench.emulator.counters().totals.violations, 0);
  });
});
