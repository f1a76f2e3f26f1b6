import assert from 'node:assert/strict';

import type { Emulator, FaultStatus } from '../../src/emulator/index.ts';

/** How the faults stand that are armed now, in the order in which they were added; those of one session, or all. */
export async function faultsOf(
  { origin }: Pick<Emulator, 'origin'>,
  sessionId?: string,
): Promise<FaultStatus[]> {
  const answer = await fetch(`${origin}/__emulator/faults`);
  const { data } = (await answer.json()) as { data: FaultStatus[] };
  return data.filter(({ spec }) => sessionId === undefined || spec.session_id === sessionId);
}

/** Every armed fault has struck: a test whose fault never strikes proves nothing. With an id, those of that session. */
export async function assertStruck(emulator: Pick<Emulator, 'origin'>, sessionId?: string): Promise<void> {
  const faults = await faultsOf(emulator, sessionId);
  assert.ok(faults.length > 0, 'there is a fault');
  for (const { spec, struck } of faults) assert.ok(struck > 0, `it never struck: ${JSON.stringify(spec)}`);
}
