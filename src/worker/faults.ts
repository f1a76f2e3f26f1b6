/**
 * Arms fault points in this process, for crash tests: `HOLDFAST_FAULT=tool.after_effect` kills the process with
 * SIGKILL when it passes that point; `tool.after_effect#2` the second time; `tool.before_fence=stop` stops it with
 * SIGSTOP, to go on after a SIGCONT; several are separated by commas.
 */
import { writeSync } from 'node:fs';

import type { InjectedSinks } from '@temporalio/worker';

import type { FaultSinks } from '../../workflows/fault-points.ts';
import { FAULT_POINTS, faultPoint, onFaultPoint, type FaultPoint } from '../faults/fault-point.ts';
import { ConfigError } from './config.ts';

interface Armed {
  left: number;
  signal: 'SIGKILL' | 'SIGSTOP';
}

/** Throws ConfigError for a point that does not exist: a crash test that never crashes proves nothing. */
export function armFaults(spec: string): void {
  const armed = new Map(spec.split(',').map(parse));
  onFaultPoint((point) => {
    const fault = armed.get(point);
    if (!fault || --fault.left !== 0) return;
    const what = fault.signal === 'SIGKILL' ? 'killing' : 'stopping';
    writeSync(2, `fault point ${point}: ${what} this process\n`);
    process.kill(process.pid, fault.signal);
    // The signal is delivered asynchronously: nothing after the point may run before it.
    const never = new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(never, 0, 0, fault.signal === 'SIGKILL' ? undefined : 100);
  });
}

function parse(entry: string): [FaultPoint, Armed] {
  const [, name, count = '1', action = 'kill'] = /^([\w.]+)(?:#(\d+))?(?:=(\w+))?$/.exec(entry.trim()) ?? [];
  const point = FAULT_POINTS.find((known) => known === name);
  if (!point || Number(count) === 0 || (action !== 'kill' && action !== 'stop')) {
    throw new ConfigError(
      `HOLDFAST_FAULT: expected POINT, POINT#N or POINT=stop, got "${entry}"; points: ${FAULT_POINTS.join(', ')}`,
    );
  }
  return [point, { left: Number(count), signal: action === 'kill' ? 'SIGKILL' : 'SIGSTOP' }];
}

/** What a worker needs beside that to watch the points in workflow code. Its bundle must have their module. */
export function faultSinks(): InjectedSinks<FaultSinks> {
  return { holdfastFaults: { passed: { fn: (_info, point) => faultPoint(point), callDuringReplay: false } } };
}
