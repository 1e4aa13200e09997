import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import {
  addClient,
  addPerson,
  answerOf,
  approve,
  authorizeUrl,
  callback,
  markupOf,
  visit,
  type Parameters,
  type Person,
} from './scene.ts';

let service: TestService;
let ada: Person;
let clientId: string;

beforeAll(async () => {
  service = await openService();
  ada = await addPerson(service, 'Ada');
  clientId = await addClient(service, ada, { redirectUris: [callback, 'https://client.example/with?own=1&x=%20y'] });
});
afterAll(() => service?.close());
beforeEach(() => service.clock.advance(60_000));

describe('an authorization request', () => {
  test('19. without a session leads to the sign-in page and back to the same request', async () => {
    const state = 'a b+c&d=%25 é';
    const url = authorizeUrl(service, { client_id: clientId, state });
    const response = await visit(url, null);
    expect(response.status).toBe(302);
    const location = new URL(response.headers.get('location') ?? '', service.origin);
    expect([location.origin, location.pathname]).toEqual([service.origin, '/sign-in']);
    const back = new URL(location.searchParams.get('return_to') ?? '', service.origin);
    expect([...back.searchParams]).toEqual([...new URL(url).searchParams]);
    expect((await visit(back.href, ada)).status).toBe(200);
  });

  test('21. without a session leads to the sign-in page even if it has errors, not to the client', async () => {
    for (const fault of [{ scope: 'everything' }, { response_type: 'token' }, { code_challenge: undefined }]) {
      const response = await visit(authorizeUrl(service, { client_id: clientId, ...fault }), null);
      expect(response.headers.get('location')).toMatch(/^\/sign-in\?/);
    }
  });

  test('21. with an error gets a page, not a redirect, if the client does not work for the person', async () => {
    const bert = await addPerson(service, 'Bert');
    const response = await visit(authorizeUrl(service, { client_id: clientId, scope: 'everything' }), bert);
    expect([response.status, response.headers.get('location')]).toEqual([400, null]);
  });
});

/** Expects a redirect to the client with this error, the state and the issuer, and no code. */
async function redirected(
  parameters: Parameters,
  error: string,
  { extra = '', state = 'st' as string | null } = {},
): Promise<void> {
  const response = await visit(authorizeUrl(service, { client_id: clientId, ...parameters }, extra), ada);
  expect(response.status).toBe(302);
  expect(response.headers.get('location')?.split('?')[0]).toBe(callback);
  const answer = answerOf(response);
  expect({
    error: answer.getAll('error'),
    state: answer.getAll('state'),
    iss: answer.getAll('iss'),
    code: answer.get('code'),
  }).toEqual({
    error: [error],
    state: state === null ? [] : [state],
    iss: [service.config.baseUrl],
    code: null,
  });
  expect(await service.sql('select from vault.authorization_codes')).toHaveLength(0);
}

