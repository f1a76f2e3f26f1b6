/**
 * A profile: what a server was seen to answer, and how the emulator plays it. A file of JSON that people may read and
 * change; `docs/probe.md` describes it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { checkFault, type EmulatorOptions, type FaultSpec, type Settings } from '../emulator/index.ts';
import { emulatorFor, type EmulatorPart } from './emulate.ts';
import type { Measured, Values } from './question.ts';
import type { ProbeReport } from './report.ts';

const VERSION = 1;

export interface Profile {
  holdfast_profile: typeof VERSION;
  base_url_host: string;
  model: string;
  /** ISO 8601. */
  probed_at: string;
  /** By the id of the question; what was not asked is not there. */
  answers: Record<string, { verdict: 'holds' | 'differs'; seen: string; values: Values; measured: Measured }>;
  emulator: EmulatorPart;
}

/** The file is no profile; the message names the file and the field. */
export class ProfileError extends Error {
  override readonly name = 'ProfileError';
}

const count = z.number('expected a number').int('expected a whole number').min(0, 'expected 0 or more');
const settings = z
  .strictObject({
    deltaMs: count,
    stepMs: count,
    usageDelayMs: count,
    pingMs: count.min(1, 'expected 1 or more'),
    maxListeners: count.min(1, 'expected 1 or more'),
    firstTurnSteering: z.boolean('expected true or false'),
    maxResultBytes: count,
  } satisfies Record<keyof Settings, z.ZodType>)
  .partial();

const fault = z.unknown().transform((value, context): FaultSpec => {
  try {
    return checkFault(value);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

const schema = z.object({
  holdfast_profile: z.literal(VERSION, `expected ${VERSION}, the version that this Holdfast reads`),
  base_url_host: z.string('expected a text'),
  model: z.string('expected a text'),
  probed_at: z.string('expected a text'),
  answers: z.record(
    z.string(),
    z.object({
      verdict: z.enum(['holds', 'differs'], 'expected holds or differs'),
      seen: z.string('expected a text'),
      values: z.record(z.string(), z.string('expected a text')),
      measured: z.record(z.string(), z.number('expected a number')),
    }),
  ),
  emulator: z.strictObject({
    settings,
    faults: z.array(fault, 'expected a list'),
    check_key: z.boolean('expected true or false'),
    cannot_play: z.array(z.string('expected a text'), 'expected a list'),
  }),
});

/** The profile of a probed server. */
export function profileOf(report: ProbeReport): Profile {
  const answers: Profile['answers'] = {};
  for (const { id, verdict, seen, values, measured } of report.findings) {
    if (verdict === 'not_asked') continue;
    answers[id] = { verdict, seen: seen ?? '', values, measured };
  }
  return {
    holdfast_profile: VERSION,
    base_url_host: report.base_url_host,
    model: report.model,
    probed_at: report.started_at,
    answers,
    emulator: emulatorFor(answers),
  };
}

export async function saveProfile(file: string, profile: Profile): Promise<void> {
  try {
    await writeFile(file, `${JSON.stringify(profile, null, 2)}\n`);
  } catch (error) {
    throw new ProfileError(`${file}: cannot be written (${codeOf(error)})`);
  }
}

/** Throws ProfileError. */
export async function loadProfile(file: string): Promise<Profile> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new ProfileError(`${file}: cannot be read (${codeOf(error)})`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProfileError(`${file}: is no JSON (${(error as Error).message})`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data as Profile;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String).join('.');
  throw new ProfileError(
    `${file}: ${path === '' ? 'is no profile' : path}: ${issue?.message ?? 'is not valid'}`,
  );
}

/**
 * What starts an emulator that answers like the profile's server. `apiKey` is the key to take where that server
 * checks keys; without it any key is taken.
 */
export function emulatorOptions({ emulator }: Profile, apiKey?: string): EmulatorOptions {
  return {
    ...emulator.settings,
    faults: emulator.faults,
    ...(emulator.check_key && apiKey !== undefined && apiKey !== '' ? { apiKey } : {}),
  };
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? error);
}
