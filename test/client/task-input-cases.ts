/** Good and bad task inputs of every kind. */

export const EXAMPLE = '{"agent": "trip-planner", "input": "Plan a weekend in Lisbon"}';
const AGENT = 'expected the name of a registered agent or an agent configuration object';
const NO_EFFECT =
  'no effect on an existing session: leave it out, or leave session_id out to create a session';
const PARTS = 'expected an array of parts, for example [{"type": "input_text", "text": "…"}]';
const LIMIT = 'expected a whole number of US cents above 0, or null for no limit';
export const ok = { agent: 'trip-planner', input: 'hello' };
const said = (content: unknown) => ({ agent: 'a', input: [{ role: 'user', content }] });

const none = { environment: { type: 'none' } };
/** Title, value, the normalised input. */
export const good: [title: string, value: unknown, normalised: unknown][] = [
  ['a registered agent', ok, { ...ok, ...none }],
  [
    'an agent configuration with fields unknown to Holdfast',
    { agent: { model: 'm', future: { a: [1] }, tools: [{ type: 'web_search', x: 1 }] }, input: 'hi' },
    {
      agent: { model: 'm', future: { a: [1] }, tools: [{ type: 'web_search', x: 1 }] },
      input: 'hi',
      ...none,
    },
  ],
  ['a saved agent', { agent_id: 'agent_1', input: 'hi' }, { agent_id: 'agent_1', input: 'hi', ...none }],
  [
    'overrides of a saved agent need no model',
    { agent: { instructions: null }, agent_id: 'agent_1', input: 'hi' },
    { agent: { instructions: null }, agent_id: 'agent_1', input: 'hi', ...none },
  ],
  ['an existing session', { session_id: 'sess_1' }, { session_id: 'sess_1' }],
  [
    'an existing session with the agent whose tools answer',
    { session_id: 'sess_1', agent: 'trip-planner', input: 'go on' },
    { session_id: 'sess_1', agent: 'trip-planner', input: 'go on' },
  ],
  [
    'messages with text and image, unknown fields kept',
    said([
      { type: 'input_text', text: ' ', x: 1 },
      { type: 'input_image', image_url: 'data:image/png;base64,AA' },
    ]),
    {
      ...said([
        { type: 'input_text', text: ' ', x: 1 },
        { type: 'input_image', image_url: 'data:image/png;base64,AA' },
      ]),
      ...none,
    },
  ],
  [
    'text that happens to be JSON',
    { agent: 'a', input: '{"a":1}' },
    { agent: 'a', input: '{"a":1}', ...none },
  ],
  ['Unicode', { agent: 'реисе', input: '日本 🏯' }, { agent: 'реисе', input: '日本 🏯', ...none }],
  [
    'another environment needs no message',
    { agent: 'a', environment: { type: 'openai_hosted', packages: {} } },
    { agent: 'a', environment: { type: 'openai_hosted', packages: {} } },
  ],
  [
    'everything else passes',
    {
      ...ok,
      metadata: { ['k'.repeat(64)]: '🏯'.repeat(512) },
      spend_control: { limit: 500 },
      prompt_cache_options: { ttl: '12h' },
      review: 'auto_review',
      vault_ids: ['vault_1'],
    },
    {
      ...ok,
      ...none,
      metadata: { ['k'.repeat(64)]: '🏯'.repeat(512) },
      spend_control: { limit: 500 },
      prompt_cache_options: { ttl: '12h' },
      review: 'auto_review',
      vault_ids: ['vault_1'],
    },
  ],
  [
    'null where the API takes null',
    { ...ok, metadata: null, vault_ids: null, spend_control: null, prompt_cache_options: null },
    { ...ok, ...none, spend_control: null, prompt_cache_options: null },
  ],
  ['no limit', { ...ok, spend_control: { limit: null } }, { ...ok, ...none, spend_control: { limit: null } }],
];

