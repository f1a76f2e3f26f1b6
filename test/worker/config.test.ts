import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ConfigError, readConfig } from '../../src/worker/config.ts';
import { armFaults } from '../../src/worker/faults.ts';
import { loadAgents } from '../../src/worker/load-agents.ts';

const KEY = { OPENAI_API_KEY: 'k' };

describe('worker configuration', () => {
  it('needs nothing but a key', () => {
    const config = readConfig(KEY);
    assert.equal(config.taskQueue, 'holdfast');
    assert.equal(config.heartbeatTimeoutMs, 10_000);
    assert.equal(config.followLimitMs, 3_600_000);
    assert.equal(config.maxActivities, 2000);
  });

  const bad: [Record<string, string>, string][] = [
    [{}, 'OPENAI_API_KEY: needed: the key of the Agents API (any text for the local one)'],
    [{ ...KEY, OPENAI_BASE_URL: 'localhost:80' }, 'OPENAI_BASE_URL: expected an http or https URL'],
    [
      { ...KEY, HOLDFAST_HEARTBEAT_TIMEOUT: 'soon' },
      'HOLDFAST_HEARTBEAT_TIMEOUT: expected a duration such as "10s", got "soon"',
    ],
    [
      { ...KEY, HOLDFAST_FOLLOW_LIMIT: '3h' },
      'HOLDFAST_FOLLOW_LIMIT: expected a duration such as "1h", at most 120 minutes, got "3h"',
    ],
    [{ ...KEY, HOLDFAST_MAX_ACTIVITIES: 'many' }, 'HOLDFAST_MAX_ACTIVITIES: expected a whole number'],
    [
      { ...KEY, HOLDFAST_LOG_LEVEL: 'loud' },
      'HOLDFAST_LOG_LEVEL: expected trace, debug, info, warn, error or silent',
    ],
    [{ ...KEY, HOLDFAST_MAX_OUTPUT_BYTES: '524289' }, 'HOLDFAST_MAX_OUTPUT_BYTES: expected at most 524288'],
    [{ ...KEY, HOLDFAST_MAX_OUTPUT_BYTES: '1023' }, 'HOLDFAST_MAX_OUTPUT_BYTES: expected at least 1024'],
    [{ ...KEY, HOLDFAST_LOG_TOOL_ERRORS: 'yes' }, 'HOLDFAST_LOG_TOOL_ERRORS: expected true or false'],
  ];
  for (const [env, message] of bad) {
    it(`one line for ${message.split(':')[0]}`, () => {
      assert.throws(() => readConfig(env), new ConfigError(message));
    });
  }

  it('takes a result of a tool up to 512 KiB: twice as much, as JSON, must fit into one activity', () => {
    assert.equal(readConfig({ ...KEY, HOLDFAST_MAX_OUTPUT_BYTES: '524288' }).maxOutputBytes, 512 * 1024);
  });

  it('an empty variable counts as not set', () => {
    assert.equal(readConfig({ ...KEY, OPENAI_BASE_URL: '' }).baseURL, undefined);
  });

  it('a fault point that does not exist is refused: a crash test that never crashes proves nothing', () => {
    assert.throws(
      () => armFaults('tool.after_efect'),
      /HOLDFAST_FAULT: expected POINT.*got "tool\.after_efect"; points: /,
    );
    assert.throws(() => armFaults('tool.after_effect#0'), ConfigError);
  });

  it('agents: a missing file and a file without agents are told by name', async () => {
    await assert.rejects(
      loadAgents('nowhere/agents.ts'),
      new ConfigError('--agents: there is no file nowhere/agents.ts'),
    );
    const none = fileURLToPath(new URL('../support/until.ts', import.meta.url));
    await assert.rejects(loadAgents(none), /exports no agent; export what defineAgent returns/);
    const { agents, tools } = await loadAgents(
      fileURLToPath(new URL('../support/agents.ts', import.meta.url)),
    );
    assert.deepEqual(agents.map(({ name }) => name).toSorted(), ['reporter', 'tester']);
    for (const name of ['note', 'pay', 'fails'])
      assert.ok(
        tools.some((tool) => tool.name === name),
        name,
      );
  });
});
