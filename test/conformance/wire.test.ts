/** Bytes on the wire: headers, frames, order of events, error bodies. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startEmulator } from '../../src/emulator/index.ts';
import {
  BETA,
  cancel,
  dig,
  emulate,
  errorOf,
  message,
  result,
  script,
  tool,
  type Json,
  LIMIT,
} from './support.ts';

describe('checks before the body', LIMIT, () => {
  it('asks for the beta header first, then the key, then the id', async (t) => {
    const bench = await emulate(t);
    const path = '/agents/sessions/sess_x/events';
    const bare = await bench.raw('POST', path, 'no json', {});
    assert.equal(bare.status, 400);
    assert.equal(errorOf(bare)['code'], 'invalid_beta');
    const other = await bench.raw('POST', path, 'no json', { 'openai-beta': 'assistants=v2' });
    assert.equal(errorOf(other)['code'], 'invalid_beta');
    const noKey = await bench.raw('POST', path, 'no json', BETA);
    assert.equal(noKey.status, 401);
    assert.deepEqual(errorOf(noKey), {
      type: 'invalid_request_error',
      code: null,
      message: "You didn't provide an API key.",
      param: null,
    });
    const noId = await bench.raw('POST', path, 'no json');
    assert.equal(noId.status, 404);
    assert.deepEqual(noId.body, {
      error: {
        type: 'not_found_error',
        code: 'not_found_error',
        message: 'No managed agent resource found: sess_x',
        param: null,
      },
    });
    const id = await bench.startIdle();
    const noBody = await bench.raw('POST', `/agents/sessions/${id}/events`, 'no json');
    assert.equal(noBody.status, 400);
    const { violations } = bench.emulator.counters();
    assert.deepEqual(
      violations.map((one) => one.kind),
      ['invalid_beta', 'invalid_beta', 'bad_request'],
    );
  });

  it('gives every answer its own request id', async (t) => {
    const bench = await emulate(t);
    const answers = await Promise.all([
      bench.raw('GET', '/agents/sessions'),
      bench.raw('GET', '/agents/sessions/none'),
      bench.raw('GET', '/no/such/path'),
      bench.raw('POST', '/agents/sessions', {}),
    ]);
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    assert.equal(new Set(ids).size, 4);
    for (const id of ids) assert.match(String(id), /^req_/);
  });

  it('listens on loopback only and answers local names only', async (t) => {
    // The type forbids it as well; a JavaScript caller has no types.
    const host = '0.0.0.0' as unknown as '127.0.0.1';
    await assert.rejects(startEmulator({ host }), /loopback only/);
    const bench = await emulate(t);
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const call = request(`${bench.origin}/v1/agents/sessions`, { headers: { host: 'rebound.example' } });
      call.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on('error', reject);
      call.end();
    });
    assert.equal(status, 403);
  });
});

describe('the event stream', LIMIT, () => {
  it('sends its headers before any event and frames as documented', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    assert.equal(stream.response.status, 200);
    assert.match(String(stream.response.headers.get('content-type')), /^text\/event-stream/);
    assert.equal(stream.text, '');
    await bench.post(id, message('hello'));
    await stream.until('idle');
    for (const frame of stream.text.split('\n\n').slice(0, -1)) {
      const [first = '', second = '', ...rest] = frame.split('\n');
      const event = JSON.parse(second.slice('data: '.length)) as Json;
      assert.equal(first, `event: ${String(event['type'])}`);
      assert.ok(second.startsWith('data: {'));
      assert.deepEqual(rest, []);
    }
    const ids = stream.events.map((event) => event['event_id']);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(stream.events.every((event) => typeof event['obfuscation'] === 'string'));
    assert.equal(stream.ended, 'open');
    await stream.cancel();
  });

  it('leaves the padding out on request', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id, '?include_obfuscation=false&stream=true');
    await bench.post(id, message('hello'));
    await stream.until('idle');
    assert.ok(stream.events.length > 5);
    assert.ok(stream.events.every((event) => !('obfuscation' in event)));
    await stream.cancel();
  });

  it('keeps a quiet connection alive with comments', async (t) => {
    const bench = await emulate(t, { pingMs: 5 });
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    const { waitFor } = await import('./support.ts');
    await waitFor('two pings', async () => (stream.text.split(': ping\n\n').length > 2 ? true : undefined));
    assert.deepEqual(stream.events, []);
    await stream.cancel();
  });

  it('orders one plain turn as the service was seen to', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ reason: 'let me see' }, { say: 'one two' }])));
    await stream.until('idle');
    assert.deepEqual(stream.types, [
      'turn.created',
      'turn.item.added',
      'in_progress',
      'turn.in_progress',
      'turn.item.added',
      'turn.reasoning_summary_part.added',
      'turn.reasoning_summary_text.delta',
      'turn.reasoning_summary_text.delta',
      'turn.reasoning_summary_text.delta',
      'turn.reasoning_summary_text.done',
      'turn.reasoning_summary_part.done',
      'turn.item.done',
      'turn.item.added',
      'turn.content_part.added',
      'turn.output_text.delta',
      'turn.output_text.delta',
      'turn.output_text.done',
      'turn.content_part.done',
      'turn.item.done',
      'turn.completed',
      'idle',
    ]);
    const [created, user] = stream.events;
    assert.equal(dig(created, 'turn', 'status'), 'queued');
    assert.equal(user?.['output_index'], null);
    const deltas = stream.events.filter((event) => event.type.endsWith('output_text.delta'));
    assert.equal(deltas.map((event) => event['delta']).join(''), 'one two');
    const answer = stream.events.findLast((event) => event.type.endsWith('item.done'))?.['item'] as Json;
    assert.equal(answer['phase'], 'final_answer');
    assert.equal(answer['status'], 'completed');
    const end = stream.events.at(-2);
    assert.equal(end?.['usage'], null);
    assert.equal(dig(end, 'turn', 'usage'), null);
    await stream.cancel();
  });

  it('orders a tool call: item, then requires_action with the whole list, then output and progress', async (t) => {
    const bench = await emulate(t);
    const id = await bench.startIdle();
    const stream = await bench.open(id);
    await bench.post(id, message(script([{ call: { name: 'look', call_id: 'c1', arguments: { a: 1 } } }])));
    await stream.until('requires_action');
    const at = stream.types.indexOf('requires_action');
    const added = stream.events[at - 1]?.['item'] as Json;
    assert.equal(added['type'], 'function_call');
    assert.equal(added['status'], 'in_progress');
    assert.notEqual(added['id'], 'c1');
    const session = stream.events[at]?.['session'] as Json;
    assert.deepEqual(session['required_actions'], [
      { type: 'function_call', turn_id: added['turn_id'], call_id: 'c1', name: 'look', arguments: { a: 1 } },
    ]);
    const [, turn] = await bench.turns(id);
    assert.equal(turn?.['status'], 'waiting');
    await bench.post(id, result({ turn_id: String(added['turn_id']), call_id: 'c1' }, 'seen'));
    await stream.until('idle');
    assert.deepEqual(stream.types.slice(at + 1), [
      'turn.item.added',
      'turn.item.done',
      'in_progress',
      'turn.completed',
      'idle',
    ]);
    const output = stream.events[at + 1]?.['item'] as Json;
    assert.deepEqual(
      [output['type'], output['call_id'], output['output'], output['error'], output['status']],
      ['function_call_output', 'c1', 'seen', null, 'completed'],
    );
    assert.deepEqual(dig(stream.events[at + 3], 'session', 'required_actions'), []);
    await stream.cancel();
  });

  it('replays nothing to a late reader', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start([{ call: { name: 'look' } }]);
    const [call] = await bench.pending(id);
    const stream = await bench.open(id);
    await bench.post(id, cancel);
    await stream.until('idle');
    assert.deepEqual(stream.types, ['turn.item.done', 'turn.cancelled', 'idle']);
    assert.ok(call);
    await stream.cancel();
  });

  it('refuses one listener more than it allows', async (t) => {
    const bench = await emulate(t, { maxListeners: 2 });
    const id = await bench.startIdle();
    const open = [await bench.open(id), await bench.open(id)];
    const third = await bench.raw('GET', `/agents/sessions/${id}/events`);
    assert.equal(third.status, 429);
    await Promise.all(open.map((stream) => stream.cancel()));
  });

  it('does not list tool_search and resolves tool defaults', async (t) => {
    const bench = await emulate(t);
    const id = await bench.start('hi', { agent: { tools: [tool('look'), { type: 'tool_search' }] } });
    const agent = (await bench.session(id))['agent'] as Json;
    const tools = agent['tools'] as Json[];
    assert.deepEqual(
      tools.map((one) => [one['type'], one['defer_loading']]),
      [['function', false]],
    );
  });
});
