/**
 * The README's command lines, typed into bash letter for letter, against the real server and a real worker: they do
 * what the text around them says (scenario 55).
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { Client } from '@temporalio/client';

import { AgentTasks, type RunRecord } from '../../src/client/index.ts';
import { startEmulator, type Emulator, type Step } from '../../src/emulator/index.ts';
import { finished, type Finished } from '../cli/command.ts';
import { connect, unique } from '../client/temporal.ts';
import { compiled } from '../support/compiled.ts';
import { temporalCli } from '../support/dev-server.ts';
import { eventType } from '../support/history.ts';
import { holdChild } from '../support/leash.ts';
import { WorkerProcess } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const readme = readFileSync(path('../../README.md'), 'utf8');

/** The command lines of the README's blocks, each with what continues it. */
const blocks = readme.split(/^```/m).filter((_part, index) => index % 2 === 1);
const printed = blocks
  .filter((block) => block.startsWith('\n'))
  .flatMap((block) =>
    [
      ...block.matchAll(
        /^(?:temporal|npx holdfast (?!worker|emulator|probe|crash-test)\w+) (?:.*\\\n)*.*$/gm,
      ),
    ].map(([line]) => line),
  );
const TASK = 'ticket-1042';
const CALL = 'call_7';
const CALLED = /I called (find_order and refund_order|refund_order and find_order)\. /;

describe("the README's command lines", () => {
  const typed = new Set<string>();
  const runs: string[] = [];
  let folder: string;
  let client: Client;
  let emulator: Emulator;
  let worker: WorkerProcess;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    symlinkSync(temporalCli(), join(folder, 'temporal'));
    const code = compiled();
    const command = `#!/bin/sh\nexec '${process.execPath}' '${join(code, 'src/cli/main.js')}' "$@"\n`;
    writeFileSync(join(folder, 'holdfast'), command, { mode: 0o755 });
    writeFileSync(join(folder, 'npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    writeFileSync(join(folder, 'effects'), '');
    // Its ids are those of the README, and not this file's alone.
    const namespace = unique('readme');
    process.env['TEMPORAL_NAMESPACE'] = namespace;
    await bash(`temporal operator namespace create --namespace ${namespace}`);
    await until('the namespace can be used', async () => {
      const { code: listed } = await bash('temporal workflow list');
      return listed === 0;
    });
    [client, emulator] = await Promise.all([connect(), startEmulator({ deltaMs: 1 })]);
    worker = new WorkerProcess(
      started(`exec holdfast worker --agents ${join(code, 'test/support/agents/readme.js')}`, {
        OPENAI_BASE_URL: emulator.url,
        OPENAI_API_KEY: 'test-key',
        EFFECTS_FILE: join(folder, 'effects'),
        HOLDFAST_HEARTBEAT_TIMEOUT: '2s',
        HOLDFAST_WORKFLOW_BUNDLE: await workflowBundle(),
      }),
    );
    await worker.ready();
  });
  after(async () => {
    await worker.kill();
    await emulator.close();
    await client.connection.close();
    rmSync(folder, { recursive: true });
  });

  /** Types the one line that begins like this. */
  async function type(beginning: string): Promise<Finished> {
    const [line, ...others] = printed.filter((each) => each.replace(/^npx /, '').startsWith(beginning));
    assert.ok(line !== undefined && others.length === 0, `one line begins with ${beginning}`);
    typed.add(line);
    return bash(line);
  }

  function bash(line: string): Promise<Finished> {
    const child = started(line);
    holdChild(child);
    return finished(child);
  }

  function started(line: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
    const PATH = `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
    return spawn('bash', ['-c', line], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH, ...env },
    });
  }

  /** A task of the README's id that waits for a person, after whatever had this id before. */
  async function waiting(): Promise<void> {
    const args = { ms: 3_600_000 };
    const steps: Step[] = [
      { call: [{ name: 'stubborn_once', arguments: args, call_id: CALL }] },
      { say: 'Done.' },
    ];
    const { firstExecutionRunId } = await client.workflow.start('agentTask', {
      workflowId: TASK,
      taskQueue: 'holdfast',
      args: [{ agent: 'tester', input: `script: ${JSON.stringify(steps)}` }],
    });
    runs.push(firstExecutionRunId);
    const task = new AgentTasks(client).get(TASK);
    await until('a person is asked', async () => (await task.pending()).length === 1);
  }

  const outcome = (): Promise<RunRecord> => new AgentTasks(client).result(TASK);
  const resultsPosted = async (): Promise<string> => {
    const { session_id } = await outcome();
    const posts = emulator.posts(session_id).filter((post) => post.input_types.includes('tool_result'));
    return JSON.stringify(posts.map(({ body }) => body));
  };

  it('holdfast starts a task, waits for it, shows it', async () => {
    const { code, stdout, stderr } = await type('holdfast start ');
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^${CALLED.source}`));
    const status = await type('holdfast status ');
    assert.match(status.stdout, new RegExp(`^${TASK}: completed\n`));
    const result = await type('holdfast result ');
    const record = JSON.parse(result.stdout) as RunRecord;
    assert.deepEqual([`${record.output_text}\n`, record.tool_calls_total], [stdout, 2]);
    runs.push((await client.workflow.getHandle(TASK).describe()).runId);
  });

  it('temporal starts one, plain JSON in and out', async () => {
    const { code, stdout, stderr } = await type('temporal workflow start ');
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`WorkflowId +${TASK}`));
    runs.push((await client.workflow.getHandle(TASK).describe()).runId);
    const result = await bash(`temporal workflow result --workflow-id ${TASK}`);
    assert.equal(result.code, 0, result.stderr);
    assert.match(result.stdout, new RegExp(`"output_text":"${CALLED.source}`));
    assert.match((await outcome()).output_text, CALLED);
  });

  it('a person says that it did happen', async () => {
    await waiting();
    const { stdout } = await bash(`holdfast status ${TASK}`);
    assert.match(stdout, new RegExp(`^${TASK}: waiting for person\n`));
    assert.ok(stdout.includes(`holdfast resolve ${TASK} ${CALL} --run-again (or --result …)`), stdout);
    const { code, stderr } = await type(`holdfast resolve ${TASK} ${CALL} --result `);
    assert.deepEqual([code, stderr], [0, `Recorded for call ${CALL}: result\n`]);
    assert.match(await resultsPosted(), /"output":"refunded, receipt 88"/);
  });

  it('a person lets the agent deal with it', async () => {
    await waiting();
    const { code, stderr } = await type(`holdfast resolve ${TASK} ${CALL} --report-failure `);
    assert.deepEqual([code, stderr], [0, `Recorded for call ${CALL}: report failure\n`]);
    assert.match(await resultsPosted(), /"error":"Not refunded\."/);
  });

  it('a person says that it did not happen, in either command, and stops it in the end', async () => {
    await waiting();
    const effects = (): number => readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n').length;
    const first = effects();
    const { code, stderr } = await type(`holdfast resolve ${TASK} ${CALL} --run-again`);
    assert.deepEqual([code, stderr], [0, `Recorded for call ${CALL}: run again\n`]);
    const asked = async (): Promise<boolean> => {
      const { stdout } = await bash(`temporal workflow query --workflow-id ${TASK} --name pending`);
      return stdout.includes(`"call_id":"${CALL}"`);
    };
    await until('it has run again, to the same end', async () => effects() === first + 1 && (await asked()));
    const update = await type('temporal workflow update execute ');
    assert.equal(update.code, 0, update.stderr);
    assert.match(update.stdout, / map\[action:run_again call_id:call_7 state:recorded /);
    await until('it has run once more', async () => effects() === first + 2 && (await asked()));

    assert.ok(new RegExp(`\`(npx )?holdfast cancel ${TASK}\``).test(readme));
    assert.equal((await bash(`holdfast cancel ${TASK}`)).code, 0);
    const { code: cancelled } = await bash(`holdfast result ${TASK}`);
    assert.equal(cancelled, 3);
  });

  it('search attributes for a namespace without them', async () => {
    const { code, stderr } = await type('temporal operator search-attribute create ');
    assert.equal(code, 0, stderr);
    await until('they are there', async () => {
      const { stdout } = await bash('temporal operator search-attribute list');
      return ['HoldfastSessionId', 'HoldfastAgent', 'HoldfastState'].every((name) =>
        new RegExp(`${name} +Keyword`).test(stdout),
      );
    });
  });

  it('are all typed here, and no workflow task fails', async () => {
    assert.ok(printed.length >= 9);
    assert.deepEqual(
      printed.filter((line) => !typed.has(line)),
      [],
    );
    assert.equal(runs.length, 5);
    for (const runId of runs) {
      const { events } = await client.workflow.getHandle(TASK, runId).fetchHistory();
      assert.ok(!(events ?? []).map(eventType).includes('workflowTaskFailed'), runId);
    }
  });
});
