/** `holdfast emulator` as a process: one line, a served API, a clean end. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { finished, holdfast, launch, line } from './command.ts';

const HEADERS = { authorization: 'Bearer local', 'openai-beta': 'agents=v1' };

describe('holdfast emulator', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`serves the Agents API until ${signal}`, async () => {
      const child = launch(['emulator', '--port', '0']);
      const printed = line(
        child,
        /^Local Agents API at (\S+): use OPENAI_BASE_URL=(\S+) OPENAI_API_KEY=local\n/,
      );
      const [, url = '', base] = await printed;
      assert.equal(base, url);
      const answer = await fetch(`${url}/agents/sessions`, { headers: HEADERS });
      assert.equal(answer.status, 200);
      assert.equal(((await answer.json()) as { object: string }).object, 'list');
      const end = finished(child);
      child.kill(signal);
      assert.equal((await end).code, 0);
    });
  }

  it('goes on with the sessions of its data folder, and plays scripts in TypeScript', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    try {
      const script = join(folder, 'agent.ts');
      writeFileSync(
        script,
        `const text: string = 'Scripted.';\nexport default { name: 's', steps: [{ say: text }] };\n`,
      );
      const args = ['emulator', '--port', '0', '--data', join(folder, 'data'), '--script', script];
      const first = launch(args);
      const [, url = ''] = await line(first, /at (\S+):/);
      const body = JSON.stringify({ agent: { model: 'm' }, environment: { type: 'none' }, input: 'hi' });
      const headers = { ...HEADERS, 'content-type': 'application/json' };
      const created = await fetch(`${url}/agents/sessions`, { method: 'POST', headers, body });
      const { id } = (await created.json()) as { id: string };
      assert.ok(created.ok && id);
      const end = finished(first);
      first.kill('SIGTERM');
      await end;

      const second = launch(args);
      const [, again = ''] = await line(second, /at (\S+):/);
      const read = await fetch(`${again}/agents/sessions/${id}`, { headers: HEADERS });
      assert.equal(read.status, 200);
      const done = finished(second);
      second.kill('SIGTERM');
      await done;
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('says in one line what is wrong', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const [busy, open, missing] = await Promise.all([
      holdfast(['emulator', '--port', String(port)]),
      holdfast(['emulator', '--host', '0.0.0.0', '--port', '0']),
      holdfast(['emulator', '--script', './none.json', '--port', '0']),
    ]);
    taken.close();
    assert.deepEqual(busy, {
      code: 1,
      stdout: '',
      stderr: `holdfast: port ${port} on 127.0.0.1 is in use: give another one with --port\n`,
    });
    assert.equal(open.code, 1);
    assert.match(open.stderr, /^holdfast: the emulator listens on loopback only .*\n$/);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /^holdfast: .*none\.json.*\n$/);
  });
});
