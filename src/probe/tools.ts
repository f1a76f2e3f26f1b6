/** What the probe says to the model: as little as possible, and so that it can hardly be misunderstood. */
import type { SceneContext } from './scene.ts';

type Json = Record<string, unknown>;

export const LEFT = 'probe_left';
export const RIGHT = 'probe_right';

const INSTRUCTIONS =
  `You are part of a protocol test. For every message call the functions ${LEFT} and ${RIGHT}, both at once in the ` +
  'same step, each exactly once, before you write anything. When you have both results, answer with the single word ' +
  '"done". Never ask anything.';

/** The message that begins each turn. `mark` tells messages apart. */
export function callBoth(mark: string): string {
  return `Call ${LEFT} and ${RIGHT} now, both at once, then answer "done". (${mark})`;
}

/** A create with the two tools, whose first turn begins at once: environment `none` needs its input here. */
export function twoToolBody(context: SceneContext): Json {
  return body(context, INSTRUCTIONS, [functionTool(LEFT), functionTool(RIGHT)], callBoth('one'));
}

/** A create with one tool that is declared async. */
export function asyncBody(context: SceneContext): Json {
  const name = 'probe_async';
  const instructions =
    `You are part of a protocol test. For every message call the function ${name} exactly once, before you write ` +
    'anything. Do not wait for its result: answer with the single word "done". Never ask anything.';
  const input = `Call ${name} now, then answer "done".`;
  return body(context, instructions, [{ ...functionTool(name), async: true }], input);
}

function body(
  { model, budgetCents }: SceneContext,
  instructions: string,
  tools: Json[],
  input: string,
): Json {
  return {
    environment: { type: 'none' },
    agent: { model, instructions, tools },
    input,
    ...(budgetCents === null ? {} : { spend_control: { limit: budgetCents } }),
  };
}

function functionTool(name: string): Json {
  return {
    type: 'function',
    name,
    description: 'Part of a protocol test; does nothing.',
    parameters: {
      type: 'object',
      properties: { note: { type: 'string', description: 'One word.' } },
      required: ['note'],
      additionalProperties: false,
    },
  };
}
