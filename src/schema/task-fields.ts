/**
 * Each field of a task input by itself. Objects of the API are loose: what Holdfast does not know is the API's to
 * judge and passes through unchanged (I12). Rules: agents-api.md 1.3 and 5.1.
 */
import { z } from 'zod';
import { isRecord } from '../protocol/json.ts';
import { nearest } from '../protocol/suggest.ts';
import { expected, expectedNumber, expectedText, lengthOf } from '../protocol/problems.ts';

const MAX_METADATA = 14;
const MAX_KEY = 64;
const MAX_VALUE = 512;
const MAX_AGENT_ID = 64;

/** Text that is more than white space. */
function text(what: string) {
  return z
    .string({ error: (issue) => expectedText(what, issue.input) })
    .refine((value) => value.trim() !== '', { error: `expected ${what}, got blank text` });
}

function object(what: string, shape: z.ZodRawShape = {}) {
  return z.looseObject(shape, { error: (issue) => expected(what, issue.input) });
}

function list<T extends z.ZodType>(what: string, element: T) {
  return z.array(element, { error: (issue) => expected(what, issue.input) });
}

/** Runs one schema or another by the kind of the value, so that each problem is told by the one that was meant. */
function either(choose: (value: unknown) => z.ZodType) {
  return z.unknown().superRefine((value, context) => {
    const result = choose(value).safeParse(value);
    for (const issue of result.error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: issue.path, message: issue.message, input: value });
    }
  });
}

/** A value that is always refused, with this problem. */
function refused(problem: (value: unknown) => string) {
  return z.unknown().superRefine((value, context) => {
    context.addIssue({ code: 'custom', message: problem(value), input: value });
  });
}

const AGENT = 'the name of a registered agent or an agent configuration object';
const agentConfig = object(AGENT, {
  model: text('the name of a model').optional(),
  tools: list('an array of tools', object('a tool object', { type: text('a tool type') })).nullish(),
});
export const agent = either((value) => {
  if (isRecord(value)) return agentConfig;
  return typeof value === 'string' && !/^\s*\{/.test(value)
    ? text(AGENT)
    : refused((v) => expected(AGENT, v));
});

export const agentId = text('the id of a saved agent').refine((value) => lengthOf(value) <= MAX_AGENT_ID, {
  error: `an agent id has at most ${MAX_AGENT_ID} characters`,
});
export const sessionId = text('the id of a session');

const PARTS = ['input_text', 'input_image'];
const part = either((value) => {
  const type = isRecord(value) ? value['type'] : undefined;
  if (!isRecord(value)) return refused((v) => expected('a content part object', v));
  if (type === 'input_text') {
    return object('a content part', {
      text: z
        .string({ error: (issue) => expectedText('text', issue.input) })
        .min(1, { error: 'expected text, got an empty string' }),
    });
  }
  if (type === 'input_image') {
    return object('a content part', { image_url: text('an https or data URL of an image') });
  }
  const hint = typeof type === 'string' ? nearest(`input_${type.replace(/^(in|out)put_/, '')}`, PARTS) : null;
  const error = `expected "input_text" or "input_image"${hint === null ? '' : `, did you mean "${hint}"?`}`;
  return object('a content part', { type: z.enum(PARTS, { error }) });
});

const CONTENT = 'an array of parts, for example [{"type": "input_text", "text": "…"}]';
const message = object('a user message object', {
  type: z.literal('message', { error: 'expected "message" or nothing' }).optional(),
  role: z.literal('user', { error: 'expected "user", the only role that an input may have' }),
  content: list(CONTENT, part).min(1, { error: `expected ${CONTENT}, got an empty array` }),
});
const INPUT = 'text or an array of user messages';
const messages = list(INPUT, message).min(1, { error: `expected ${INPUT}, got an empty array` });
export const input = either((value) => {
  if (Array.isArray(value)) return messages;
  if (isRecord(value))
    return refused(() => `expected ${INPUT}, got object: put a single message into an array`);
  return text(INPUT);
});

export const environment = object('an environment object, for example {"type": "none"}', {
  type: text('an environment type, for example "none"'),
});

const METADATA = 'an object of texts';
export const metadata = either((value) => {
  if (!isRecord(value)) return refused((v) => expected(METADATA, v));
  return z.unknown().superRefine((_, context) => {
    const add = (path: PropertyKey[], problem: string) =>
      context.addIssue({ code: 'custom', path, message: problem, input: undefined });
    const pairs = Object.entries(value);
    if (pairs.length > MAX_METADATA) {
      add([], `at most ${MAX_METADATA} pairs (two of the API's 16 are Holdfast's own), got ${pairs.length}`);
    }
    for (const [key, content] of pairs) {
      if (key === '') add([], 'a key is empty');
      else if (key.startsWith('holdfast_'))
        add([key], 'keys that start with holdfast_ are reserved, rename it');
      else if (lengthOf(key) > MAX_KEY) add([key], `a key has at most ${MAX_KEY} characters`);
      if (typeof content !== 'string') add([key], expectedText('text', content));
      else if (lengthOf(content) > MAX_VALUE) add([key], `a value has at most ${MAX_VALUE} characters`);
    }
  });
});

const LIMIT = 'a whole number of US cents above 0, or null for no limit';
export const spendControl = object('an object such as {"limit": 500}, or null', {
  limit: z
    .int({ error: (issue) => limitProblem(issue.input) })
    .positive({ error: (issue) => limitProblem(issue.input) })
    .nullable(),
}).nullable();

function limitProblem(value: unknown): string {
  return typeof value === 'number' ? `expected ${LIMIT}` : expectedNumber(LIMIT, value);
}

export const promptCacheOptions = object('an object such as {"ttl": "30m"}, or null', {
  ttl: text('a time such as "30m"').optional(),
}).nullable();
export const review = text('"none" or "auto_review"');
export const vaultIds = list('an array of vault ids', text('a vault id'));
