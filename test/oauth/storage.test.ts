import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { row } from '../../server/database/statement.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { enterWithSession } from '../../server/domain/accounts/sessions.ts';
import { digestOf } from '../../server/domain/clients/tokens.ts';
import { openService, type TestService } from '../harness.ts';
import {
  addClient,
  addPerson,
  answerOf,
  approve,
  authorizeUrl,
  challengeOf,
  connect,
  decide,
  openConsent,
  post,
  redeem,
  refresh,
  visit,
  type Person,
  type TokenAnswer,
} from './scene.ts';

const day = 86_400_000;

describe('stored and logged data', () => {
  let service: TestService;
  let ada: Person;
  let clientId: string;
  beforeAll(async () => {
    service = await openService({ config: { logLevel: 'trace' } });
    ada = await addPerson(service, 'Ada');
    clientId = await addClient(service, ada);
  });
  afterAll(() => service?.close());

  /** Every value of every table of Dealkeep, as text. */
  async function dump(): Promise<string> {
    const tables = await service.sql<{ name: string }>(
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind = 'r' and n.nspname in ('public', 'app', 'vault', 'limits')`,
    );
    const rows = await Promise.all(
      tables.map(({ name }) => service.sql<{ text: string }>(`select t::text as text from ${name} t`)),
    );
    return rows.flatMap((found) => found.map(({ text }) => text)).join('\n');
  }

  test('113. contains no code, token or session, whether whole, in hexadecimal or in part', async () => {
    const grant = await connect(service, ada, clientId);
    const next = await refresh(service, clientId, grant.refresh);
    await refresh(service, clientId, grant.refresh);
    await redeem(service, grant);
    await post(service, '/api/mcp/revoke', { client_id: clientId, token: next.body.access_token });
    await fetch(`${service.origin}/api/mcp?access_token=${grant.access}`, {
      headers: { authorization: `Bearer ${grant.access}` },
    });
    await service.sql('alter table vault.refresh_tokens rename to gone');
    const failed = await refresh(service, clientId, next.body.refresh_token ?? '');
    await service.sql('alter table vault.gone rename to refresh_tokens');
    expect(failed.status).toBe(500);
    const secrets = [
      grant.code,
      grant.access,
      grant.refresh,
      next.body.access_token ?? '',
      next.body.refresh_token ?? '',
      grant.verifier,
      ada.session,
    ];
    const texts = { stored: await dump(), logged: service.log.join('\n'), answered: JSON.stringify(failed.body) };
    expect(texts.logged).toContain('a request failed');
    for (const [where, text] of Object.entries(texts)) {
      for (const secret of secrets) {
        const random = secret.replace(/^dk._/, '');
        for (const form of [
          random,
          Buffer.from(secret).toString('hex'),
          Buffer.from(random, 'base64url').toString('hex'),
          random.slice(0, 20),
        ]) {
          expect([where, text.includes(form)]).toEqual([where, false]);
        }
      }
    }
    expect(texts.stored).toContain(digestOf(grant.refresh).toString('hex'));
  });

  test('115. loses expired codes and tokens, but consumed refresh tokens only when their family ends', async () => {
    const counts = async () => {
      const [found] = await service.sql(
        `select (select count(*)::int from vault.authorization_codes) as codes, (select count(*)::int from vault.access_tokens) as access,
           (select count(*)::int from vault.refresh_tokens) as refresh, (select count(*)::int from vault.token_families) as families`,
      );
      return found;
    };
    const purge = () => service.sql('select app.purge_authorization()');
    await service.sql('delete from vault.token_families');
    await service.sql('delete from vault.authorization_codes');
    const start = service.clock.now();
    let held = (await connect(service, ada, clientId)).refresh;
    const first = held;
    await approve(service, ada, { client_id: clientId });
    await purge();
    expect(await counts()).toEqual({ codes: 2, access: 1, refresh: 1, families: 1 });
    service.clock.advance(61_000);
    await purge();
    expect(await counts()).toEqual({ codes: 1, access: 1, refresh: 1, families: 1 });
    service.clock.advance(day);
    await purge();
    expect(await counts()).toEqual({ codes: 0, access: 0, refresh: 1, families: 1 });
    for (const days of [25, 50, 75, 100, 125, 150, 175]) {
      service.clock.set(new Date(start.getTime() + days * day));
      held = (await refresh(service, clientId, held)).body.refresh_token ?? '';
      await purge();
    }
    expect(await counts()).toEqual({ codes: 0, access: 1, refresh: 8, families: 1 });
    expect((await refresh(service, clientId, first)).body.error).toBe('invalid_grant');
    expect((await refresh(service, clientId, held)).body.error).toBe('invalid_grant');
    service.clock.advance(2 * day);
    await purge();
    expect(await counts()).toEqual({ codes: 0, access: 0, refresh: 0, families: 0 });
    service.clock.set(start);
  });

  test('116. has audit records of consent, issue, refresh, replay and revocation, with client and address', async () => {
    await service.sql('delete from audit_records');
    const grant = await connect(service, ada, clientId, ['mcp:read']);
    await refresh(service, clientId, grant.refresh);
    await refresh(service, clientId, grant.refresh);
    const again = await connect(service, ada, clientId);
    await redeem(service, again);
    const third = await connect(service, ada, clientId);
    await post(service, '/api/mcp/revoke', { client_id: clientId, token: third.access });
    await post(service, '/api/mcp/revoke', { client_id: clientId, token: third.refresh });
    const fields = await openConsent(service, ada, { client_id: clientId });
    await decide(service, ada, [...Object.entries(fields), ['decision', 'deny']]);
    const records = await service.sql<{
      action: string;
      outcome: string;
      user_id: string;
      client: string;
      address: string;
      request_id: string;
      details: unknown;
    }>(
      `select action, outcome, user_id, coalesce(client_id::text, subject_id) as client, host(address) as address, request_id, details
       from audit_records order by at, id`,
    );
    expect(records.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'consent.give done',
      'tokens.issue done',
      'tokens.refresh done',
      'tokens.replay revoked',
      'consent.give done',
      'tokens.issue done',
      'code.replay revoked',
      'consent.give done',
      'tokens.issue done',
      'tokens.revoke done',
      'tokens.revoke done',
      'consent.deny denied',
    ]);
    for (const { user_id, client, address, request_id } of records) {
      expect([user_id, client, address]).toEqual([ada.id, clientId, '127.0.0.1']);
      expect(request_id).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(records[1]?.details).toEqual({ scopes: ['mcp:read'] });
  });

  test('116. has audit records that their person can read and nobody can forge', async () => {
    const enter = enterWithSession(tokenDigest(ada.session));
    const own = row<{ count: string }>(
      'storage_test_own_records',
      `select count(*) from audit_records where action like 'tokens.%'`,
    )();
    expect(Number((await service.asServer(enter, own))[1]?.count)).toBeGreaterThan(0);
    const forged = row('storage_test_forged_record', `insert into audit_records (action, outcome) values ('x', 'y')`)();
    await expect(service.asServer(enter, forged)).rejects.toThrow();
    const inside = row(
      'storage_test_inside',
      `select app.audit_family(null, null, null, 'x', 'y', null, null, null)`,
    )();
    await expect(service.asServer(enter, inside)).rejects.toThrow();
    const issue = row('storage_test_issue', `select app.issue_tokens(null, null, null, null)`)();
    await expect(service.asServer(enter, issue)).rejects.toThrow();
  });
});

describe('rate limits', () => {
  let service: TestService;
  let ada: Person;
  let clientId: string;
  beforeAll(async () => {
    service = await openService();
    const { config } = service.nodes[0]?.services ?? { config: service.config };
    Object.assign(config.rateLimits, { token_client: 5, token_failure: 3, token_ip: 14, authorize_ip: 8 });
    ada = await addPerson(service, 'Ada');
    clientId = await addClient(service, ada);
  });
  afterAll(() => service?.close());

  test('114. reject a client with 429 and Retry-After in OAuth JSON, and do not affect others', async () => {
    service.clock.startMinute();
    let { refresh: token } = await connect(service, ada, clientId);
    for (let count = 1; count < 5; count += 1)
      token = (await refresh(service, clientId, token)).body.refresh_token ?? '';
    const { status, headers, body } = await refresh(service, clientId, token);
    expect([status, body.error]).toEqual([429, 'temporarily_unavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect((await post(service, '/api/mcp/revoke', { client_id: clientId, token })).status).toBe(429);
    expect((await refresh(service, await addClient(service, ada), 'garbage')).status).toBe(400);
    service.clock.advance(60_000);
    expect((await refresh(service, clientId, token)).status).toBe(200);
  });

  const garbage: [string, (client: string) => Promise<TokenAnswer>, number][] = [
    ['refreshes', (client) => refresh(service, client, 'garbage'), 400],
    ['codes', (client) => redeem(service, { clientId: client, code: 'garbage', verifier: 'v'.repeat(43) }), 400],
    ['revocations', (client) => post(service, '/api/mcp/revoke', { client_id: client, token: 'garbage' }), 200],
  ];
  test.each(garbage)(
    '114. count failed %s separately, without blocking valid requests of the client',
    async (_, ask, first) => {
      service.clock.startMinute();
      const grants = [await connect(service, ada, clientId), await connect(service, ada, clientId)];
      const fields = await openConsent(service, ada, {
        client_id: clientId,
        code_challenge: challengeOf('w'.repeat(43)),
      });
      const consented = await decide(service, ada, [
        ...Object.entries(fields),
        ['scope', 'mcp:read'],
        ['decision', 'approve'],
      ]);
      const code = answerOf(consented).get('code') ?? '';
      const statuses = [];
      for (let count = 0; count < 6; count += 1) statuses.push((await ask(clientId)).status);
      expect(statuses).toEqual([first, first, first, 429, 429, 429]);
      expect((await refresh(service, clientId, grants[0]!.refresh)).status).toBe(200);
      expect((await redeem(service, { clientId, code, verifier: 'w'.repeat(43) })).status).toBe(200);
      expect((await post(service, '/api/mcp/revoke', { client_id: clientId, token: grants[1]!.refresh })).status).toBe(
        200,
      );
      expect((await ask(await addClient(service, ada))).status).toBe(first);
      // An address has a limit of its own, even if its requests are spread over clients.
      const rest = [];
      for (let count = 0; count < 3; count += 1) rest.push((await ask(await addClient(service, ada))).status);
      expect(rest).toEqual([first, first, 429]);
    },
  );

  test('114. reject requests of an address over its limit, whatever it sends', async () => {
    service.clock.startMinute();
    const statuses = [];
    for (let count = 0; count < 16; count += 1)
      statuses.push((await post(service, '/api/mcp/token', { grant_type: 'x' })).status);
    expect(statuses).toEqual([...Array.from({ length: 14 }, () => 400), 429, 429]);
  });

  test('114. reject authorization requests with a page for browsers and JSON for programs', async () => {
    service.clock.startMinute();
    for (let count = 0; count < 8; count += 1) await visit(authorizeUrl(service, { client_id: clientId }), ada);
    const person = await visit(authorizeUrl(service, { client_id: clientId }), ada);
    expect([person.status, person.headers.get('content-type')]).toEqual([429, 'text/html; charset=UTF-8']);
    const program = await fetch(authorizeUrl(service, { client_id: clientId }));
    expect([program.status, ((await program.json()) as { error: string }).error]).toEqual([
      429,
      'temporarily_unavailable',
    ]);
    expect(Number(program.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

test('the token endpoint returns 503 in OAuth JSON when the database accepts no connections, and recovers', async () => {
  const service = await openService({ nodes: 2 });
  try {
    const ada = await addPerson(service, 'Ada');
    const grant = await connect(service, ada, await addClient(service, ada));
    // The second node has no connection yet.
    const [, second] = service.nodes;
    const [current] = await service.sql<{ name: string }>('select current_database() as name');
    await service.sql(`alter database ${current?.name} with connection limit 0`);
    const { status, body, headers } = await refresh(second ?? service, grant.clientId, grant.refresh);
    await service.sql(`alter database ${current?.name} with connection limit -1`);
    expect([status, body.error, headers.get('retry-after')]).toEqual([503, 'temporarily_unavailable', '5']);
    expect((await refresh(second ?? service, grant.clientId, grant.refresh)).status).toBe(200);
  } finally {
    await service.close();
  }
});