describe('parameters of the authorization request, with errors redirected to the client', () => {
  test('23. response_type missing', () => redirected({ response_type: undefined }, 'invalid_request'));
  test.each(['token', 'code token', 'id_token', 'CODE'])('24. response_type %s', (response_type) =>
    redirected({ response_type }, 'unsupported_response_type'),
  );
  test('25. code_challenge missing', () => redirected({ code_challenge: undefined }, 'invalid_request'));
  test('26. code_challenge_method missing', () => redirected({ code_challenge_method: undefined }, 'invalid_request'));
  test.each(['plain', 's256', 'S512'])('27. code_challenge_method %s', (code_challenge_method) =>
    redirected({ code_challenge_method }, 'invalid_request'),
  );
  test.each(['a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}=`, `${'a'.repeat(42)}+`, `${'a'.repeat(42)}~`])(
    '28. code_challenge %s',
    (code_challenge) => redirected({ code_challenge }, 'invalid_request'),
  );
  test.each(['mcp:read admin', 'MCP:READ', 'openid', 'mcp:read,mcp:write'])('29. scope %s', (scope) =>
    redirected({ scope }, 'invalid_scope'),
  );
  test('29. offline_access in the scope is ignored', async () => {
    const asked = { client_id: clientId, scope: 'offline_access mcp:read' };
    const markup = await markupOf(visit(authorizeUrl(service, asked), ada));
    expect(markup.match(/<code>[^<]*<\/code>/g)).toEqual(['<code>mcp:read</code>']);
    await redirected({ scope: 'offline_access mcp:write' }, 'invalid_scope');
    await redirected({ scope: 'offline_access' }, 'invalid_request');
  });
  test('30. mcp:write without mcp:read', () => redirected({ scope: 'mcp:write' }, 'invalid_scope'));
  test('31. scope absent', () => redirected({ scope: undefined }, 'invalid_request'));
  test('31. state absent', () => redirected({ state: undefined }, 'invalid_request', { state: null }));
  test('32. scope duplicated', () => redirected({}, 'invalid_request', { extra: '&scope=mcp:read' }));
  test('32. state duplicated', () => redirected({}, 'invalid_request', { extra: '&state=st', state: null }));
  test('32. code_challenge duplicated', () =>
    redirected({}, 'invalid_request', { extra: `&code_challenge=${'a'.repeat(43)}` }));
  test('32. response_type duplicated', () => redirected({}, 'invalid_request', { extra: '&response_type=code' }));
  test('32. the error description names the duplicated parameter', async () => {
    for (const name of [
      'scope',
      'state',
      'code_challenge',
      'code_challenge_method',
      'response_type',
      'request',
      'request_uri',
    ]) {
      const response = await visit(authorizeUrl(service, { client_id: clientId }, `&${name}=a&${name}=a`), ada);
      expect(answerOf(response).get('error_description')).toBe(`${name} was sent more than once: send it once.`);
    }
  });
  test.each(['https://evil.example/api/mcp', '/api/mcp', 'api', 'http://127.0.0.1:1/api/mcp'])(
    '33. resource %s',
    (resource) => redirected({ resource }, 'invalid_target'),
  );
  test('33. request and request_uri are not supported', async () => {
    await redirected({ request: 'e30.e30.' }, 'request_not_supported');
    await redirected({ request_uri: 'https://client.example/request' }, 'request_uri_not_supported');
  });
  test('a state that is not UTF-8 is rejected and not returned', () =>
    redirected({ state: undefined }, 'invalid_request', { extra: '&state=%FF', state: null }));

  test('33. resource may be the origin or a path of the tool server, with or without a slash', async () => {
    for (const resource of ['', '/', '/api/mcp', '/api/mcp/', '/mcp', '/mcp/'].map(
      (path) => service.config.baseUrl + path,
    )) {
      expect((await visit(authorizeUrl(service, { client_id: clientId, resource }), ada)).status).toBe(200);
    }
    expect(
      (
        await visit(
          authorizeUrl(service, { client_id: clientId, resource: service.config.baseUrl.replace('http', 'HTTP') }),
          ada,
        )
      ).status,
    ).toBe(200);
    const query = await visit(
      authorizeUrl(service, { client_id: clientId, resource: `${service.config.baseUrl}/api/mcp?x` }),
      ada,
    );
    expect(answerOf(query).get('error')).toBe('invalid_target');
  });

  test('34. unknown parameters are ignored, and empty ones count as missing', async () => {
    const extra = '&prompt=none&foo=1&foo=2&resource=&request=&request_uri=';
    expect((await visit(authorizeUrl(service, { client_id: clientId }, extra), ada)).status).toBe(200);
    await redirected({ state: '' }, 'invalid_request', { state: null });
    await redirected({ scope: '' }, 'invalid_request');
    await redirected({ response_type: '' }, 'invalid_request');
  });

  test.each([
    ['1 kB', 'x'.repeat(1024)],
    ['reserved characters', '+ & = % ? # / : ; \' " < > \\ ~ %2B'],
    ['line breaks', 'a\nb\r\nc'],
    ['unicode', 'état 😀 \u202e ¢'],
  ])('35. state is returned unchanged: %s', async (_, state) => {
    await redirected({ state, scope: 'nothing' }, 'invalid_scope', { state });
    const fields = await visit(authorizeUrl(service, { client_id: clientId, state }), ada);
    expect(fields.status).toBe(200);
  });

  test('36. a redirect URI keeps its own query', async () => {
    const uri = 'https://client.example/with?own=1&x=%20y';
    const response = await visit(
      authorizeUrl(service, { client_id: clientId, redirect_uri: uri, scope: 'nothing' }),
      ada,
    );
    expect(response.headers.get('location')).toMatch(new RegExp(`^${uri.replace('?', '\\?')}&error=invalid_scope&`));
  });
});

test('22. a link on another site leads a signed-in person to the consent page', async () => {
  const headers = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    referer: 'https://client.example/',
  };
  const response = await visit(authorizeUrl(service, { client_id: clientId }), ada, headers);
  expect(response.status).toBe(200);
});

test('41. GET and HEAD change nothing, also for a client that was approved before', async () => {
  await approve(service, ada, { client_id: clientId });
  const counts = () =>
    service.sql(
      'select (select count(*) from vault.authorization_codes) as codes, (select count(*) from vault.token_families) as families, (select count(*) from audit_records) as records',
    );
  const before = await counts();
  for (const method of ['GET', 'HEAD']) {
    const response = await fetch(authorizeUrl(service, { client_id: clientId }), {
      method,
      redirect: 'manual',
      headers: { cookie: ada.cookie },
    });
    expect([response.status, response.headers.get('location')]).toEqual([200, null]);
  }
  expect(await counts()).toEqual(before);
});
