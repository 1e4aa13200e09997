import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectedClient, deleteClient } from '../../server/domain/clients/connected-clients.ts';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { enterWithSession, signOutEverywhere } from '../../server/domain/accounts/sessions.ts';
import { openService, type TestService } from '../harness.ts';
import { locksWaited, whileChanging } from '../locks.ts';
import { connect as connectTo } from '../policies/scene.ts';
import { scopesOf } from './bearer.ts';
import {
  addBrokerage,
  addClient,
  addPerson,
  approve,
  challengeOf,
  connect,
  newVerifier,
  post,
  redeem,
  refresh,
  type Grant,
  type Parameters,
  type Person,
} from './scene.ts';

let service: TestService;
let ada: Person;
let clientId: string;

beforeAll(async () => {
  service = await openService();
  ada = await addPerson(service, 'Ada');
  clientId = await addClient(service, ada);
});
afterAll(() => service?.close());
beforeEach(() => service.clock.advance(60_000));

const revoke = (parameters: Parameters) => post(service, '/api/mcp/revoke', { client_id: clientId, ...parameters });

/** Whether the tool server accepts the access token, and whether the refresh token still gives tokens. */
async function alive({
  clientId: client,
  access,
  refresh: token,
}: Grant): Promise<{ access: boolean; refresh: boolean }> {
  const opens = (await scopesOf(service, access)) !== null;
  return { access: opens, refresh: (await refresh(service, client, token)).status === 200 };
}

const dead = { access: false, refresh: false };
const living = { access: true, refresh: true };

describe('the revocation endpoint', () => {
  test('103. revokes the whole family of a refresh token', async () => {
    const grant = await connect(service, ada, clientId);
    const next = await refresh(service, clientId, grant.refresh);
    const { status, headers } = await revoke({ token: next.body.refresh_token ?? '' });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await scopesOf(service, grant.access)).toBeNull();
    expect(await scopesOf(service, next.body.access_token ?? '')).toBeNull();
    expect((await refresh(service, clientId, next.body.refresh_token ?? '')).body.error).toBe('invalid_grant');
  });

  test('103. revokes the whole family of a refresh token that was rotated before', async () => {
    const grant = await connect(service, ada, clientId);
    const next = await refresh(service, clientId, grant.refresh);
    expect((await revoke({ token: grant.refresh })).status).toBe(200);
    expect(await scopesOf(service, next.body.access_token ?? '')).toBeNull();
  });

  test('104. revokes an access token and no other token', async () => {
    const grant = await connect(service, ada, clientId);
    expect((await revoke({ token: grant.access })).status).toBe(200);
    expect(await alive(grant)).toEqual({ access: false, refresh: true });
  });

  test('leaves database connections free when one token is sent several times, like the token endpoint', async () => {
    const grant = await connect(service, ada, clientId);
    const holder = await connectTo(service.connections.owner);
    try {
      await holder.query('begin');
      await holder.query(`select from vault.token_families where user_id = $1 for update`, [ada.id]);
      // Uses one of three connections.
      const first = revoke({ token: grant.refresh });
      await expect.poll(() => locksWaited(service)).toBe(1);
      const others = [revoke({ token: grant.refresh }), refresh(service, clientId, grant.refresh)];
      await expect.poll(() => service.database.connections().waiting).toBe(2);
      await holder.query('rollback');
      expect((await first).status).toBe(200);
      await Promise.all(others);
    } finally {
      await holder.end();
    }
  });

  test('105. returns 200 for an unknown or malformed token', async () => {
    for (const token of ['garbage', `dkr_${'A'.repeat(43)}`, `dka_${'A'.repeat(43)}`])
      expect((await revoke({ token })).status).toBe(200);
  });

  test("106. returns 200 for another client's token and revokes nothing", async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    expect((await revoke({ token: grant.refresh })).status).toBe(200);
    expect((await revoke({ token: grant.access })).status).toBe(200);
    expect(await alive(grant)).toEqual(living);
  });

  test('107. returns 401 for an unknown client', async () => {
    const grant = await connect(service, ada, clientId);
    for (const client_id of ['01900000-0000-7000-8000-000000000000', 'nobody']) {
      const { status, body } = await revoke({ client_id, token: grant.refresh });
      expect([status, body.error]).toEqual([401, 'invalid_client']);
    }
    expect(await alive(grant)).toEqual(living);
  });

  test('108. ignores a wrong or unknown token_type_hint', async () => {
    const [one, two] = [await connect(service, ada, clientId), await connect(service, ada, clientId)];
    expect((await revoke({ token: one.refresh, token_type_hint: 'access_token' })).status).toBe(200);
    expect(await alive(one)).toEqual(dead);
    expect((await revoke({ token: two.access, token_type_hint: 'passport' })).status).toBe(200);
    expect(await alive(two)).toEqual({ access: false, refresh: true });
  });

  test('requires token and client_id, accepts JSON, and returns 405 for GET', async () => {
    expect((await revoke({})).body.error).toBe('invalid_request');
    expect((await revoke({ client_id: undefined, token: 'x' })).body.error).toBe('invalid_request');
    const grant = await connect(service, ada, clientId);
    const url = `${service.origin}/api/mcp/revoke`;
    const body = JSON.stringify({ client_id: clientId, token: grant.refresh });
    expect((await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status).toBe(
      200,
    );
    expect(await alive(grant)).toEqual(dead);
    expect((await fetch(url)).status).toBe(405);
  });
});

