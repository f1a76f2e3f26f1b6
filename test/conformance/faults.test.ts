/** Every fault does what its name says. There is one proof per kind; the compiler sees to it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FaultKind } from '../../src/emulator/index.ts';
import type { Proof } from './fault-bench.ts';
import { requestProofs } from './fault-requests.ts';
import { streamProofs } from './fault-streams.ts';
import { parameterProofs, variantProofs } from './fault-variants.ts';
import { emulate, errorOf, LIMIT } from './support.ts';

const PROOFS: Record<FaultKind, Proof> = { ...requestProofs, ...streamProofs, ...variantProofs };

describe('each fault', LIMIT, () => {
  for (const [kind, proof] of Object.entries({ ...PROOFS, ...parameterProofs })) {
    it(kind, async (t) => proof(await emulate(t)));
  }
});

describe('the switchboard', LIMIT, () => {
  it('counts strikes, lets the first ones pass, and keeps to one session', async (t) => {
    const bench = await emulate(t);
    const [one, two] = [await bench.startIdle(), await bench.startIdle()];
    bench.emulator.addFaults({ kind: 'status', status: 500, session_id: one, after: 1, times: 2 });
    const statuses: number[] = [];
    for (const id of [one, two, one, one, one]) {
      statuses.push((await bench.raw('GET', `/agents/sessions/${id}`)).status);
    }
    assert.deepEqual(statuses, [200, 200, 500, 500, 200]);
  });

  it('draws the same luck from the same seed', async (t) => {
    const rolls = async (seed: number): Promise<string> => {
      const bench = await emulate(t, {
        faults: [{ kind: 'status', status: 500, times: 0, probability: 0.5, seed }],
      });
      let line = '';
      for (let roll = 0; roll < 24; roll += 1) {
        line += (await bench.raw('GET', '/agents/sessions')).status === 500 ? 'x' : '.';
      }
      return line;
    };
    const [a, b, c] = [await rolls(7), await rolls(7), await rolls(8)];
    assert.equal(a, b);
    assert.notEqual(a, c);
    assert.match(a, /x/);
    assert.match(a, /\./);
  });

  it('is reached over the control path, and says what is wrong', async (t) => {
    const bench = await emulate(t);
    const added = await bench.control('POST', 'faults', [
      { kind: 'status', status: 418 },
      { kind: 'lost_reply', times: 0 },
    ]);
    assert.equal(added.status, 201);
    assert.equal((await bench.raw('GET', '/agents/sessions').catch(() => undefined))?.status, undefined);
    const { data } = (await bench.control('GET', 'faults')).body as {
      data: { id: string; struck: number; left: unknown }[];
    };
    assert.deepEqual(
      data.map((fault) => [fault.struck, fault.left]),
      [
        [1, 0],
        [1, null],
      ],
    );
    await bench.control('DELETE', `faults?id=${String(data[1]?.id)}`);
    assert.equal((await bench.raw('GET', '/agents/sessions')).status, 200);
    assert.deepEqual((await bench.control('DELETE', 'faults')).body, { removed: 1 });
    const bad: [unknown, RegExp][] = [
      [{ kind: 'earthquake' }, /unknown fault kind 'earthquake'; known: .*lost_reply/],
      [{ kind: 'delay' }, /fault 'delay' needs 'ms'/],
      [{ kind: 'delay', ms: 'long' }, /bad value for 'ms'/],
      [{ kind: 'delay', ms: 1, speed: 2 }, /no parameter 'speed'/],
      [{ kind: 'cut_stream', mode: 'gently' }, /bad value for 'mode'/],
      [{ kind: 'early_result', match: { path: '/x' } }, /cannot match on 'path'; it can on tool, call_id/],
      [{ kind: 'lost_reply', probability: 2 }, /bad value for 'probability'/],
      ['lost_reply', /must be a JSON object/],
    ];
    for (const [spec, words] of bad) {
      const refused = await bench.control('POST', 'faults', [{ kind: 'lost_reply' }, spec]);
      assert.equal(refused.status, 400);
      assert.match(String(errorOf(refused)['message']), words);
    }
    assert.deepEqual((await bench.control('GET', 'faults')).body, { data: [] });
  });
});
