/** How a turn ended, from saved state alone (I7). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addUsage,
  failedTools,
  finalText,
  firstTurnAfter,
  isRoot,
  isTerminal,
  messageText,
  sessionEnd,
  userTexts,
} from '../../src/protocol/outcome.ts';
import type { ContentPart, Item, Turn } from '../../src/protocol/wire.ts';

let serial = 0;
function message(fields: Partial<Item>, ...texts: string[]): Item {
  const type = fields.role === 'user' ? 'input_text' : 'output_text';
  return {
    id: `msg_${++serial}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    phase: 'final_answer',
    content: texts.map((text) => ({ type, text })),
    ...fields,
  };
}

function turn(id: string, fields: Partial<Turn> = {}): Turn {
  return { id, status: 'completed', subagent_id: null, session_id: 's', created_at: 1, ...fields };
}

describe('finalText', () => {
  it('joins the parts of completed assistant messages, without separators, in list order', () => {
    assert.equal(finalText([message({}, 'a', 'b'), message({ phase: null }, 'c')]), 'abc');
  });

  it('leaves out commentary, unfinished messages, user messages and everything that is no message', () => {
    const items = [
      message({ role: 'user', phase: null }, 'question'),
      message({ phase: 'commentary' }, 'let me look'),
      { id: 'r', type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'hm' }] },
      message({ status: 'in_progress' }, 'half'),
      message({ status: 'incomplete' }, 'cut'),
      { id: 'm', type: 'agent_message', content: [{ type: 'output_text', text: 'from a subagent' }] },
      { id: 'x', type: 'hologram', status: 'completed', content: [{ type: 'output_text', text: '?' }] },
      message({}, 'answer'),
    ];
    assert.equal(finalText(items), 'answer');
  });

  it('never merges messages with a null id, and keeps unknown phases (R7, I12)', () => {
    assert.equal(
      finalText([message({ id: null }, 'a'), message({ id: null, phase: 'epilogue' }, 'b')]),
      'ab',
    );
  });

  it('reads only output_text, and stands a message without content', () => {
    const odd: ContentPart[] = [
      { type: 'refusal', text: 'no' },
      { type: 'output_text' },
      { type: 'output_text', text: 'yes' },
    ];
    const { content: _, ...bare } = message({});
    assert.equal(finalText([bare, message({ content: odd })]), 'yes');
  });

  it('stands content that is no list (I12)', () => {
    const strange = { ...message({}), content: 'text' as unknown as ContentPart[] };
    assert.equal(finalText([strange, message({}, 'x')]), 'x');
    assert.deepEqual(userTexts([{ ...strange, role: 'user' }]), ['']);
  });
});

describe('failedTools', () => {
  it('counts a failed call and its output once, and other failed items each', () => {
    const items: Item[] = [
      { id: 'a', type: 'function_call', call_id: 'c1', status: 'failed' },
      {
        id: 'b',
        type: 'function_call_output',
        call_id: 'c1',
        status: 'completed',
        output: null,
        error: 'no',
      },
      { id: 'c', type: 'function_call', call_id: 'c2', status: 'completed' },
      {
        id: 'd',
        type: 'function_call_output',
        call_id: 'c2',
        status: 'completed',
        output: 'ok',
        error: null,
      },
      { id: 'e', type: 'command_execution', status: 'failed' },
      { id: 'f', type: 'mcp_call', status: 'completed', error: null },
      { id: null, type: 'local_unknown', status: 'failed' },
      { id: null, type: 'local_unknown', status: 'failed' },
      { id: 'g', type: 'message', role: 'assistant', status: 'completed' },
    ];
    assert.equal(failedTools(items), 4);
    assert.equal(failedTools([]), 0);
  });
});

describe('userTexts', () => {
  it('gives the text of each user message, images left out', () => {
    const items = [
      message({ role: 'user' }, 'one ', 'text'),
      message({}, 'answer'),
      message({ role: 'user', content: [{ type: 'input_image', image_url: 'data:x' }] }),
    ];
    assert.deepEqual(userTexts(items), ['one text', '']);
    assert.equal(messageText([{ type: 'input_text', text: 'a' }, { type: 'input_image' }]), 'a');
  });
});

describe('firstTurnAfter', () => {
  // Lists are in descending order (agents-api.md 1.4).
  it('is the oldest root turn newer than the given one', () => {
    const turns = [turn('t4'), turn('t3'), turn('t2'), turn('t1')];
    assert.equal(firstTurnAfter(turns, 't1')?.id, 't2');
    assert.equal(firstTurnAfter(turns, 't4'), null);
    assert.equal(firstTurnAfter(turns, null)?.id, 't1');
    assert.equal(firstTurnAfter([], null), null);
  });

  it("passes over subagents' turns (R11)", () => {
    const child = { subagent_id: 'agent_1' };
    const turns = [turn('c2', child), turn('t2'), turn('c1', child), turn('t1')];
    assert.equal(firstTurnAfter(turns, 't1')?.id, 't2');
    assert.equal(firstTurnAfter([turn('c1', child), turn('t1')], 't1'), null);
  });
});

describe('states', () => {
  it('takes only the three terminal statuses for an end (I12)', () => {
    for (const status of ['completed', 'failed', 'cancelled']) assert.ok(isTerminal({ status }));
    for (const status of ['queued', 'in_progress', 'waiting', 'hibernating', ''])
      assert.ok(!isTerminal({ status }));
  });

  it('takes a turn of an unknown status for ended when it says since when (I12)', () => {
    assert.ok(isTerminal({ status: 'incomplete', completed_at: 1_700_000_000 }));
    assert.ok(!isTerminal({ status: 'incomplete', completed_at: null }));
    assert.ok(!isTerminal({ status: 'in_progress', completed_at: 1_700_000_000 }), 'a known status counts');
  });

  it('takes a turn without subagent for a root turn', () => {
    assert.ok(isRoot({ subagent_id: null }));
    assert.ok(!isRoot({ subagent_id: 'agent_1' }));
  });

  it('knows which session statuses end everything: neither idle nor an unknown one', () => {
    assert.equal(sessionEnd({ status: 'failed' }), 'session_failed');
    assert.equal(sessionEnd({ status: 'budget_reached' }), 'budget_reached');
    for (const status of ['idle', 'in_progress', 'requires_action', 'dreaming'])
      assert.equal(sessionEnd({ status }), null);
  });
});

describe('addUsage', () => {
  it('adds what is known and keeps unknown apart from zero', () => {
    const one = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    assert.equal(addUsage(null, null), null);
    assert.equal(addUsage(null, one), one);
    assert.equal(addUsage(one, undefined), one);
    const detailed = {
      ...one,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 5 },
    };
    assert.deepEqual(addUsage(one, detailed), {
      input_tokens: 2,
      output_tokens: 4,
      total_tokens: 6,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 5 },
    });
  });
});
