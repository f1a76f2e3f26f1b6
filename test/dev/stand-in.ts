/**
 * Stands in for the `holdfast` command and for the demo in the sandbox of `temporal-dev.sh` tests, so that what is
 * tested is the script. STAND_IN says what a part does wrong: "worker:dies", "worker:stays" (ignores SIGTERM),
 * "demo:fails".
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { Connection } from '@temporalio/client';

const [part = 'demo', ...options] = process.argv.slice(2);
const fault = process.env['STAND_IN'] ?? '';

/** A process of the worker's own, as a tool may start one. */
function startHelper(): void {
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
}

async function poll(): Promise<never> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  for (;;) {
    await connection.withDeadline(Date.now() + 60_000, () =>
      connection.workflowService.pollWorkflowTaskQueue({
        namespace: 'default',
        taskQueue: { name: 'holdfast' },
        identity: `${process.pid}@${hostname()}`,
      }),
    );
  }
}

if (fault === `${part}:stays`) process.on('SIGTERM', () => {});
if (fault === `${part}:dies`) {
  process.stdout.write(`the ${part} cannot go on\n`);
  process.exit(3);
}
if (part === 'emulator') {
  const port = Number(options[options.indexOf('--port') + 1]);
  createServer((_, response) => response.end('{}')).listen(port, '127.0.0.1');
} else if (part === 'worker') {
  startHelper();
  await poll();
} else {
  process.stdout.write(`${JSON.stringify(process.env)}\n`);
  process.exit(fault === 'demo:fails' ? 7 : 0);
}
