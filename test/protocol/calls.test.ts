/** What `required_actions` asks for: known calls, and everything else kept (I5, I12). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callKey, owed } from '../../src/protocol/calls.ts';
import type { RequiredAction } from '../../src/protocol/wire.ts';

describe('owed', () => {
  it('takes function calls with both ids, whatever form their arguments have', () => {
    const calls = [{ a: 1 }, '{"a":1}', null, undefined].map((args, index) => ({
      turn_id: 't',
      call_id: `c${index}`,
      name: 'look',
      arguments: args,
    }));
    assert.deepEqual(owed(calls.map((call) => ({ type: 'function_call', ...call }))), { calls, others: [] });
  });

  it('keeps every other type with the id that it has (scenario 16)', () => {
    const actions: RequiredAction[] = [
      { type: 'environment_connection', environment_id: 'env' },
      { type: 'mcp_approval_request', request_id: 'r1', turn_id: 't' },
      { type: 'computer_use_approval_request', request_id: 'r2', turn_id: 't' },
      { type: 'retina_scan', turn_id: 't' },
    ];
    assert.deepEqual(owed(actions), {
      calls: [],
      others: [
        { type: 'environment_connection', id: 'env' },
        { type: 'mcp_approval_request', id: 'r1' },
        { type: 'computer_use_approval_request', id: 'r2' },
        { type: 'retina_scan', id: null },
      ],
    });
  });

  it('shows a call that lacks an id, and never answers it', () => {
    assert.deepEqual(owed([{ type: 'function_call', call_id: 'c', name: 'look' }]), {
      calls: [],
      others: [{ type: 'function_call', id: 'c' }],
    });
    assert.deepEqual(owed([{ type: 'function_call', turn_id: 't', name: 'look' }]).calls, []);
  });

  it('takes an absent list for an empty one, and a missing name for an unknown tool', () => {
    assert.deepEqual(owed(null), { calls: [], others: [] });
    assert.deepEqual(owed(undefined), { calls: [], others: [] });
    assert.equal(
      owed([{ type: 'function_call', turn_id: 't', call_id: 'c', name: null }]).calls[0]?.name,
      '',
    );
  });
});

describe('callKey', () => {
  it('holds turn and call: the same call id in another turn is another call', () => {
    assert.equal(callKey({ turn_id: 't1', call_id: 'c' }), 't1/c');
    assert.notEqual(callKey({ turn_id: 't1', call_id: 'c' }), callKey({ turn_id: 't2', call_id: 'c' }));
  });
});
