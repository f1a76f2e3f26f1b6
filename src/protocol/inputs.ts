import type { InputMessage } from './wire.ts';

/**
 * A task's input as messages: text becomes one user message (the API's own shorthand, agents-api.md 1.3), messages
 * stay as they are.
 */
export function inputMessages(input: string | InputMessage[]): InputMessage[] {
  if (typeof input !== 'string') return input;
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
}
