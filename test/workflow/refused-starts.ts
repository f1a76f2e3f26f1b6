/** What an operator may type to start a task, and how it is refused (scenario 55). */
import { TASK_INPUT_EXAMPLE } from '../../src/protocol/task.ts';
import { PLANTED } from '../support/agents.ts';

const OBJECT = `expected a JSON object such as ${TASK_INPUT_EXAMPLE}`;
const FIELDS =
  'the fields are agent, agent_id, session_id, input, environment, metadata, spend_control, prompt_cache_options, review, vault_ids';
const TOOLS = 'big, fails, flaky, note, pay, pay_checked, stall, stubborn, stubborn_once';
/** The arguments of the CLI for an input. */
export const json = (value: unknown): string[] => ['--input', JSON.stringify(value)];
export const ok = { agent: 'tester', input: 'x' };
const inline = (tool: object): unknown => ({
  agent: { model: 'm', tools: [{ type: 'function', description: 'd', parameters: {}, ...tool }] },
  input: 'x',
});

/** What is typed, and the whole refusal. */
export const refused: [title: string, args: string[], message: string][] = [
  ['no input', [], `input: missing, give one JSON object such as ${TASK_INPUT_EXAMPLE}`],
  ['null', json(null), `input: ${OBJECT}, got null`],
  ['a number', json(7), `input: ${OBJECT}, got number`],
  ['text', json('tester'), `input: ${OBJECT}, got string`],
  ['an array', json([ok]), `input: ${OBJECT}, got array`],
  [
    'JSON encoded twice',
    json(JSON.stringify(ok)),
    `input: ${OBJECT}, got a string that holds a JSON object (encoded twice): remove one level of quoting`,
  ],
  [
    'two inputs',
    [...json(ok), ...json({ more: 1 })],
    `input: expected one argument, got 2: put everything into one JSON object such as ${TASK_INPUT_EXAMPLE}`,
  ],
  [
    'bytes',
    ['--input', 'aGVsbG8=', '--input-base64', '--input-meta', 'encoding=binary/plain'],
    `input: ${OBJECT}, got binary data: send JSON`,
  ],
  [
    'a payload of an encoding that nobody knows',
    [...json(ok), '--input-meta', 'encoding=json/protobuf'],
    `input: ${OBJECT}, got a payload of encoding "json/protobuf" that cannot be read: send JSON`,
  ],
  [
    'an empty object',
    json({}),
    `input: needs one of agent (the name of a registered agent, or a configuration), agent_id (a saved agent) or session_id (an existing session), for example ${TASK_INPUT_EXAMPLE}; input.input: missing, a new session without an environment needs a first message: text or an array of user messages`,
  ],
  [
    'an empty message',
    json({ ...ok, input: '' }),
    'input.input: expected text or an array of user messages, got blank text',
  ],
  [
    'a field in camel case',
    json({ sessionId: 's' }),
    'input.sessionId: unknown field, did you mean "session_id"?',
  ],
  ['a field of its own', json({ ...ok, priority: 1 }), `input.priority: unknown field, ${FIELDS}`],
  [
    'a prototype',
    ['--input', '{"__proto__":{"agent":"tester"},"input":"x"}'],
    `input.__proto__: unknown field, ${FIELDS}`,
  ],
  [
    'a number as text',
    json({ ...ok, spend_control: { limit: '500' } }),
    'input.spend_control.limit: expected a whole number of US cents above 0, or null for no limit, got a string: write the number without quotes',
  ],
  [
    'an agent and an agent_id',
    json({ ...ok, agent_id: 'agent_1' }),
    'input.agent_id: cannot stand beside the name of a registered agent: give only one of agent and agent_id',
  ],
  [
    'a misspelt agent',
    json({ ...ok, agent: 'Testr' }),
    'input.agent: no agent "Testr" is registered with this worker, did you mean "tester"?; registered: reporter, tester',
  ],
  [
    'the name of a prototype as agent',
    json({ ...ok, agent: 'constructor' }),
    'input.agent: no agent "constructor" is registered with this worker; registered: reporter, tester',
  ],
  [
    'a misspelt tool',
    json(inline({ name: 'pai' })),
    `input.agent.tools[0].name: no tool "pai" is registered with this worker, did you mean "pay"?; registered: ${TOOLS}`,
  ],
  [
    'a tool without name',
    json(inline({})),
    'input.agent.tools[0].name: missing, expected the name of a registered tool',
  ],
  [
    'a saved agent that is not there',
    json({ agent_id: 'agent_nowhere', input: 'x' }),
    'input.agent_id: found nowhere; check the ids and the model, the project of the key, and OPENAI_BASE_URL (No managed agent resource found: agent_nowhere)',
  ],
  [
    'a session that is not there',
    json({ session_id: '../sess_nowhere', input: 'x' }),
    'input.session_id: no session "../sess_nowhere" at the Agents API: check the id, the key and its project',
  ],
  [
    'a value that the service refuses',
    json({ ...ok, review: 'maybe' }),
    "input.review: the Agents API refused it: Invalid value: 'maybe'. Supported values are: 'none', 'auto_review'.",
  ],
  [
    'no message, in an environment',
    json({ agent: 'tester', environment: { type: 'openai_hosted' } }),
    'input.input: missing, give the first message of the task',
  ],
  [
    'a key in place of a name',
    json({ ...ok, agent: PLANTED }),
    'input.agent: no agent "[redacted]" is registered with this worker; registered: reporter, tester',
  ],
  ['a key as a field', json({ ...ok, [PLANTED]: 1 }), `input.[redacted]: unknown field, ${FIELDS}`],
  ['a key in an unknown field', json({ ...ok, api_key: PLANTED }), `input.api_key: unknown field, ${FIELDS}`],
  [
    'a key in a field of another kind',
    json({ ...ok, metadata: PLANTED, vault_ids: PLANTED }),
    'input.metadata: expected an object of texts, got string; input.vault_ids: expected an array of vault ids, got string',
  ],
];
