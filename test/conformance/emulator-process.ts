/** An emulator in a process of its own, for the tests that kill it: prints its origin, then serves. */
import { startEmulator, type EmulatorOptions } from '../../src/emulator/index.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as EmulatorOptions;
const emulator = await startEmulator({
  ...options,
  scripts: [
    {
      name: 'counting',
      match: { model: 'counting' },
      next: (view) => {
        if (view.results.length < 3) return { call: { name: `step_${view.results.length + 1}` } };
        const heard = view.results.map((one) => one.output).join('+');
        return view.step === 3 ? { say: `${heard} after ${view.messages.join(',') || 'no message'}` } : null;
      },
    },
  ],
});
process.stdout.write(`${emulator.origin}\n`);
