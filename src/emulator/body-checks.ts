/** The request bodies that the emulator accepts (agents-api.md 1.3 and 5). */
import { badRequest } from './api-error.ts';
import {
  anyObject,
  fields,
  flag,
  list,
  metadata,
  nullable,
  oneOf,
  required,
  tagged,
  text,
  whole,
  type Check,
} from './check.ts';
import { isObject } from './wire.ts';

const MAX_TOOLS_BYTES = 3_145_728;
const MAX_EVENTS = 16_384;
const MAX_FIELDS_BYTES = 120 * 1024;

const tier = nullable(oneOf('auto', 'default', 'flex', 'priority', 'fast', 'ultrafast'));
const effort = nullable(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

const contentPart = tagged('type', {
  input_text: fields({ type: required(text()), text: required(text({ min: 1 })) }),
  input_image: fields({ type: required(text()), image_url: required(text({ min: 1 })) }),
});

const userMessage = fields({
  type: oneOf('message'),
  role: required(oneOf('user')),
  content: required(list(contentPart, { min: 1 })),
});

const initialInput: Check = (value, path) => {
  if (typeof value === 'string') text({ min: 1 })(value, path);
  else list(userMessage, { min: 1 })(value, path);
};

const withType = (shape: Parameters<typeof fields>[0]): Check => fields({ type: required(text()), ...shape });

const tool = tagged('type', {
  function: withType({
    name: required(text({ min: 1 })),
    description: required(text()),
    parameters: required(anyObject),
    async: flag,
    defer_loading: flag,
  }),
  tool_search: withType({}),
  programmatic_tool_calling: withType({ enabled: flag }),
  mcp: withType({
    server_label: required(text({ min: 1 })),
    transport: required(anyObject),
    allowed_tools: nullable(list(text())),
    connection_origin: nullable(oneOf('service', 'environment')),
    credential_id: nullable(text()),
    request_metadata: nullable(anyObject),
    required: flag,
  }),
  web_search: withType({
    allowed_domains: nullable(list(text())),
    context_size: nullable(oneOf('low', 'medium', 'high')),
    location: nullable(anyObject),
    mode: nullable(oneOf('disabled', 'cached', 'live')),
  }),
  computer_use: withType({ include_screenshots: flag }),
  automations: withType({}),
});

const tools: Check = nullable((value, path) => {
  list(tool)(value, path);
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_TOOLS_BYTES) {
    throw badRequest(
      `Invalid '${path}': the tool list must fit within ${MAX_TOOLS_BYTES} bytes of JSON.`,
      path,
    );
  }
});

const answerSchema: Check = (value, path) => {
  anyObject(value, path);
  if (isObject(value) && value['type'] !== 'object') {
    throw badRequest(`Invalid '${path}': the root schema must be of type 'object'.`, path);
  }
};

const textSettings = fields({
  format: nullable(
    tagged('type', { text: withType({}), json_schema: withType({ schema: required(answerSchema) }) }),
  ),
  verbosity: nullable(oneOf('low', 'medium', 'high')),
});

const agentShape = {
  model: text({ min: 1 }),
  instructions: nullable(text()),
  tools,
  text: nullable(textSettings),
  reasoning: nullable(fields({ effort, summary: nullable(oneOf('concise', 'detailed', 'auto')) })),
  multi_agent: nullable(fields({ enabled: required(flag), max_concurrent_subagents: whole({ min: 1 }) })),
  service_tier: tier,
  compaction: nullable(fields({ async: nullable(flag) })),
  experimental: fields({ time_awareness: flag }),
};

const cacheOptions = nullable(fields({ ttl: oneOf('30m', '12h') }));
const spendControl = nullable(fields({ limit: required(nullable(whole({ min: 1 }))) }));
const review = oneOf('none', 'auto_review');

const createShape = fields({
  environment: required(anyObject),
  agent: fields(agentShape),
  agent_id: text({ min: 1, max: 64 }),
  input: nullable(initialInput),
  metadata: nullable(metadata),
  prompt_cache_options: cacheOptions,
  review,
  spend_control: spendControl,
  stream: flag,
  stream_options: fields({ include_obfuscation: flag }),
  vault_ids: nullable(list(text())),
});