describe('grants', () => {
  test('110. of all members end when the client is deleted', async () => {
    const brokerage = await addBrokerage(service);
    const admin = await addPerson(service, 'Amy', { brokerage, role: 'admin' });
    const staff = await addPerson(service, 'Sam', { brokerage, role: 'staff' });
    const shared = await addClient(service, admin, { brokerage });
    const grants = [await connect(service, admin, shared), await connect(service, staff, shared)];
    const from = { address: '192.0.2.1', requestId: null };
    const remove = (person: Person) =>
      service.asServer(enterWithSession(tokenDigest(person.session)), deleteClient(shared, from));
    expect((await remove(staff))[1]).toBe(false);
    for (const grant of grants) expect(await scopesOf(service, grant.access)).not.toBeNull();
    expect((await remove(admin))[1]).toBe(true);
    for (const grant of grants) {
      expect(await scopesOf(service, grant.access)).toBeNull();
      expect((await refresh(service, shared, grant.refresh)).body.error).toBe('invalid_client');
    }
    expect(
      await service.sql('select from vault.token_families where client_id = $1 and revoked_at is null', [shared]),
    ).toEqual([]);
  });

  /**
   * A client shared with a brokerage, the grants of its creator and of a member, and functions that change the client
   * and count its tool grants.
   */
  async function sharedClient() {
    const brokerage = await addBrokerage(service);
    const admin = await addPerson(service, 'Amy', { brokerage, role: 'admin' });
    const staff = await addPerson(service, 'Sam', { brokerage, role: 'staff' });
    const client = await addClient(service, admin, { brokerage });
    await service.sql(`insert into tool_grants (user_id, client_id, tool) values ($1, $2, 'svc_questions_create')`, [
      staff.id,
      client,
    ]);
    const change = (set: string, ...values: unknown[]) =>
      service.sql(`update connected_clients set ${set} where id = $1`, [client, ...values]);
    const grants = async () => (await service.sql('select from tool_grants where client_id = $1', [client])).length;
    const own = await connect(service, admin, client);
    const given = await connect(service, staff, client);
    return { brokerage, admin, staff, client, change, grants, own, given };
  }

  test('end when the client is disabled, and stay ended when it is enabled again', async () => {
    const { own, given, change, grants } = await sharedClient();
    await change('disabled = true');
    expect([await alive(own), await alive(given), await grants()]).toEqual([dead, dead, 0]);
    await change('disabled = false');
    expect([await alive(own), await alive(given)]).toEqual([dead, dead]);
  });

  test('of other members end when the client is unshared, and stay ended when it is shared again', async () => {
    const { brokerage, staff, client, own, given, change, grants } = await sharedClient();
    const verifier = newVerifier();
    const code = await approve(service, staff, { client_id: client, code_challenge: challengeOf(verifier) });
    await change('brokerage_id = null');
    expect([await alive(given), await grants()]).toEqual([dead, 0]);
    await change('brokerage_id = $2, name = $3', brokerage, 'Another name');
    expect(await alive(given)).toEqual(dead);
    expect((await redeem(service, { clientId: client, code, verifier })).body.error).toBe('invalid_grant');
    expect((await connect(service, staff, client)).access).toMatch(/^dka_/);
    expect(await scopesOf(service, own.access)).toBeNull();
  });

  test("of the client's creator survive unsharing and sharing", async () => {
    const { brokerage, own, change } = await sharedClient();
    await change('brokerage_id = null');
    await change('brokerage_id = $2', brokerage);
    expect(await alive(own)).toEqual(living);
  });

  test('end when the client is renamed or loses a redirect URI, but not when it gains one', async () => {
    const [renamed, moved] = [await sharedClient(), await sharedClient()];
    await renamed.change(`redirect_uris = redirect_uris || '{https://client.example/second}'`);
    expect(await alive(renamed.given)).toEqual(living);
    await renamed.change(`name = 'Something else'`);
    expect(await alive(renamed.given)).toEqual(dead);
    await moved.change(`redirect_uris = '{https://evil.example/}'`);
    expect([await alive(moved.given), await alive(moved.own)]).toEqual([dead, dead]);
  });

  test.each(['afterwards', 'at once'] as const)(
    'are not created by a consent during the removal of its redirect URI, redeemed %s',
    async (when) => {
      const { staff, client } = await sharedClient();
      const verifier = newVerifier();
      const give = () => approve(service, staff, { client_id: client, code_challenge: challengeOf(verifier) });
      const redeemed = async (code: string) => (await redeem(service, { clientId: client, code, verifier })).body.error;
      const change = [
        [`update connected_clients set redirect_uris = '{https://evil.example/}' where id = $1`, [client]],
      ] as const;
      const error =
        when === 'at once'
          ? await whileChanging(service, change, async () => redeemed(await give()))
          : await redeemed(await whileChanging(service, change, give));
      expect(error).toBe('invalid_grant');
    },
  );

  test('101. to a shared client end when the person leaves the brokerage', async () => {
    const brokerage = await addBrokerage(service);
    const admin = await addPerson(service, 'Amy', { brokerage, role: 'admin' });
    const staff = await addPerson(service, 'Sam', { brokerage, role: 'staff' });
    const grant = await connect(service, staff, await addClient(service, admin, { brokerage }));
    expect(await scopesOf(service, grant.access)).not.toBeNull();
    await service.sql(`update members set status = 'removed' where user_id = $1`, [staff.id]);
    expect(await alive(grant)).toEqual(dead);
  });

  test('are not created by a consent given and redeemed while the person leaves the brokerage', async () => {
    const { staff, client } = await sharedClient();
    const verifier = newVerifier();
    const leaving = [`update members set status = 'removed' where user_id = $1`, [staff.id]] as const;
    const { body } = await whileChanging(service, [leaving], async () => {
      const code = await approve(service, staff, { client_id: client, code_challenge: challengeOf(verifier) });
      return redeem(service, { clientId: client, code, verifier });
    });
    expect(body.error).toBe('invalid_grant');
  });

  test("of a shared client's creator end when they leave the brokerage, which keeps the client", async () => {
    const { brokerage, admin, client, own, given } = await sharedClient();
    const other = await addPerson(service, 'Ann', { brokerage, role: 'admin' });
    await service.sql(`update members set status = 'removed' where user_id = $1`, [admin.id]);
    expect([await alive(own), await alive(given)]).toEqual([dead, living]);
    const [, seen] = await service.asServer(enterWithSession(tokenDigest(admin.session)), connectedClient(client));
    expect(seen).toBeNull();
    const [, managed] = await service.asServer(enterWithSession(tokenDigest(other.session)), connectedClient(client));
    expect(managed?.manageable).toBe(true);
  });

  const bert = async () => {
    const person = await addPerson(service, 'Bert');
    const client = await addClient(service, person);
    const verifier = newVerifier();
    const grant = await connect(service, person, client);
    const code = await approve(service, person, { client_id: client, code_challenge: challengeOf(verifier) });
    return { person, grant, pending: { clientId: client, code, verifier } };
  };
  const from = { address: '192.0.2.1', requestId: null };

  test('111. and pending codes end when the person signs out everywhere', async () => {
    const [{ person, grant, pending }, other] = [await bert(), await bert()];
    expect(await service.database.run(signOutEverywhere(tokenDigest(person.session), from))).toBe(true);
    expect(await alive(grant)).toEqual(dead);
    expect((await redeem(service, pending)).body.error).toBe('invalid_grant');
    expect(await alive(other.grant)).toEqual(living);
  });

  test('111. and pending codes end when the person is suspended, even if the suspension is lifted', async () => {
    const { person, grant, pending } = await bert();
    await service.sql('update users set suspended_at = app.now() where id = $1', [person.id]);
    await service.sql('update users set suspended_at = null where id = $1', [person.id]);
    expect(await alive(grant)).toEqual(dead);
    expect((await redeem(service, pending)).body.error).toBe('invalid_grant');
  });

  test('111. and pending codes end when the password is changed', async () => {
    const { person, grant, pending } = await bert();
    const [phc, other] = await Promise.all(
      [0, 1].map(() => hashPassword(randomBytes(12).toString('hex'), service.config.passwordParameters)),
    );
    await service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [person.id, phc]);
    const [changed] = await service.sql<{ outcome: string }>(
      'select app.change_password($1, $2, $3, $4, null, null) as outcome',
      [tokenDigest(person.session), phc, other, randomBytes(32)],
    );
    expect(changed?.outcome).toBe('done');
    expect(await alive(grant)).toEqual(dead);
    expect((await redeem(service, pending)).body.error).toBe('invalid_grant');
  });

  test('100. have access tokens that expire after 3600 seconds', async () => {
    const grant = await connect(service, ada, clientId);
    service.clock.advance(3_598_000);
    expect(await scopesOf(service, grant.access)).not.toBeNull();
    service.clock.advance(2_000);
    expect(await scopesOf(service, grant.access)).toBeNull();
  });
});