/** Title, value, the exact message. */
export const bad: [title: string, value: unknown, message: string][] = [
  ['nothing', undefined, `input: missing, give one JSON object such as ${EXAMPLE}`],
  ['null', null, `input: expected a JSON object such as ${EXAMPLE}, got null`],
  ['a bare string', 'Plan a trip', `input: expected a JSON object such as ${EXAMPLE}, got string`],
  ['a number', 7, `input: expected a JSON object such as ${EXAMPLE}, got number`],
  ['an array', [ok], `input: expected a JSON object such as ${EXAMPLE}, got array`],
  [
    'JSON encoded twice',
    JSON.stringify(ok),
    `input: expected a JSON object such as ${EXAMPLE}, got a string that holds a JSON object (encoded twice): remove one level of quoting`,
  ],
  [
    'an empty object',
    {},
    `input: needs one of agent (the name of a registered agent, or a configuration), agent_id (a saved agent) or session_id (an existing session), for example ${EXAMPLE}; input.input: missing, a new session without an environment needs a first message: text or an array of user messages`,
  ],
  ['a wrong field name', { agnet: 'a', input: 'x' }, 'input.agnet: unknown field, did you mean "agent"?'],
  ['camel case', { sessionId: 's' }, 'input.sessionId: unknown field, did you mean "session_id"?'],
  ['a usual other name', { agent: 'a', prompt: 'x' }, 'input.prompt: unknown field, did you mean "input"?'],
  [
    'a field that belongs elsewhere',
    { model: 'm', input: 'x' },
    'input.model: unknown field, belongs into an agent configuration: {"agent": {"model": …}}',
  ],
  [
    'an extra field',
    { ...ok, priority: 1 },
    'input.priority: unknown field, the fields are agent, agent_id, session_id, input, environment, metadata, spend_control, prompt_cache_options, review, vault_ids',
  ],
  ['agent: number', { agent: 7, input: 'x' }, `input.agent: ${AGENT}, got number`],
  ['agent: null', { agent: null, input: 'x' }, `input.agent: ${AGENT}, got null`],
  ['agent: array', { agent: [], input: 'x' }, `input.agent: ${AGENT}, got array`],
  ['agent: blank', { agent: ' ', input: 'x' }, `input.agent: ${AGENT}, got blank text`],
  [
    'agent: encoded twice',
    { agent: '{"model":"m"}', input: 'x' },
    `input.agent: ${AGENT}, got a string that holds a JSON object (encoded twice): give the object itself, without the quotes around it`,
  ],
  [
    'agent configuration without model',
    { agent: { instructions: 'x' }, input: 'x' },
    'input.agent.model: missing, an agent configuration without agent_id needs a model',
  ],
  [
    'model: number',
    { agent: { model: 5 }, input: 'x' },
    'input.agent.model: expected the name of a model, got number: write it in quotes',
  ],
  [
    'tools: not an array',
    { agent: { model: 'm', tools: {} }, input: 'x' },
    'input.agent.tools: expected an array of tools, got object',
  ],
  [
    'agent name beside agent_id',
    { agent: 'a', agent_id: 'agent_1', input: 'x' },
    'input.agent_id: cannot stand beside the name of a registered agent: give only one of agent and agent_id',
  ],
  [
    'agent_id: too long',
    { agent_id: 'a'.repeat(65), input: 'x' },
    'input.agent_id: an agent id has at most 64 characters',
  ],
  [
    'session_id: number',
    { session_id: 12 },
    'input.session_id: expected the id of a session, got number: write it in quotes',
  ],
  [
    'agent configuration for an existing session',
    { session_id: 's', agent: { model: 'm' } },
    'input.agent: an existing session keeps its configuration: give the name of a registered agent, whose tools answer, or leave it out',
  ],
  ...(
    [
      ['agent_id', 'agent_1'],
      ['environment', { type: 'none' }],
      ['metadata', { a: 'b' }],
      ['spend_control', null],
      ['prompt_cache_options', { ttl: '30m' }],
      ['review', 'none'],
      ['vault_ids', []],
    ] as const
  ).map(([field, value]): [string, unknown, string] => [
    `${field} for an existing session`,
    { session_id: 's', [field]: value },
    `input.${field}: ${NO_EFFECT}`,
  ]),
  [
    'no input',
    { agent: 'a' },
    'input.input: missing, a new session without an environment needs a first message: text or an array of user messages',
  ],
  [
    'blank input',
    { agent: 'a', input: ' \n' },
    'input.input: expected text or an array of user messages, got blank text',
  ],
  [
    'no messages',
    { agent: 'a', input: [] },
    'input.input: expected text or an array of user messages, got an empty array',
  ],
  [
    'a single message',
    { agent: 'a', input: { role: 'user', content: [] } },
    'input.input: expected text or an array of user messages, got object: put a single message into an array',
  ],
  [
    'input: number',
    { agent: 'a', input: 3 },
    'input.input: expected text or an array of user messages, got number: write it in quotes',
  ],
  [
    'messages: strings',
    { agent: 'a', input: ['x'] },
    'input.input[0]: expected a user message object, got string',
  ],
  [
    'another role',
    { agent: 'a', input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
    'input.input[0].role: expected "user", the only role that an input may have',
  ],
  [
    'a message without role',
    { agent: 'a', input: [{ content: [{ type: 'input_text', text: 'x' }] }] },
    'input.input[0].role: expected "user", the only role that an input may have',
  ],
  [
    'a part without type',
    said([{ text: 'x' }]),
    'input.input[0].content[0].type: expected "input_text" or "input_image"',
  ],
  ['content: text', said('x'), `input.input[0].content: ${PARTS}, got string`],
  ['content: empty', said([]), `input.input[0].content: ${PARTS}, got an empty array`],
  [
    'an empty text',
    said([{ type: 'input_text', text: '' }]),
    'input.input[0].content[0].text: expected text, got an empty string',
  ],
  [
    'a part of another API',
    said([{ type: 'text', text: 'x' }]),
    'input.input[0].content[0].type: expected "input_text" or "input_image", did you mean "input_text"?',
  ],
  [
    'an unknown part',
    said([{ type: 'file', file_id: 'x' }]),
    'input.input[0].content[0].type: expected "input_text" or "input_image"',
  ],
  [
    'an image without URL',
    said([{ type: 'input_image' }]),
    'input.input[0].content[0].image_url: missing, expected an https or data URL of an image',
  ],
  [
    'environment: text',
    { ...ok, environment: 'none' },
    'input.environment: expected an environment object, for example {"type": "none"}, got string',
  ],
  [
    'environment without type',
    { ...ok, environment: {} },
    'input.environment.type: missing, expected an environment type, for example "none"',
  ],
  [
    'metadata: number',
    { ...ok, metadata: { room: 12 } },
    'input.metadata.room: expected text, got number: write it in quotes',
  ],
  [
    'metadata: too many',
    { ...ok, metadata: Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, 'v'])) },
    "input.metadata: at most 14 pairs (two of the API's 16 are Holdfast's own), got 15",
  ],
  [
    'metadata: reserved key',
    { ...ok, metadata: { holdfast_key: 'x' } },
    'input.metadata.holdfast_key: keys that start with holdfast_ are reserved, rename it',
  ],
  [
    'metadata: long key',
    { ...ok, metadata: { ['k'.repeat(65)]: 'x' } },
    `input.metadata.${'k'.repeat(39)}…: a key has at most 64 characters`,
  ],
  [
    'metadata: long value',
    { ...ok, metadata: { note: 'x'.repeat(513) } },
    'input.metadata.note: a value has at most 512 characters',
  ],
  [
    'limit: a number in quotes',
    { ...ok, spend_control: { limit: '500' } },
    `input.spend_control.limit: ${LIMIT}, got a string: write the number without quotes`,
  ],
  ['limit: zero', { ...ok, spend_control: { limit: 0 } }, `input.spend_control.limit: ${LIMIT}`],
  ['limit: a fraction', { ...ok, spend_control: { limit: 1.5 } }, `input.spend_control.limit: ${LIMIT}`],
  [
    'spend_control: number',
    { ...ok, spend_control: 5 },
    'input.spend_control: expected an object such as {"limit": 500}, or null, got number',
  ],
  [
    'review: boolean',
    { ...ok, review: true },
    'input.review: expected "none" or "auto_review", got boolean: write it in quotes',
  ],
  [
    'vault_ids: text',
    { ...ok, vault_ids: 'v' },
    'input.vault_ids: expected an array of vault ids, got string',
  ],
];
