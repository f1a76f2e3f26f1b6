/** What a task may be started with, and how everything else is refused (scenario 55). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { inputMessages } from '../../src/protocol/inputs.ts';
import { InvalidInputError } from '../../src/schema/invalid-input.ts';
import { parseTaskInput } from '../../src/schema/task-input.ts';
import { bad, EXAMPLE, good, ok } from './task-input-cases.ts';

function messageOf(value: unknown, argumentCount?: number): string {
  try {
    parseTaskInput(value, argumentCount);
  } catch (error) {
    assert.ok(error instanceof InvalidInputError);
    assert.equal(error.name, 'InvalidInputError');
    return error.message;
  }
  throw new assert.AssertionError({ message: 'the input was accepted' });
}

describe('task input', () => {
  for (const [title, value, normalised] of good) {
    it(`accepts ${title}`, () => assert.deepEqual(parseTaskInput(value), normalised));
  }

  for (const [title, value, message] of bad) {
    it(`refuses ${title}`, () => assert.equal(messageOf(value), message));
  }

  it('refuses no argument and two arguments', () => {
    assert.equal(messageOf(null, 0), `input: missing, give one JSON object such as ${EXAMPLE}`);
    assert.equal(
      messageOf(ok, 2),
      `input: expected one argument, got 2: put everything into one JSON object such as ${EXAMPLE}`,
    );
  });

  it('names several problems, bounded, and echoes no long value', () => {
    const secret = 'sk-'.padEnd(5000, 'x');
    const message = messageOf({
      agent: 7,
      session_id: 1,
      environment: secret,
      review: 2,
      vault_ids: secret,
      metadata: secret,
      [secret]: secret,
    });
    assert.match(message, /; and 3 more$/);
    assert.ok(message.length < 1500);
    assert.ok(!message.includes(secret.slice(0, 60)));
    assert.ok(!message.includes('\n'));
  });

  it('parses any JSON value or throws InvalidInputError, and parsing twice changes nothing', () => {
    const known = 'agent agent_id session_id input environment metadata spend_control prompt_cache_options';
    const field = fc.constantFrom(...`${known} review vault_ids __proto__ constructor`.split(' '));
    const plausible = fc.oneof(
      fc.constantFrom('a', { type: 'none' }, { model: 'm' }, { limit: 3 }, ['v'], null),
      fc.jsonValue({ maxDepth: 3 }),
    );
    const record = fc
      .array(fc.tuple(field, plausible), { maxLength: 6 })
      .map(
        (pairs) =>
          JSON.parse(
            `{${pairs.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join()}}`,
          ) as unknown,
      );
    // Chance alone rarely makes a good one.
    const whole = fc.record({
      agent: fc.constantFrom('a', { model: 'm', reasoning: null }),
      input: fc.string().map((text) => `say ${text}`),
      metadata: fc.constantFrom({}, { k: 'v' }),
    });
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(record, fc.jsonValue(), whole), (value) => {
        const before = JSON.stringify(value);
        try {
          const parsed = parseTaskInput(value);
          accepted++;
          assert.deepEqual(parseTaskInput(parsed), parsed);
        } catch (error) {
          if (!(error instanceof InvalidInputError)) throw error;
          assert.ok(error.issues.length > 0);
        }
        assert.equal(JSON.stringify(value), before);
      }),
      { numRuns: 3000 },
    );
    assert.ok(accepted > 0, 'the generator never made a good input');
  });
});

describe('inputMessages', () => {
  it('makes one user message of text and leaves messages alone', () => {
    const messages = inputMessages('hi');
    assert.deepEqual(messages, [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    ]);
    assert.equal(inputMessages(messages), messages);
  });
});
