import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { assertOneLine, Sandbox, somePorts } from './sandbox.ts';

let box: Sandbox;
before(() => {
  box = new Sandbox();
});
after(() => box.remove());

describe('temporal-dev.sh: arguments', () => {
  it('prints its usage', async () => {
    const { code, out, err } = await box.run(['--help']);
    assert.equal(code, 0);
    assert.equal(err, '');
    for (const word of ['demo', 'cli-path', 'HOLDFAST_TEMPORAL_PORT', 'TEMPORAL_CLI'])
      assert.ok(out.includes(word));
  });

  for (const args of [['dmo'], ['--foo'], [''], ['demo', 'now']]) {
    it(`refuses ${JSON.stringify(args)} in one line, with exit code 2`, async () => {
      const { code, out, err } = await box.run(args);
      assert.equal(code, 2);
      assert.equal(out, '');
      assertOneLine(err, /--help/);
    });
  }

  for (const port of ['http', '0', '65536', '-1', '123456']) {
    it(`refuses the port ${port}`, async () => {
      const { code, err } = await box.run([], {
        HOLDFAST_UI_PORT: port,
        HOLDFAST_TEMPORAL_PORT: String(await freePort()),
      });
      assert.equal(code, 2);
      assertOneLine(err, new RegExp(`HOLDFAST_UI_PORT is '${port}'`));
    });
  }

  it('refuses one port for two servers', async () => {
    const port = String(await freePort());
    const env = { HOLDFAST_UI_PORT: port, HOLDFAST_TEMPORAL_PORT: port, OPENAI_API_KEY: 'k' };
    const { code, err } = await box.run(['up'], env);
    assert.equal(code, 2);
    assertOneLine(err, new RegExp(`port ${port} is asked for twice`));
  });

  it('names a port in use and the variable to set', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    try {
      for (const variable of ['HOLDFAST_TEMPORAL_PORT', 'HOLDFAST_UI_PORT', 'HOLDFAST_EMULATOR_PORT']) {
        for (const command of ['up', 'demo']) {
          const { code, err } = await box.run([command], {
            ...(await somePorts()),
            [variable]: String(port),
          });
          assert.equal(code, 1);
          assertOneLine(err, new RegExp(`port ${port} is in use.*set ${variable} `));
        }
      }
    } finally {
      taken.close();
    }
  });
});
