/** What the proofs of the faults share. */
import assert from 'node:assert/strict';
import type { FaultSpec, Step } from '../../src/emulator/index.ts';
import { message, script, type Bench, type RawStream } from './support.ts';

export type Proof = (bench: Bench) => Promise<void>;
export const CREATE = { method: 'POST', path: '/agents/sessions' };
export const BODY = { environment: { type: 'none' }, agent: { model: 'm' }, input: script([{ say: 'hi' }]) };

/** Plays a turn in a fresh idle session; answers its stream when the turn is over. */
export async function play(
  bench: Bench,
  steps: Step[],
  ...faults: FaultSpec[]
): Promise<{ id: string; stream: RawStream }> {
  const id = await bench.startIdle();
  bench.emulator.addFaults(...faults);
  const stream = await bench.open(id);
  await bench.post(id, message(script(steps)));
  await bench.status(id, 'idle');
  return { id, stream };
}

export const types = (items: { [key: string]: unknown }[]) => items.map((item) => item['type']);

/** A session with one pending call. */
export async function called(bench: Bench, ...faults: FaultSpec[]) {
  bench.emulator.addFaults(...faults);
  const id = await bench.start([
    { call: { name: 'look', call_id: 'c1', arguments: { a: 1 } } },
    { say: '{{look}}' },
  ]);
  const [call] = await bench.pending(id);
  assert.ok(call);
  return { id, call };
}
