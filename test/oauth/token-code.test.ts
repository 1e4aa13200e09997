import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mint } from '../../server/domain/clients/tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { scopesOf } from './bearer.ts';
import {
  addClient,
  addPerson,
  answerOf,
  approve,
  askToken,
  authorizeUrl,
  callback,
  challengeOf,
  connect,
  newVerifier,
  post,
  redeem,
  refresh,
  visit,
  type Parameters,
  type Person,
  type TokenAnswer,
} from './scene.ts';

let service: TestService;
let ada: Person;
let clientId: string;

beforeAll(async () => {
  service = await openService({ nodes: 2 });
  ada = await addPerson(service, 'Ada');
  clientId = await addClient(service, ada);
});
afterAll(() => service?.close());
beforeEach(() => service.clock.advance(60_000));

/** A new code with its verifier. */
async function freshCode(
  client = clientId,
  person = ada,
): Promise<{ clientId: string; code: string; verifier: string }> {
  const verifier = newVerifier();
  const code = await approve(service, person, { client_id: client, code_challenge: challengeOf(verifier) });
  return { clientId: client, code, verifier };
}

const asBody = ({ clientId: client_id, code, verifier }: Awaited<ReturnType<typeof freshCode>>): Parameters => ({
  grant_type: 'authorization_code',
  client_id,
  code,
  code_verifier: verifier,
  redirect_uri: callback,
});

const send = (body: string, type: string | null = 'application/json', query = '') =>
  fetch(`${service.origin}/api/mcp/token${query}`, {
    method: 'POST',
    headers: type === null ? {} : { 'content-type': type },
    body: Buffer.from(body),
  });

async function errorOf(response: Response): Promise<{ status: number; error: string }> {
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return { status: response.status, error: ((await response.json()) as { error: string }).error };
}

