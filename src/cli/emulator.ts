import { loadScripts, startEmulator } from '../emulator/index.ts';
import type { AgentScript, EmulatorOptions } from '../emulator/index.ts';
import { emulatorOptions, loadProfile, ProfileError, type Profile } from '../probe/profile.ts';
import { print, say, UsageError } from './output.ts';

interface EmulatorCommand {
  port: number;
  host: string;
  data?: string;
  script?: string[];
  profile?: string;
}

/** `holdfast emulator`: serves until SIGINT or SIGTERM, then stops in good order. */
export async function emulator(options: EmulatorCommand): Promise<void> {
  const files = options.script ?? [];
  const scripts: AgentScript[] = [];
  for (const file of files) scripts.push(...(await loadScripts(file)));
  const profile = options.profile === undefined ? null : await profileIn(options.profile);
  const running = await startEmulator({
    port: options.port,
    // Checked there: anything but loopback is refused.
    host: options.host as NonNullable<EmulatorOptions['host']>,
    scripts,
    log: say,
    ...(options.data === undefined ? {} : { dataDir: options.data }),
    ...(profile === null ? {} : emulatorOptions(profile, process.env['OPENAI_API_KEY'])),
  }).catch((error: unknown) => {
    throw explained(error, options);
  });
  if (profile !== null) tellProfile(profile);
  print(`Local Agents API at ${running.url}: use OPENAI_BASE_URL=${running.url} OPENAI_API_KEY=local`);
  await stopSignal();
  await running.close();
}

async function profileIn(file: string): Promise<Profile> {
  try {
    return await loadProfile(file);
  } catch (error) {
    throw error instanceof ProfileError ? new UsageError(`--profile: ${error.message}`) : error;
  }
}

function tellProfile({
  base_url_host: host,
  probed_at: at,
  emulator: { check_key, cannot_play },
}: Profile): void {
  say(`holdfast: answers like ${host} at ${at}`);
  for (const answer of cannot_play) say(`holdfast: except this, which it cannot play: ${answer}`);
  const unchecked = check_key && (process.env['OPENAI_API_KEY'] ?? '') === '';
  if (unchecked) say('holdfast: takes any key; set OPENAI_API_KEY to have it take that one only');
}

function explained(error: unknown, { host, port }: EmulatorCommand): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return new Error(`port ${port} on ${host} is in use: give another one with --port`);
  if (code === 'EACCES')
    return new Error(`port ${port} on ${host} may not be used: give another one with --port`);
  return error;
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
async function stopSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = () => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve();
    };
    process.on('SIGINT', stop).on('SIGTERM', stop);
  });
}
