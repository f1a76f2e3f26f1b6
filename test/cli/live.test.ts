/** The command alone, from nothing to the answer: `holdfast emulator`, `holdfast worker`, `holdfast start --wait`. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { RunRecord, TaskOverview } from '../../src/client/index.ts';
import { unique } from '../client/temporal.ts';
import { finished, holdfast, launch, line } from './command.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const AGENTS = path('agents.ts');
const SCRIPTS = [path('silent.script.json'), path('../../src/examples/trip-planner.script.ts')];

const queue = unique('command');
let folder: string;
let emulator: ChildProcess;
let worker: ChildProcess;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
  emulator = launch(['emulator', '--port', '0', '--script', ...SCRIPTS]);
  const [, url = ''] = await line(emulator, /at (\S+):/);
  worker = launch(['worker', '--agents', AGENTS, '--task-queue', queue], {
    OPENAI_BASE_URL: url,
    OPENAI_API_KEY: 'local',
    TRIP_PLANNER_DIR: folder,
  });
  await line(worker, /worker started/);
});
after(async () => {
  for (const child of [worker, emulator]) {
    const end = finished(child);
    child.kill('SIGTERM');
    assert.equal((await end).code, 0);
  }
  rmSync(folder, { recursive: true });
});

describe('the command from end to end', () => {
  it('plans a trip', async () => {
    const id = unique('trip');
    const input = 'Lisbon or Porto? Book a room.';
    const args = [
      'start',
      '--agent',
      'trip-planner',
      '--input',
      input,
      '--task-id',
      id,
      '--task-queue',
      queue,
    ];
    const { code, stdout, stderr } = await holdfast([...args, '--wait']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Lisbon it is: .* confirmation \S+\.\n$/);
    assert.ok(!stderr.includes('no worker'), stderr);
    const record = JSON.parse((await holdfast(['result', id, '--json'])).stdout) as RunRecord;
    assert.equal(`${record.output_text}\n`, stdout);
    assert.equal(record.tool_calls_total, 4);
    const { stdout: status } = await holdfast(['status', id]);
    assert.match(status, new RegExp(`^${id}: completed\n`));
    assert.match(status, /\n {4}succeeded +book_room /);
  });

  it('shows a call whose outcome is unknown and takes the answer', async () => {
    const id = unique('silent');
    await holdfast(['start', '--agent', 'silent', '--input', 'go', '--task-id', id, '--task-queue', queue]);
    const deadline = Date.now() + 60_000;
    let overview: TaskOverview;
    do {
      assert.ok(Date.now() < deadline, 'the task never waits for a person');
      overview = JSON.parse((await holdfast(['status', id, '--json'])).stdout) as TaskOverview;
    } while (overview.state !== 'waiting_for_person');
    const { stdout } = await holdfast(['status', id]);
    assert.ok(stdout.includes(`holdfast resolve ${id} call_silent --run-again (or --result …)`), stdout);

    const wrong = await holdfast(['resolve', id, 'call_x', '--run-again']);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^holdfast: task "silent-\w+" refused: .*call_silent\n$/);
    assert.deepEqual(await holdfast(['resolve', id, 'call_silent', '--result-json', '{"tea":"green"}']), {
      code: 0,
      stdout: '',
      stderr: 'Recorded for call call_silent: result\n',
    });
    assert.deepEqual(await holdfast(['result', id]), {
      code: 0,
      stdout: 'It said {"tea":"green"}.\n',
      stderr: '',
    });
  });

  it('books the room once', () => {
    const bookings = readFileSync(join(folder, 'bookings.jsonl'), 'utf8').trim().split('\n');
    assert.equal(bookings.length, 1);
  });
});