describe('a token request', () => {
  test('53. works as a form', async () => {
    expect((await redeem(service, await freshCode())).status).toBe(200);
  });

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    '54. works as %s, like a form',
    async (type) => {
      const response = await send(JSON.stringify(asBody(await freshCode())), type);
      expect(response.status).toBe(200);
      const form = await redeem(service, await freshCode());
      expect(Object.keys((await response.json()) as object).toSorted()).toEqual(Object.keys(form.body).toSorted());
    },
  );

  test('55. with JSON that is oversized or no object of strings gets 400 invalid_request', async () => {
    const good = asBody(await freshCode());
    const bodies = [
      '{',
      '',
      'null',
      '[]',
      '"text"',
      '17',
      JSON.stringify({ ...good, code: [good['code']] }),
      JSON.stringify({ ...good, code: { a: 1 } }),
      JSON.stringify({ ...good, code: 1 }),
      JSON.stringify({ ...good, client_id: null }),
      JSON.stringify({ ...good, padding: 'x'.repeat(20_000) }),
      JSON.stringify({ ...good, redirect_uri: 'a\0b' }),
      JSON.stringify(good).replace('{', '{"more":"1","more":"2","code":"another",'),
    ];
    for (const body of bodies) {
      expect([body.slice(0, 60), await errorOf(await send(body))]).toEqual([
        body.slice(0, 60),
        { status: 400, error: 'invalid_request' },
      ]);
    }
    expect((await askToken(service, good)).status).toBe(200);
  });

  test('55. with a body that is not UTF-8 or never ends gets 400 invalid_request', async () => {
    const url = `${service.origin}/api/mcp/token`;
    const bytes = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0xff, 0x7d]),
    });
    expect(await errorOf(bytes)).toEqual({ status: 400, error: 'invalid_request' });
    const endless = new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(8192)) });
    const streamed = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    } as RequestInit);
    expect(await errorOf(streamed)).toEqual({ status: 400, error: 'invalid_request' });
  });

  test('56. with another content type gets 415 in OAuth JSON', async () => {
    const body = new URLSearchParams(Object.entries(asBody(await freshCode())) as [string, string][]).toString();
    for (const type of [
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded; charset=iso-8859-1',
      null,
    ]) {
      const { status, error } = await errorOf(await send(body, type));
      expect([type, status, error]).toEqual([type, 415, 'invalid_request']);
    }
  });

  test('57. with its parameters in the query gets 400 invalid_request', async () => {
    const good = asBody(await freshCode());
    const query = `?${new URLSearchParams(Object.entries(good) as [string, string][])}`;
    expect(await errorOf(await send('', 'application/x-www-form-urlencoded', query))).toEqual({
      status: 400,
      error: 'invalid_request',
    });
    expect((await askToken(service, good)).status).toBe(200);
  });

  test('58. with GET or another method gets 405', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${service.origin}/api/mcp/token`, { method });
      expect([method, response.headers.get('allow')]).toEqual([method, 'POST, OPTIONS']);
      expect(await errorOf(response)).toEqual({ status: 405, error: 'invalid_request' });
    }
  });

  test.each(['grant_type', 'code', 'code_verifier', 'client_id', 'redirect_uri'])(
    '61. with a missing or empty %s gets 400 invalid_request',
    async (name) => {
      const good = await freshCode();
      for (const value of [undefined, '']) {
        const { status, body } = await askToken(service, { ...asBody(good), [name]: value });
        expect([status, body.error]).toEqual([400, 'invalid_request']);
        expect(body.error_description).toContain(name);
      }
      expect((await redeem(service, good)).status).toBe(200);
    },
  );

  test.each([
    'password',
    'client_credentials',
    'implicit',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'constructor',
  ])('62. with grant type %s gets 400 unsupported_grant_type', async (grant_type) => {
    const { status, body } = await askToken(service, {
      ...asBody(await freshCode()),
      grant_type,
      username: 'a',
      password: 'b',
    });
    expect([status, body.error]).toEqual([400, 'unsupported_grant_type']);
  });

  test('63. with a repeated form parameter gets 400 invalid_request', async () => {
    const good = await freshCode();
    for (const name of ['grant_type', 'client_id', 'code', 'code_verifier', 'redirect_uri']) {
      const form = new URLSearchParams(Object.entries(asBody(good)) as [string, string][]);
      form.append(name, form.get(name) ?? '');
      expect(await errorOf(await send(form.toString(), 'application/x-www-form-urlencoded'))).toEqual({
        status: 400,
        error: 'invalid_request',
      });
    }
    expect((await redeem(service, good)).status).toBe(200);
  });

  test('64. of an unknown, malformed, disabled or deleted client gets 401 invalid_client', async () => {
    const gone = await addClient(service, ada);
    const good = await freshCode(gone);
    for (const client_id of ['01900000-0000-7000-8000-000000000000', 'nobody', '%00']) {
      const { status, body } = await redeem(service, good, { client_id });
      expect([status, body.error]).toEqual([401, 'invalid_client']);
    }
    await service.sql('update connected_clients set disabled = true where id = $1', [gone]);
    expect((await redeem(service, good)).body.error).toBe('invalid_client');
    await service.sql('update connected_clients set disabled = false, deleted_at = app.now() where id = $1', [gone]);
    expect((await redeem(service, good)).status).toBe(401);
  });

  test('65. needs no client secret, and none replaces the verifier', async () => {
    const good = await freshCode();
    const { status, body } = await redeem(service, good, { code_verifier: undefined, client_secret: 'x' });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect((await redeem(service, good, { client_secret: 'anything' })).status).toBe(200);
  });

  test('with an alias of the tool server as resource works, with another resource gets invalid_target', async () => {
    const good = await freshCode();
    const { status, body } = await redeem(service, good, { resource: 'https://evil.example/' });
    expect([status, body.error]).toEqual([400, 'invalid_target']);
    expect((await redeem(service, good, { resource: `${service.config.baseUrl}/mcp/` })).status).toBe(200);
  });
});

describe('tokens', () => {
  test('59. are issued in a response exactly as specified', async () => {
    const { status, headers, body } = await redeem(service, await freshCode());
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({
      access_token: expect.stringMatching(/^dka_[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^dkr_[\w-]{43}$/),
      scope: 'mcp:read mcp:write',
    });
    expect(await scopesOf(service, body.access_token ?? '')).toEqual(['mcp:read', 'mcp:write']);
  });

  test('60. are opaque, have 256 random bits and are unique', () => {
    const tokens = Array.from({ length: 10_000 }, () => mint('access').token);
    expect(new Set(tokens).size).toBe(10_000);
    for (const token of tokens) expect(token).toMatch(/^dka_[\w-]{43}$/);
    const bytes = Buffer.from(tokens[0]?.slice(4) ?? '', 'base64url');
    expect(bytes).toHaveLength(32);
  });
});

describe('an authorization code', () => {
  const invalidGrant = async (answer: ReturnType<typeof redeem>) => {
    const { status, body } = await answer;
    expect([status, body.error]).toEqual([400, 'invalid_grant']);
    return body;
  };

  test('66, 69. is rejected with a wrong verifier, and unusable afterwards', async () => {
    const good = await freshCode();
    await invalidGrant(redeem(service, good, { code_verifier: newVerifier() }));
    await invalidGrant(redeem(service, good));
  });

  test.each([
    ['too short', 'a'.repeat(42)],
    ['too long', 'a'.repeat(129)],
    ['with other characters', `${'a'.repeat(42)}!`],
    ['with a blank', `${'a'.repeat(43)} `],
    ['with more than ASCII', 'é'.repeat(50)],
  ])('67. is rejected with a malformed verifier: %s', async (_, verifier) => {
    const code = await approve(service, ada, { client_id: clientId, code_challenge: challengeOf(verifier) });
    await invalidGrant(redeem(service, { clientId, code, verifier }));
  });

  test('67. is accepted with a verifier of 43 or 128 characters', async () => {
    for (const verifier of ['a'.repeat(43), '~.-_'.repeat(32)]) {
      const code = await approve(service, ada, { client_id: clientId, code_challenge: challengeOf(verifier) });
      expect((await redeem(service, { clientId, code, verifier })).status).toBe(200);
    }
  });

  test('68. is rejected with the challenge as verifier', async () => {
    const good = await freshCode();
    await invalidGrant(redeem(service, good, { code_verifier: challengeOf(good.verifier) }));
  });

  test('70. is rejected with another redirect_uri, even if it is registered or differs only in the port', async () => {
    const two = await addClient(service, ada, { redirectUris: [callback, 'http://localhost/cb'] });
    const good = await freshCode(two);
    await invalidGrant(redeem(service, good, { redirect_uri: 'http://localhost/cb' }));
    await invalidGrant(redeem(service, good, { redirect_uri: `${callback}/` }));
    const verifier = newVerifier();
    const code = await approve(service, ada, {
      client_id: two,
      redirect_uri: 'http://localhost:50000/cb',
      code_challenge: challengeOf(verifier),
    });
    await invalidGrant(
      redeem(service, { clientId: two, code, verifier }, { redirect_uri: 'http://localhost:50001/cb' }),
    );
    expect(
      (await redeem(service, { clientId: two, code, verifier }, { redirect_uri: 'http://localhost:50000/cb' })).status,
    ).toBe(200);
  });

  test("71. is rejected with another client's client_id", async () => {
    const good = await freshCode();
    await invalidGrant(redeem(service, good, { client_id: await addClient(service, ada) }));
  });

  test('72. is valid after 59 seconds and expired after 61', async () => {
    const [early, late] = [await freshCode(), await freshCode()];
    service.clock.advance(59_000);
    expect((await redeem(service, early)).status).toBe(200);
    service.clock.advance(2_000);
    await invalidGrant(redeem(service, late));
  });

  test('73. gets the same error whether it is expired or unknown', async () => {
    const late = await freshCode();
    service.clock.advance(61_000);
    const expired = await invalidGrant(redeem(service, late));
    for (const code of [mint('code').token, 'garbage', '\u{1F600}']) {
      expect(await invalidGrant(redeem(service, { ...late, code }))).toEqual(expired);
    }
  });

  test('74. is rejected when used again, which revokes the tokens of the first use', async () => {
    const grant = await connect(service, ada, clientId);
    expect(await scopesOf(service, grant.access)).not.toBeNull();
    await invalidGrant(redeem(service, grant));
    expect(await scopesOf(service, grant.access)).toBeNull();
    await invalidGrant(refresh(service, clientId, grant.refresh));
  });

  test('74. revokes the refreshed tokens also when used again after it expired', async () => {
    const grant = await connect(service, ada, clientId);
    const next = await refresh(service, clientId, grant.refresh);
    service.clock.advance(120_000);
    await invalidGrant(redeem(service, grant));
    expect(await scopesOf(service, next.body.access_token ?? '')).toBeNull();
  });

  test('75. revokes nothing when used again with a wrong verifier, client or redirect_uri', async () => {
    const grant = await connect(service, ada, clientId);
    const other = await addClient(service, ada);
    for (const change of [
      { code_verifier: newVerifier() },
      { code_verifier: 'short' },
      { client_id: other },
      { redirect_uri: 'https://evil.example/' },
    ]) {
      await invalidGrant(redeem(service, grant, change));
    }
    expect(await scopesOf(service, grant.access)).not.toBeNull();
    expect((await refresh(service, clientId, grant.refresh)).status).toBe(200);
  });

  test.each([20, 50])(
    '76. redeemed %i times in parallel on two nodes succeeds once, and these tokens are revoked',
    async (many) => {
      const good = await freshCode();
      const answers = await Promise.all(
        Array.from({ length: many }, (_, index) => redeem(service.nodes[index % 2] ?? service, good)),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400)).toHaveLength(many - 1);
      const body: TokenAnswer['body'] = answers.find(({ status }) => status === 200)?.body ?? {};
      expect(await scopesOf(service, body.access_token ?? '')).toBeNull();
      await invalidGrant(refresh(service, clientId, body.refresh_token ?? ''));
    },
  );

  test('77. is rejected after the person was suspended or the client deleted', async () => {
    const bert = await addPerson(service, 'Bert');
    const own = await addClient(service, bert);
    const [one, two] = [await freshCode(own, bert), await freshCode(own, bert)];
    await service.sql('update users set suspended_at = app.now() where id = $1', [bert.id]);
    await invalidGrant(redeem(service, one));
    await service.sql('update users set suspended_at = null where id = $1', [bert.id]);
    await service.sql('update connected_clients set deleted_at = app.now() where id = $1', [own]);
    expect((await redeem(service, two)).body.error).toBe('invalid_client');
  });
});

test('error descriptions contain only the characters that OAuth allows', async () => {
  const client_id = await addClient(service, ada);
  const strange = `"\\é’${'x'.repeat(20)}`;
  const asked = { grant_type: 'refresh_token', client_id, refresh_token: strange };
  const answers = await Promise.all([
    askToken(service, { ...asked, client_id: crypto.randomUUID() }),
    askToken(service, { ...asked, client_id: strange }),
    askToken(service, asked),
    askToken(service, { ...asked, grant_type: strange }),
    askToken(service, { ...asked, scope: strange }),
    askToken(service, { ...asked, resource: strange }),
    askToken(service, { ...asked, refresh_token: undefined }),
    post(service, '/api/mcp/revoke', { client_id: strange, token: strange }),
  ]);
  for (const { body } of answers) expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/);
  for (const wrong of [
    { scope: strange },
    { response_type: strange },
    { code_challenge: strange },
    { resource: strange },
  ]) {
    const response = await visit(authorizeUrl(service, { client_id, ...wrong }), ada);
    expect(answerOf(response).get('error_description')).toMatch(/^[ !#-[\]-~]+$/);
  }
});
