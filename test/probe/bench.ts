/** What the tests of the probe share: an emulator of their own, probed over real HTTP. */
import {
  startEmulator,
  type Counters,
  type EmulatorOptions,
  type FaultSpec,
} from '../../src/emulator/index.ts';
import {
  probe,
  type Finding,
  type Limits,
  type ProbeOptions,
  type ProbeReport,
} from '../../src/probe/index.ts';

/** Of each test: a broken probe must fail a test, not hang it. */
export const LIMIT = { timeout: 120_000 };
/** Short, as nothing here is farther away than this process. */
export const LIMITS = { quietMs: 800, readMs: 5000, modelMs: 20_000, listenMs: 1, clearMs: 20_000 };
export const KEY = 'probe-test-key';

export interface Probed {
  report: ProbeReport;
  counters: Counters;
}

/** Probes an emulator with these options; `ask` changes what is asked. */
export async function probed(
  emulator: EmulatorOptions,
  ask: Omit<Partial<ProbeOptions>, 'limits'> & { limits?: Partial<Limits> } = {},
): Promise<Probed> {
  const running = await startEmulator({ deltaMs: 1, stepMs: 1, ...emulator });
  try {
    const report = await probe({
      baseUrl: running.url,
      apiKey: KEY,
      model: 'scripted',
      only: null,
      budgetCents: 25,
      ...ask,
      limits: { ...LIMITS, ...ask.limits },
    });
    return { report, counters: running.counters() };
  } finally {
    await running.close();
  }
}

/** Faults that strike every time. */
export function always(...faults: FaultSpec[]): FaultSpec[] {
  return faults.map((fault) => ({ ...fault, times: 0 }));
}

export function finding({ report }: Pick<Probed, 'report'>, id: string): Finding {
  const found = report.findings.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no finding ${id}`);
  return found;
}
