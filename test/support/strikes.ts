import assert from 'node:assert/strict';

import type { Emulator } from '../../src/emulator/index.ts';

/**
 * Every fault that is armed has struck: a test whose fault never strikes proves nothing.
 * @param sessionId only the faults of this session, and there has to be one.
 */
export function assertStruck(emulator: Pick<Emulator, 'faults'>, sessionId?: string): void {
  const faults = emulator
    .faults()
    .filter(({ spec }) => sessionId === undefined || spec.session_id === sessionId);
  assert.ok(sessionId === undefined || faults.length > 0, 'there is a fault');
  for (const { spec, struck } of faults) assert.ok(struck > 0, `it never struck: ${JSON.stringify(spec)}`);
}
