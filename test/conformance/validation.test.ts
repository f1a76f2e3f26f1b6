/** Bodies that are refused, each with the documented words and the field. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cancel, emulate, errorOf, message, tool, type Json, LIMIT } from './support.ts';

const GOOD: Json = { environment: { type: 'none' }, agent: { model: 'm' }, input: 'hi' };
const big = (count: number): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

const CREATES: [string, Json, string, RegExp][] = [
  [
    'no environment',
    { ...GOOD, environment: undefined },
    'environment',
    /^Missing required parameter: 'environment'\.$/,
  ],
  [
    'an environment of another type',
    { ...GOOD, environment: { type: 'self_hosted' } },
    'environment.type',
    /no execution environments/,
  ],
  [
    'an environment without type',
    { ...GOOD, environment: {} },
    'environment.type',
    /^Missing required parameter/,
  ],
  [
    'a field too many in the environment',
    { ...GOOD, environment: { type: 'none', id: 'x' } },
    'environment.id',
    /^Unknown parameter: 'environment.id'\.$/,
  ],
  ['an unknown parameter', { ...GOOD, tools: [] }, 'tools', /^Unknown parameter: 'tools'\.$/],
  [
    'no input',
    { ...GOOD, input: undefined },
    'input',
    /^conversation-only sessions currently require initial input$/,
  ],
  ['null input', { ...GOOD, input: null }, 'input', /conversation-only/],
  ['empty input', { ...GOOD, input: '' }, 'input', /string too short/],
  ['an empty list of messages', { ...GOOD, input: [] }, 'input', /empty array/],
  [
    'an assistant message',
    { ...GOOD, input: [{ role: 'assistant', content: [] }] },
    'input[0].role',
    /Supported values are: 'user'/,
  ],
  [
    'a message without content',
    { ...GOOD, input: [{ role: 'user', content: [] }] },
    'input[0].content',
    /empty array/,
  ],
  [
    'an unknown content part',
    { ...GOOD, input: [{ role: 'user', content: [{ type: 'input_file' }] }] },
    'input[0].content[0].type',
    /'input_text', 'input_image'/,
  ],
  ['no model', { ...GOOD, agent: {} }, 'agent.model', /^agent\.model is required when agent_id is omitted$/],
  [
    'a model that is no string',
    { ...GOOD, agent: { model: 5 } },
    'agent.model',
    /^Invalid type for 'agent.model': expected a string, but got an integer instead\.$/,
  ],
  [
    'a function without parameters',
    { ...GOOD, agent: { model: 'm', tools: [{ type: 'function', name: 'f', description: '' }] } },
    'agent.tools[0].parameters',
    /^Missing required parameter/,
  ],
  [
    'a strict function',
    { ...GOOD, agent: { model: 'm', tools: [{ ...tool('f'), strict: true }] } },
    'agent.tools[0].strict',
    /^Unknown parameter/,
  ],
  [
    'a tool of unknown type',
    { ...GOOD, agent: { model: 'm', tools: [{ type: 'shell' }] } },
    'agent.tools[0].type',
    /Invalid value: 'shell'/,
  ],
  [
    'too many bytes of tools',
    { ...GOOD, agent: { model: 'm', tools: [{ ...tool('f'), description: 'x'.repeat(3_145_729) }] } },
    'agent.tools',
    /3145728 bytes/,
  ],
  [
    'an answer schema that is no object',
    { ...GOOD, agent: { model: 'm', text: { format: { type: 'json_schema', schema: { type: 'array' } } } } },
    'agent.text.format.schema',
    /must be of type 'object'/,
  ],
  [
    'a named format',
    {
      ...GOOD,
      agent: { model: 'm', text: { format: { type: 'json_schema', schema: { type: 'object' }, name: 'n' } } },
    },
    'agent.text.format.name',
    /^Unknown parameter/,
  ],
  ['17 pairs of metadata', { ...GOOD, metadata: big(17) }, 'metadata', /at most 16 properties/],
  [
    'a metadata key of 65',
    { ...GOOD, metadata: { ['k'.repeat(65)]: 'v' } },
    `metadata.${'k'.repeat(64)}`,
    /maximum length 64/,
  ],
  [
    'a metadata value of 513',
    { ...GOOD, metadata: { k: 'v'.repeat(513) } },
    'metadata.k',
    /maximum length 512/,
  ],
  [
    'a metadata number',
    { ...GOOD, metadata: { k: 1 } },
    'metadata.k',
    /expected a string, but got an integer/,
  ],
  ['an agent_id of 65', { ...GOOD, agent_id: 'a'.repeat(65) }, 'agent_id', /maximum length 64/],
  ['stream options without stream', { ...GOOD, stream_options: {} }, 'stream_options', /only allowed when/],
  [
    'a limit of zero',
    { ...GOOD, spend_control: { limit: 0 } },
    'spend_control.limit',
    /expected an integer >= 1/,
  ],
];

const UPDATES: [string, Json, string | null, RegExp][] = [
  ['nothing', {}, null, /^At least one update field is required$/],
  ['instructions', { agent: { instructions: 'x' } }, 'agent.instructions', /^Unknown parameter/],
  ['a text format', { agent: { text: {} } }, 'agent.text', /^Unknown parameter/],
  ['input', { input: 'x' }, 'input', /^Unknown parameter/],
  ['bad metadata', { metadata: 'x' }, 'metadata', /expected an object, but got a string/],
];

const EVENTS: [string, unknown, string, RegExp][] = [
  ['no events', {}, 'events', /^Missing required parameter: 'events'\.$/],
  ['null events', { events: null }, 'events', /expected an array, but got null/],
  ['an unknown field', { events: [], stream: true }, 'stream', /^Unknown parameter/],
  ['an unknown type', { events: [{ type: 'tool_call' }] }, 'events[0].type', /Invalid value: 'tool_call'/],
  ['an event without type', { events: [{}] }, 'events[0].type', /^Missing required parameter/],
  [
    'a message without text',
    { events: [message('')] },
    'events[0].input[0].content[0].text',
    /string too short/,
  ],
  [
    'a result without success',
    { events: [{ type: 'agent.session.input.tool_result', turn_id: 't', call_id: 'c' }] },
    'events[0].success',
    /^Missing required parameter/,
  ],
  [
    'an object as output',
    {
      events: [
        { type: 'agent.session.input.tool_result', turn_id: 't', call_id: 'c', success: true, output: {} },
      ],
    },
    'events[0].output',
    /but got an object/,
  ],
  [
    'a bad output part',
    {
      events: [
        {
          type: 'agent.session.input.tool_result',
          turn_id: 't',
          call_id: 'c',
          success: true,
          output: [{ type: 'text' }],
        },
      ],
    },
    'events[0].output[0].type',
    /Invalid value: 'text'/,
  ],
  [
    'a turn in a cancel',
    { events: [{ ...cancel, turn_id: 't' }] },
    'events[0].turn_id',
    /^Unknown parameter/,
  ],
  [
    'a decision of unknown kind',
    {
      events: [
        {
          type: 'agent.session.input.mcp_approval_request_result',
          request_id: 'r',
          response: { type: 'mcp_tool_call', decision: 'yes' },
        },
      ],
    },
    'events[0].response.decision',
    /'approve', 'deny', 'cancel'/,
  ],
  [
    'seven fields of a sign-in',
    {
      events: [
        {
          type: 'agent.session.input.computer_use_approval_request_result',
          request_id: 'r',
          response: {
            type: 'browser_authentication',
            action: 'submit',
            fields: Array.from({ length: 7 }, () => ({ field_id: 'f', value: 'v' })),
          },
        },
      ],
    },
    'events[0].response.fields',
    /maximum length 6/,
  ],
];

describe('bodies that are refused', LIMIT, () => {
  for (const [name, body, param, words] of CREATES) {
    it(`create with ${name}`, async (t) => {
      const bench = await emulate(t);
      const answer = await bench.raw('POST', '/agents/sessions', body);
      assert.equal(answer.status, 400, answer.text);
      const error = errorOf(answer);
      assert.equal(error['code'], 'invalid_request_error');
      assert.equal(error['param'], param);
      assert.match(String(error['message']), words);
      const { totals } = bench.emulator.counters();
      assert.deepEqual([totals.creates, totals.violations], [0, 1]);
    });
  }

  it('update', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    for (const [name, body, param, words] of UPDATES) {
      const answer = await bench.raw('POST', `/agents/sessions/${id}`, body);
      assert.equal(answer.status, 400, name);
      assert.equal(errorOf(answer)['param'], param, name);
      assert.match(String(errorOf(answer)['message']), words, name);
    }
    assert.equal(bench.emulator.counters().sessions[id]?.violations, UPDATES.length);
  });

  it('events', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const before = await bench.items(id);
    for (const [name, body, param, words] of EVENTS) {
      const answer = await bench.raw('POST', `/agents/sessions/${id}/events`, body);
      assert.equal(answer.status, 400, name);
      assert.equal(errorOf(answer)['param'], param, name);
      assert.match(String(errorOf(answer)['message']), words, name);
    }
    assert.deepEqual(await bench.items(id), before);
    assert.equal(bench.emulator.counters().sessions[id]?.violations, EVENTS.length);
  });

  it('but not the odd ones that are allowed', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle({ metadata: big(16), review: 'none', vault_ids: null });
    const path = `/agents/sessions/${id}/events`;
    assert.equal((await bench.raw('POST', path, { events: [] })).status, 202);
    const blank = await bench.raw('POST', path, { events: [message('   ')] });
    assert.deepEqual([blank.status, blank.text], [202, '']);
    assert.equal(bench.emulator.counters().totals.violations, 0);
  });
});

describe('updates', LIMIT, () => {
  it('replace what they name and keep the rest', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle({
      metadata: { a: '1' },
      agent: { tools: [tool('one')], instructions: 'stay' },
    });
    const answer = await bench.raw('POST', `/agents/sessions/${id}`, {
      agent: { model: 'other', reasoning: { effort: 'high' }, tools: null },
      metadata: { b: '2' },
      spend_control: { limit: 500 },
    });
    assert.equal(answer.status, 200);
    const agent = answer.body['agent'] as Json;
    assert.deepEqual([agent['model'], agent['instructions'], agent['tools']], ['other', 'stay', []]);
    assert.deepEqual(agent['reasoning'], { effort: 'high', summary: null });
    assert.deepEqual(answer.body['metadata'], { b: '2' });
    assert.deepEqual(answer.body['spend_control'], { limit: 500, consumed: 0 });
    const cleared = await bench.raw('POST', `/agents/sessions/${id}`, {
      spend_control: null,
      metadata: null,
    });
    assert.deepEqual(cleared.body['spend_control'], { limit: null, consumed: 0 });
    assert.deepEqual(cleared.body['metadata'], {});
  });
});
