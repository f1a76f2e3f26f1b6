/** What each refusal means for the caller (agents-api.md 5.7, 2.2; scenario 50), and what it shows (I11). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { AgentsApi } from '../../src/openai/agents-api.ts';
import { toApiError, type ApiError, type ApiErrorKind } from '../../src/openai/api-error.ts';
import { json, KEY, oddServer, refusal } from './bench.ts';

interface Answer {
  status: number;
  code?: string | null;
  message?: string;
  param?: string;
  headers?: Record<string, string>;
  /** Instead of the API's own error body. */
  raw?: string;
}

/** All that is to be read from an error. */
function everything(error: ApiError): string {
  return JSON.stringify([Object.entries(error), error.message, error.stack, error.cause]);
}

async function refused(t: Parameters<typeof oddServer>[0], answer: Answer): Promise<ApiError> {
  const { status, code = null, message = 'no', param = null, headers, raw } = answer;
  const api = await oddServer(t, (_, response) => {
    if (raw === undefined)
      return json(response, { error: { type: 'x', code, message, param } }, status, headers);
    response.writeHead(status, { 'content-type': 'text/html', ...headers });
    response.end(raw);
  });
  return refusal(() => api.getSession('sess_1'));
}

describe('kinds', { concurrency: true }, () => {
  const rows: [Answer, ApiErrorKind][] = [
    [{ status: 400, code: 'invalid_request_error' }, 'invalid'],
    [{ status: 400, code: 'invalid_beta' }, 'invalid'],
    [{ status: 400, code: 'agent_not_persisted' }, 'invalid'],
    [{ status: 400, code: 'invalid_otlp_endpoint' }, 'invalid'],
    [{ status: 401, code: 'unauthorized' }, 'unauthorized'],
    [{ status: 401, code: null }, 'unauthorized'],
    [{ status: 403, code: 'forbidden' }, 'unauthorized'],
    [{ status: 404, code: 'not_found_error' }, 'not_found'],
    [{ status: 404, code: 'not_found' }, 'not_found'],
    [{ status: 404, code: 'model_not_found' }, 'not_found'],
    [{ status: 409, code: 'conflict_error' }, 'conflict'],
    [{ status: 409, code: 'active_turn_not_steerable', headers: { 'x-should-retry': 'false' } }, 'conflict'],
    [{ status: 409, code: 'executor_version_incompatible' }, 'conflict'],
    [{ status: 413 }, 'invalid'],
    [{ status: 422, code: 'unprocessable' }, 'invalid'],
    [{ status: 424, code: 'mcp_server_startup_failed' }, 'invalid'],
    [{ status: 408 }, 'unavailable'],
    [{ status: 425 }, 'unavailable'],
    [{ status: 429, code: 'files_api_rate_limit_exceeded' }, 'unavailable'],
    [{ status: 429, code: 'rate_limit_exceeded' }, 'unavailable'],
    [{ status: 500, code: 'internal_error' }, 'unavailable'],
    [{ status: 502, raw: '<html>bad gateway</html>' }, 'unavailable'],
    [{ status: 503, code: 'service_unavailable_error' }, 'unavailable'],
    [{ status: 503, code: 'server_is_overloaded' }, 'unavailable'],
    [{ status: 504, raw: '' }, 'unavailable'],
    [{ status: 529, code: 'something_new' }, 'unavailable'],
    [{ status: 418, code: 'something_new' }, 'invalid'],
    // Time does not cure an account, whatever the status.
    [{ status: 429, code: 'insufficient_quota' }, 'exhausted'],
    [{ status: 429, code: 'usage_limit_exceeded' }, 'exhausted'],
    [{ status: 403, code: 'billing_not_active' }, 'exhausted'],
    [{ status: 402, code: 'credit_balance_exhausted' }, 'exhausted'],
    [{ status: 429, code: 'project_spend_limit_exceeded' }, 'exhausted'],
  ];
  for (const [answer, kind] of rows) {
    it(`${answer.status} ${answer.code ?? 'without a code'} is ${kind}`, async (t) => {
      const error = await refused(t, answer);
      assert.equal(error.kind, kind);
      assert.equal(error.status, answer.status);
      assert.equal(error.code, answer.raw === undefined ? (answer.code ?? null) : null);
      assert.equal(error.retryable, kind === 'unavailable');
    });
  }
});

describe('Retry-After (scenario 50)', { concurrency: true }, () => {
  const forms: [Record<string, string>, (ms: number | null) => boolean][] = [
    [{}, (ms) => ms === null],
    [{ 'retry-after': '7' }, (ms) => ms === 7000],
    [{ 'retry-after': '0.5' }, (ms) => ms === 500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, (ms) => ms === 250],
    [
      { 'retry-after': new Date(Date.now() + 30_000).toUTCString() },
      (ms) => ms !== null && ms > 20_000 && ms <= 30_000,
    ],
    [{ 'retry-after': new Date(0).toUTCString() }, (ms) => ms === null],
    [{ 'retry-after': '0' }, (ms) => ms === null],
    [{ 'retry-after': '-3' }, (ms) => ms === null],
    [{ 'retry-after': '1000000' }, (ms) => ms === 600_000],
    [{ 'retry-after': 'soon' }, (ms) => ms === null],
    [{ 'retry-after': '' }, (ms) => ms === null],
    [{ 'retry-after-ms': 'x', 'retry-after': '2' }, (ms) => ms === 2000],
  ];
  for (const [headers, good] of forms) {
    it(`reads ${JSON.stringify(headers)}`, async (t) => {
      const error = await refused(t, { status: 429, headers });
      assert.ok(good(error.retryAfterMs), String(error.retryAfterMs));
    });
  }
});

