/**
 * Arms fault points in this process, for crash tests: `HOLDFAST_FAULT=tool.after_effect` kills the process with
 * SIGKILL when it passes that point; `tool.after_effect#2` the second time; several are separated by commas.
 */
import { writeSync } from 'node:fs';

import { FAULT_POINTS, onFaultPoint, type FaultPoint } from '../faults/fault-point.ts';
import { ConfigError } from './config.ts';

/** Throws ConfigError for a point that does not exist: a crash test that never crashes proves nothing. */
export function armFaults(spec: string): void {
  const armed = new Map<FaultPoint, number>();
  for (const entry of spec.split(',')) {
    const [name, count = '1'] = entry.trim().split('#');
    const point = FAULT_POINTS.find((known) => known === name);
    if (!point || !/^[1-9]\d*$/.test(count)) {
      throw new ConfigError(
        `HOLDFAST_FAULT: expected POINT or POINT#N, got "${entry}"; points: ${FAULT_POINTS.join(', ')}`,
      );
    }
    armed.set(point, Number(count));
  }
  onFaultPoint((point) => {
    const left = armed.get(point);
    if (left === undefined) return;
    armed.set(point, left - 1);
    if (left > 1) return;
    writeSync(2, `fault point ${point}: killing this process\n`);
    process.kill(process.pid, 'SIGKILL');
    // The signal is delivered asynchronously: nothing after the point may run.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
}