/** POST /agents/sessions. Throws the 400 of the first thing that is wrong. */
export function checkCreateBody(body: unknown): void {
  createShape(body, '');
  if (!isObject(body)) return;
  checkEnvironment(body['environment']);
  if (body['stream_options'] !== undefined && body['stream'] !== true) {
    throw badRequest("'stream_options' is only allowed when 'stream' is true.", 'stream_options');
  }
  const model = isObject(body['agent']) ? body['agent']['model'] : undefined;
  if (body['agent_id'] === undefined && model === undefined) {
    throw badRequest('agent.model is required when agent_id is omitted', 'agent.model');
  }
  if (body['input'] === undefined || body['input'] === null) {
    throw badRequest('conversation-only sessions currently require initial input', 'input');
  }
}

/** The emulator has no machines: conversation only. */
function checkEnvironment(environment: unknown): void {
  const type = isObject(environment) ? environment['type'] : undefined;
  if (type === undefined) {
    throw badRequest("Missing required parameter: 'environment.type'.", 'environment.type');
  }
  if (type !== 'none') {
    throw badRequest(
      `The local emulator has no execution environments: 'environment.type' must be 'none', got ${JSON.stringify(type)}.`,
      'environment.type',
    );
  }
  withType({})(environment, 'environment');
}

const updateShape = fields({
  agent: fields({
    model: text({ min: 1 }),
    reasoning: fields({ effort }),
    service_tier: tier,
    tools,
  }),
  metadata: nullable(metadata),
  prompt_cache_options: cacheOptions,
  review,
  spend_control: spendControl,
});

/** POST /agents/sessions/{id}. */
export function checkUpdateBody(body: unknown): void {
  updateShape(body, '');
  if (isObject(body) && Object.keys(body).length === 0) {
    throw badRequest('At least one update field is required');
  }
}

const approvalAnswer = tagged('type', {
  browser_origin_access: withType({ decision: required(oneOf('approve', 'deny', 'cancel')) }),
  browser_authentication: (value, path) => {
    const submit = isObject(value) && value['action'] === 'submit';
    withType({
      action: required(oneOf('submit', 'cancel')),
      ...(submit
        ? {
            fields: required(
              list(fields({ field_id: required(text({ min: 1 })), value: required(text()) }), { max: 6 }),
            ),
            selected_option: nullable(text()),
          }
        : {}),
    })(value, path);
    if (Buffer.byteLength(JSON.stringify(value)) > MAX_FIELDS_BYTES) {
      throw badRequest(`Invalid '${path}': more than ${MAX_FIELDS_BYTES} bytes.`, path);
    }
  },
});

const toolOutput: Check = (value, path) => {
  if (typeof value === 'string' || value === null) return;
  if (Array.isArray(value)) {
    list(
      tagged('type', {
        input_text: withType({ text: required(text()) }),
        input_image: withType({ image_url: required(text({ min: 1 })) }),
      }),
    )(value, path);
    return;
  }
  throw badRequest(
    `Invalid type for '${path}': expected one of a string or array of content parts, but got ` +
      `${isObject(value) ? 'an object' : `a ${typeof value}`} instead.`,
    path,
  );
};

const inputEvent = tagged('type', {
  'agent.session.input.message': withType({ input: required(list(userMessage, { min: 1 })) }),
  'agent.session.input.cancel': withType({}),
  'agent.session.input.tool_result': withType({
    turn_id: required(text({ min: 1 })),
    call_id: required(text({ min: 1 })),
    success: required(flag),
    output: toolOutput,
    error: nullable(text()),
  }),
  'agent.session.input.mcp_approval_request_result': withType({
    request_id: required(text({ min: 1 })),
    response: required(
      tagged('type', {
        mcp_tool_call: withType({ decision: required(oneOf('approve', 'deny', 'cancel')) }),
      }),
    ),
  }),
  'agent.session.input.computer_use_approval_request_result': withType({
    request_id: required(text({ min: 1 })),
    response: required(approvalAnswer),
  }),
});

const eventsShape = fields({ events: required(list(inputEvent, { max: MAX_EVENTS })) });

/** POST /agents/sessions/{id}/events. An empty array is a valid no-op. */
export function checkEventsBody(body: unknown): void {
  eventsShape(body, '');
}

const savedAgentShape = { ...agentShape, name: nullable(text()), metadata: nullable(metadata) };
const createAgentShape = fields({ ...savedAgentShape, model: required(text({ min: 1 })) });
const updateAgentShape = fields(savedAgentShape);

/** POST /agents. */
export function checkCreateAgentBody(body: unknown): void {
  createAgentShape(body, '');
}

/** POST /agents/{id}. */
export function checkUpdateAgentBody(body: unknown): void {
  updateAgentShape(body, '');
  if (isObject(body) && Object.keys(body).length === 0) {
    throw badRequest('At least one update field is required');
  }
}