describe('what it says', { concurrency: true }, () => {
  it('names request, status, words, code, field and request id', async (t) => {
    const error = await refused(t, {
      status: 400,
      code: 'invalid_request_error',
      message: "Missing required parameter: 'environment'.",
      param: 'environment',
      headers: { 'x-request-id': 'req_7' },
    });
    assert.equal(
      error.message,
      "read session: HTTP 400: Missing required parameter: 'environment'. (code invalid_request_error, param environment, request req_7)",
    );
    assert.deepEqual([error.param, error.requestId, error.name], ['environment', 'req_7', 'ApiError']);
  });

  it('says what to do about a rejected key, and nothing that the server echoes', async (t) => {
    const error = await refused(t, {
      status: 401,
      message: `Incorrect API key provided: ${KEY}`,
      code: `bad ${KEY}`,
    });
    assert.match(error.message, /^read session: HTTP 401: the API key was refused; check OPENAI_API_KEY/);
    assert.equal(error.detail, '');
    assert.doesNotMatch(everything(error), new RegExp(KEY));
  });

  it('shows no key in any refusal, of whatever form the key is', async (t) => {
    for (const status of [400, 403, 404, 409, 429, 500]) {
      const message = `key ${KEY}, sk-proj-abcdefgh, Authorization: Bearer abc.def`;
      const error = await refused(t, {
        status,
        message,
        code: KEY,
        param: KEY,
        headers: { 'x-request-id': KEY },
      });
      const all = everything(error);
      assert.doesNotMatch(all, new RegExp(`${KEY}|abcdefgh|abc\\.def`));
    }
  });

  it('is short, whatever the server sends', async (t) => {
    const long = 'x'.repeat(100_000);
    const error = await refused(t, { status: 400, message: long, code: long, param: long });
    assert.ok(error.message.length < 1500, `${error.message.length}`);
    const page = await refused(t, { status: 502, raw: `<html>${long}` });
    assert.ok(page.message.length < 200);
  });

  it('is in plain words for an account that is out of money', async (t) => {
    const error = await refused(t, {
      status: 403,
      code: 'billing_not_active',
      message: 'Billing is not active.',
    });
    assert.match(error.message, /HTTP 403: Billing is not active\. \(code billing_not_active/);
  });
});

describe('no answer', { concurrency: true }, () => {
  function failed(error: ApiError, words: RegExp): void {
    assert.deepEqual([error.kind, error.status, error.retryAfterMs], ['unavailable', null, null]);
    assert.match(error.message, words);
  }

  it('is a refused connection', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const api = new AgentsApi({ apiKey: KEY, baseURL: `http://user:secret@127.0.0.1:${port}/v1` });
    const error = await refusal(() => api.getSession('s'));
    failed(error, /^read session: the Agents API did not answer \(/);
    assert.doesNotMatch(error.message, /secret/);
  });

  it('is a name that does not resolve', async () => {
    const api = new AgentsApi({ apiKey: KEY, baseURL: 'http://agents.invalid/v1' });
    failed(await refusal(() => api.getSession('s')), /did not answer \((ENOTFOUND|EAI_AGAIN)\)$/);
  });

  it('is a connection cut before the headers', async (t) => {
    const api = await oddServer(t, (request) => request.socket.destroy());
    failed(await refusal(() => api.getSession('s')), /did not answer \((UND_ERR_SOCKET|ECONNRESET)\)$/);
    failed(await refusal(() => api.newestTurns('s', 1)), /^list turns: .*did not answer/);
  });

  it('is a body that was cut, or is no JSON', async (t) => {
    for (const body of ['{"id":"s","st', 'no json']) {
      const api = await oddServer(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write(body, () => response.destroy());
      });
      failed(await refusal(() => api.getSession('s')), /did not answer/);
      failed(await refusal(() => api.newestTurns('s', 1)), /did not answer/);
    }
    const api = await oddServer(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('<html>a proxy says hello');
    });
    failed(await refusal(() => api.getSession('s')), /did not answer/);
  });

  it('is an answer that is not what was asked for', async (t) => {
    const bodies: [string, string][] = [
      ['text/html', '<html>a proxy says hello'],
      ['application/json', ''],
      ['application/json', 'null'],
      ['application/json', '[]'],
      ['application/json', '{}'],
    ];
    for (const [type, body] of bodies) {
      const api = await oddServer(t, (_, response) => {
        response.writeHead(200, { 'content-type': type });
        response.end(body);
      });
      for (const ask of [
        () => api.getSession('s'),
        () => api.createSession({}),
        () => api.getTurn('s', 't'),
        () => api.newestTurns('s', 1),
        () => api.listSessions({}),
      ]) {
        failed(await refusal(ask), /: the Agents API did not answer \((unexpected answer|no JSON)\)$/);
      }
    }
  });

  it('is a body that never comes to its end (scenario 24)', async (t) => {
    const hang = { requestTimeoutMs: 150 };
    const api = await oddServer(
      t,
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"id":');
      },
      hang,
    );
    failed(await refusal(() => api.getSession('s')), /did not answer \(timeout\)$/);
    failed(await refusal(() => api.newestTurns('s', 1)), /did not answer \(timeout\)$/);
    const silent = await oddServer(t, () => undefined, hang);
    failed(await refusal(() => silent.getSession('s')), /did not answer \(timeout\)$/);
    failed(
      await refusal(() => silent.openStream('s', new AbortController().signal)),
      /did not answer \(timeout\)$/,
    );
  });
});

describe('toApiError', () => {
  it('leaves what is no API error as it is', () => {
    for (const error of [new Error('x'), new TypeError('a bug of ours'), 'text', null]) {
      assert.equal(toApiError(error, 'x'), error);
    }
  });
});
