/** What a stream shows of a turn, whatever order and however often it says it (agents-api.md 6: R2, R4, R8–R11). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Progress } from '../../src/protocol/progress.ts';
import type { Item, SessionEvent } from '../../src/protocol/wire.ts';

const TURN = 'turn_1';
let serial = 0;
function event(type: string, fields: Partial<SessionEvent> = {}): SessionEvent {
  return { type: `agent.session.turn.${type}`, event_id: `evt_${++serial}`, turn_id: TURN, ...fields };
}
const delta = (item_id: string, text: string, content_index = 0): SessionEvent =>
  event('output_text.delta', { item_id, content_index, delta: text });
const textDone = (item_id: string, text: string, content_index = 0): SessionEvent =>
  event('output_text.done', { item_id, content_index, text });
function answer(status: string, ...texts: string[]): Item {
  const content = texts.map((text) => ({ type: 'output_text', text }));
  return { id: 'm', type: 'message', role: 'assistant', turn_id: TURN, status, content };
}
const call = (status: string): Item => ({
  id: 'f',
  type: 'function_call',
  call_id: 'c',
  turn_id: TURN,
  status,
});
function shown(...events: SessionEvent[]): ReturnType<Progress['view']> {
  const progress = new Progress();
  for (const one of events) progress.add(one, TURN);
  return progress.view();
}

describe('text', () => {
  it('replaces deltas by the whole text, and never adds to it (R2)', () => {
    assert.equal(shown(delta('m', 'Hel'), delta('m', 'lo')).text_chars, 5);
    assert.equal(shown(delta('m', 'Hel'), delta('m', 'lo'), textDone('m', 'Hello')).text_chars, 5);
    assert.equal(shown(delta('m', 'lo'), textDone('m', 'Hello')).text_chars, 5, 'joined in the middle (R3)');
    assert.equal(shown(textDone('m', 'Hello')).text_chars, 5, 'no deltas at all (R1)');
  });

  it('keeps two parts of one item apart', () => {
    assert.equal(shown(delta('m', 'ab'), delta('m', 'cde', 1), textDone('m', 'ab')).text_chars, 5);
  });

  it('drops what comes late for a part or an item that is final (R4)', () => {
    assert.equal(shown(textDone('m', 'Hello'), delta('m', 'lo')).text_chars, 5);
    const done = event('item.done', { item: answer('completed', 'Hello') });
    assert.equal(shown(done, delta('m', 'lo')).text_chars, 5);
    assert.equal(shown(done, delta('m', 'more', 1)).text_chars, 5);
  });

  it('shows a finished message that appears as a whole, once', () => {
    const added = event('item.added', { item: answer('completed', 'Hello') });
    assert.deepEqual(shown(added, added), { events: 1, items: 1, current_item: null, text_chars: 5 });
  });

  it("counts the followed turn's text alone (R11)", () => {
    const child = { ...delta('x', 'child says'), turn_id: 'turn_child' };
    const item = { ...answer('completed', 'child says'), id: 'x', turn_id: 'turn_child' };
    assert.equal(
      shown(child, event('item.done', { item, turn_id: 'turn_child' }), delta('m', 'abc')).text_chars,
      3,
    );
  });

  it('counts no user text', () => {
    const item: Item = { ...answer('completed', 'question'), role: 'user' };
    assert.equal(shown(event('item.added', { item })).text_chars, 0);
  });
});

describe('items', () => {
  it('is idempotent by item id and never goes back from final to unfinished (R9)', () => {
    const view = shown(
      event('item.added', { item: call('in_progress') }),
      event('item.done', { item: call('completed') }),
      event('item.added', { item: call('in_progress') }),
    );
    assert.deepEqual([view.items, view.current_item], [1, null]);
  });

  it('names the item in work, and nothing between items', () => {
    const progress = new Progress();
    const current = (one: SessionEvent): string | null => {
      progress.add(one, TURN);
      return progress.view().current_item;
    };
    assert.equal(
      current(event('item.added', { item: { ...answer('completed', 'q'), id: 'u', role: 'user' } })),
      null,
    );
    assert.equal(current(event('item.added', { item: call('in_progress') })), 'function_call');
    const output: Item = { id: 'o', type: 'function_call_output', call_id: 'c', status: 'completed' };
    assert.equal(current(event('item.added', { item: output })), 'function_call');
    assert.equal(current(event('item.done', { item: call('completed') })), null);
    // An item without a status is final when it arrives (agents-api.md 4).
    assert.equal(current(event('item.added', { item: { id: 'n', type: 'agent_message' } })), null);
    assert.equal(current(event('item.added', { item: answer('in_progress') })), 'message');
  });

  it('stands items without id, of unknown type, and with strange content (R7, I12)', () => {
    const strange = { ...answer('completed'), id: 's', content: 'text' as never };
    const view = shown(
      event('item.added', { item: { ...answer('completed', 'q'), id: null, role: 'user' } }),
      event('item.added', { item: { id: 'x', type: 'hologram', status: 'completed' } }),
      event('item.done', { item: strange }),
      event('moon.risen'),
    );
    assert.equal(view.events, 4);
    assert.equal(view.items, 2);
  });
});

describe('event ids', () => {
  it('ignores a repeat (R8)', () => {
    const progress = new Progress();
    const one = delta('m', 'abc');
    assert.equal(progress.add(one, TURN), true);
    assert.equal(progress.add(one, TURN), false);
    assert.deepEqual(progress.view(), { events: 1, items: 0, current_item: null, text_chars: 3 });
  });

  it('never takes an event without id for a repeat', () => {
    const { event_id: _, ...bare } = event('moon.risen');
    assert.equal(shown(bare, bare).events, 2);
  });

  it('remembers a bounded number of them', () => {
    const progress = new Progress();
    const first = event('moon.risen');
    progress.add(first, TURN);
    for (let i = 0; i < 1023; i++) progress.add(event('moon.risen'), TURN);
    assert.equal(progress.add(first, TURN), false, 'still among the last 1024');
    progress.add(event('moon.risen'), TURN);
    assert.equal(progress.add(first, TURN), true, 'forgotten, and harmless');
  });
});

it('shows the same at the end for every order of the same events', () => {
  const events = [
    event('item.added', { item: answer('in_progress') }),
    delta('m', 'Hel'),
    delta('m', 'lo'),
    textDone('m', 'Hello'),
    event('item.done', { item: answer('completed', 'Hello') }),
  ];
  const order = fc.shuffledSubarray(events, { minLength: events.length });
  fc.assert(
    fc.property(order, (shuffled) => {
      assert.deepEqual(shown(...shuffled), { events: 5, items: 1, current_item: null, text_chars: 5 });
    }),
  );
});
