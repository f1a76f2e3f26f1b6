/** Inputs that look odd and are good (scenario 55): typed into the Temporal CLI, they reach the service as they are. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import type { RunRecord } from '../../src/client/index.ts';
import { unique } from '../client/temporal.ts';
import { Stack } from '../support/stack.ts';
import { temporal } from '../support/temporal-command.ts';

const HEADERS = { authorization: 'Bearer k', 'openai-beta': 'agents=v1' };
interface Sent {
  instructions: string;
  text: { format: unknown };
}

const script = (say: string): string => `script: ${JSON.stringify([{ say }])}`;

describe('an odd input that is good', { concurrency: 3 }, () => {
  let folder: string;
  let stack: Stack;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    stack = await Stack.start();
    await stack.worker();
  });
  after(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true });
  });

  /** Starts a task by the CLI, with JSON as somebody has written it, and waits for its end. */
  async function execute(...args: string[]): Promise<RunRecord> {
    const command = ['workflow', 'execute', '--type', 'agentTask', '--task-queue', stack.taskQueue];
    const id = unique('odd');
    await temporal(...command, '--workflow-id', id, ...args);
    assert.ok(!(await stack.eventTypes({ taskId: id })).includes('workflowTaskFailed'));
    return stack.tasks.result(id);
  }

  async function session(id: string): Promise<{ metadata: object; agent: Sent }> {
    const answer = await fetch(`${stack.emulator.url}/agents/sessions/${id}`, { headers: HEADERS });
    return (await answer.json()) as { metadata: object; agent: Sent };
  }

  it('any script, direction and control character', async () => {
    const say = '日本 🏯 e\u0301 עברית \u202E turned \u0007\u0000 "quoted" \\ back';
    const { output_text } = await execute('--input', JSON.stringify({ agent: 'tester', input: script(say) }));
    assert.equal(output_text, say);
  });

  it('escapes for what could be written plainly, and white space around it', async () => {
    const json = String.raw` {"\u0061gent" : "tester",
      "input":"script: [{\"say\":\"\\u00e9\\uD83C\\uDFEF\"}]"} `;
    assert.equal((await execute('--input', json)).output_text, 'é🏯');
  });

  it('a file', async () => {
    const path = join(folder, 'input.json');
    writeFileSync(path, JSON.stringify({ agent: 'tester', input: script("it's $HOME, 100 %") }, null, 2));
    assert.equal((await execute('--input-file', path)).output_text, "it's $HOME, 100 %");
  });

  it('half of a character, which no server takes, is replaced in every text', async () => {
    const agent = { model: 'm', instructions: 'cut \ud83d', tools: [] };
    const input = {
      agent,
      input: script('half HALF of it').replace('HALF', '\ud83d'),
      metadata: { note: '\udfef' },
    };
    const record = await execute('--input', JSON.stringify(input));
    assert.equal(record.output_text, 'half \ufffd of it');
    const { metadata, agent: sent } = await session(record.session_id);
    assert.equal((metadata as { note: string }).note, '\ufffd');
    assert.equal(sent.instructions, 'cut \ufffd');
    // In a message to a session that exists it would look as if it had never arrived.
    const second = {
      session_id: record.session_id,
      input: script('and HALF again').replace('HALF', '\ud83d'),
    };
    const next = await execute('--input', JSON.stringify(second));
    assert.equal(next.output_text, 'and \ufffd again');
    const posts = stack.posts(record.session_id, 'message');
    assert.equal(posts.length, 1);
    assert.ok(JSON.stringify(posts[0]?.body).includes('and \ufffd again'));
  });

  it('names of prototypes where any name may stand', async () => {
    const text = '{"format":{"type":"json_schema","schema":{"type":"object","properties":{"__proto__":{}}}}}';
    const metadata = '{"__proto__":"p","constructor":"c"}';
    const said = JSON.stringify(script('ok'));
    const json = `{"agent":{"model":"m","text":${text}},"input":${said},"metadata":${metadata}}`;
    const record = await execute('--input', json);
    assert.equal(record.output_text, 'ok');
    const created = await session(record.session_id);
    assert.equal(JSON.stringify({ format: created.agent.text.format }), text);
    assert.deepEqual(
      Object.entries(created.metadata).filter(([key]) => !key.startsWith('holdfast_')),
      [
        ['__proto__', 'p'],
        ['constructor', 'c'],
      ],
    );
  });

  it('much text, deeply nested schemas', async () => {
    const long = `${script('ok')}${' '.repeat(1_400_000)}`;
    const nested = JSON.parse('{"a":'.repeat(150) + '1' + '}'.repeat(150)) as object;
    const agent = {
      model: 'm',
      text: { format: { type: 'json_schema', schema: { type: 'object', nested } } },
    };
    const path = join(folder, 'much.json');
    writeFileSync(path, JSON.stringify({ agent, input: long }));
    const { output_text, session_id } = await execute('--input-file', path);
    assert.equal(output_text, 'ok');
    assert.deepEqual((await session(session_id)).agent.text.format, agent.text.format);
  });
});
