/**
 * The operator's commands that change accounts, brokerages and API keys, on the database owner's connection, which no
 * policy restricts.
 */

import type pg from 'pg';
import { inTransaction } from '../../database/transaction.ts';
import { mintApiKey, stateOfKey, type ApiKey, type KeyEnvironment } from '../clients/api-keys.ts';
import type { KeyScope } from '../clients/key-scopes.ts';
import { mintToken, tokenDigest, type NewLink } from './secret-tokens.ts';
import type { MemberRole } from '../people/member-roles.ts';

/** A command cannot be carried out as given; the message says what to change. */
export class NotPossible extends Error {
  override readonly name = 'NotPossible';
}

export interface Brokerage {
  id: string;
  slug: string;
  name: string;
}

interface InvitedUser {
  id: string;
  email: string;
  name: string;
  role: string;
  brokerage_id: string;
  /** The token of the link with which the person accepts the invitation and chooses a password; shown once. */
  token: string;
}

interface ListedKey {
  id: string;
  name: string;
  environment: string;
  scopes: string[];
  ceiling: number | null;
  last_four: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  state: ApiKey['state'];
}

async function one<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<R | undefined> {
  return (await client.query<R>(text, [...values])).rows[0];
}

/** Returns the brokerage with this id or slug. Throws {@link NotPossible} when there is none. */
export async function brokerageNamed(client: pg.ClientBase, idOrSlug: string): Promise<Brokerage> {
  const text = 'select id, slug, name from public.brokerages where (id::text = $1 or slug = $1) and sandbox_of is null';
  const found = await one<Brokerage>(client, text, [idOrSlug]);
  if (!found) throw new NotPossible(`There is no brokerage with the id or slug "${idOrSlug}".`);
  return found;
}

/**
 * Writes the audit record of a command, for a brokerage or for none. The record has no person: commands run on the
 * owner's connection.
 */
export async function record(
  client: pg.ClientBase,
  action: string,
  brokerageId: string | null,
  subject: string,
  details: object,
): Promise<void> {
  await client.query(
    `insert into public.audit_records (brokerage_id, action, subject_id, outcome, details) values ($1, $2, $3, 'done', $4)`,
    [brokerageId, action, subject, { ...details, by: 'command line' }],
  );
}

/** Creates a brokerage. Throws {@link NotPossible} when the slug is taken. */
export async function createBrokerage(client: pg.ClientBase, name: string, slug: string): Promise<Brokerage> {
  return inTransaction(client, async () => {
    const text = `insert into public.brokerages (name, slug) values ($1, $2) on conflict (slug) do nothing returning id, slug, name`;
    const made = await one<Brokerage>(client, text, [name, slug]);
    if (!made) throw new NotPossible(`The slug "${slug}" is taken: choose another.`);
    await record(client, 'brokerage.create', made.id, made.id, {});
    return made;
  });
}

export interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly brokerage: string;
  readonly role: MemberRole;
}

/**
 * Makes a person an invited member of a brokerage. Throws {@link NotPossible} when the person is an active member
 * already or the brokerage is unknown.
 */
export async function createUser(
  client: pg.ClientBase,
  { email, name, brokerage, role }: NewUser,
): Promise<InvitedUser> {
  return inTransaction(client, async () => {
    const { id: brokerageId } = await brokerageNamed(client, brokerage);
    const address = email.toLowerCase();
    await client.query('insert into public.users (email, name) values ($1, $2) on conflict (email) do nothing', [
      address,
      name,
    ]);
    const user = await one<{ id: string; email: string; name: string }>(
      client,
      'select id, email, name from public.users where email = $1',
      [address],
    );
    if (!user) throw new Error('the user is gone');
    const member = await one(
      client,
      `insert into public.members as m (brokerage_id, user_id, role, status) values ($1, $2, $3, 'invited')
       on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited' where m.status <> 'active'
       returning 1`,
      [brokerageId, user.id, role],
    );
    if (!member) throw new NotPossible(`${address} is already a member of this brokerage.`);
    const token = mintToken();
    await client.query('delete from vault.invitations where user_id = $1 and brokerage_id = $2 and used_at is null', [
      user.id,
      brokerageId,
    ]);
    await client.query(
      'insert into vault.invitations (digest, user_id, brokerage_id, mailed) values ($1, $2, $3, false)',
      [tokenDigest(token), user.id, brokerageId],
    );
    await record(client, 'member.invite', brokerageId, user.id, { role });
    return { ...user, role, brokerage_id: brokerageId, token };
  });
}

interface SuspendedUser {
  id: string;
  email: string;
  name: string;
  suspended_at: string | null;
}

/**
 * Suspends a person at once, or with `suspended` false reinstates them; what the suspension ended is not restored.
 * Throws {@link NotPossible} when nobody has the address, or the person's status is already the requested one.
 */
export async function suspendUser(client: pg.ClientBase, email: string, suspended: boolean): Promise<SuspendedUser> {
  const address = email.toLowerCase();
  const changed = await one<SuspendedUser>(
    client,
    `update public.users set suspended_at = case when $2 then app.now() end
     where email = $1 and (suspended_at is null) = $2 returning id, email, name, suspended_at`,
    [address, suspended],
  );
  if (changed) return changed;
  if (await one(client, 'select 1 from public.users where email = $1', [address]))
    throw new NotPossible(`${address} is ${suspended ? 'already suspended' : 'not suspended'}.`);
  throw new NotPossible(`Nobody has the e-mail address "${address}".`);
}

interface WithoutFactors {
  id: string;
  email: string;
  name: string;
  /** The number removed of each kind. */
  passkeys: number;
  authenticators: number;
}

/**
 * Removes the passkeys, the authenticator and the recovery codes of a person who lost them, ends the person's sessions
 * and connected clients, and notifies the person by mail. Throws {@link NotPossible} when nobody has the address, or
 * the person has neither a passkey nor an authenticator.
 */
export async function removeFactors(client: pg.ClientBase, email: string): Promise<WithoutFactors> {
  const address = email.toLowerCase();
  return inTransaction(client, async () => {
    const user = await one<{ id: string; email: string; name: string }>(
      client,
      'select id, email, name from public.users where email = $1 for no key update',
      [address],
    );
    if (!user) throw new NotPossible(`Nobody has the e-mail address "${address}".`);
    await client.query('delete from vault.recovery_codes where user_id = $1', [user.id]);
    const removed = await one<{ passkeys: number; authenticators: number }>(
      client,
      `with k as (delete from vault.passkeys where user_id = $1 returning 1),
         t as (delete from vault.totp where user_id = $1 returning confirmed_at)
       select (select count(*)::int from k) as passkeys, (select count(confirmed_at)::int from t) as authenticators`,
      [user.id],
    );
    const { passkeys = 0, authenticators = 0 } = removed ?? {};
    if (passkeys + authenticators === 0) throw new NotPossible(`${address} has no passkey and no authenticator.`);
    await client.query('select app.end_sessions_of($1)', [user.id]);
    const removals = [
      ...(passkeys > 0 ? [['passkey.remove', 'passkey_removed', { by: 'operator', passkeys }] as const] : []),
      ...(authenticators > 0 ? [['second_factor.off', 'authenticator_removed', { by: 'operator' }] as const] : []),
    ];
    for (const [action, mail, details] of removals)
      await client.query(`select app.record($1, $2, 'done', $3, null, null), app.queue_security_mail($1, $4)`, [
        user.id,
        action,
        details,
        mail,
      ]);
    return { ...user, passkeys, authenticators };
  });
}

interface NewKey {
  readonly brokerage: string;
  readonly name: string;
  readonly environment: KeyEnvironment;
  readonly scopes: readonly KeyScope[];
  readonly ceiling: number | null;
  readonly expiresAt: Date | null;
  /**
   * E-mail address of the admin on whose behalf the key works; null for the brokerage's first admin, preferring admins
   * with a second factor if the brokerage requires one.
   */
  readonly admin: string | null;
}

/** Creates an API key and returns its token, which is not stored. Throws {@link NotPossible}. */
export async function createKey(
  client: pg.ClientBase,
  key: NewKey,
): Promise<{ id: string; token: string; brokerage_id: string }> {
  return inTransaction(client, async () => {
    const { id: brokerageId } = await brokerageNamed(client, key.brokerage);
    const admin = await one<{ id: string; may: boolean }>(
      client,
      `select u.id, not b.requires_second_factor or app.has_second_factor(u.id) as may from public.members m
       join public.users u on u.id = m.user_id join public.brokerages b on b.id = m.brokerage_id
       where m.brokerage_id = $1 and m.role = 'admin' and m.status = 'active' and u.suspended_at is null
         and ($2::text is null or u.email = lower($2))
       order by may desc, m.created_at, u.id limit 1`,
      [brokerageId, key.admin],
    );
    if (!admin) {
      throw new NotPossible(
        key.admin === null
          ? 'A key works on behalf of an admin, and this brokerage has no active one: create one with dealkeep users create.'
          : `${key.admin} is not an active admin of this brokerage.`,
      );
    }
    if (!admin.may) {
      throw new NotPossible(
        key.admin === null
          ? 'This brokerage requires a second factor, and none of its admins has one: a key would not work.'
          : `This brokerage requires a second factor, and ${key.admin} has none: a key would not work.`,
      );
    }
    const { token, digest, lastFour } = mintApiKey(key.environment);
    const made = await one<{ id: string }>(
      client,
      'select app.issue_api_key($1, $2, $3, $4, $5, $6, $7, $8, $9) as id',
      [brokerageId, admin.id, key.name, key.environment, key.scopes, key.ceiling, key.expiresAt, digest, lastFour],
    );
    if (!made) throw new Error('no key was made');
    await record(client, 'api_key.create', brokerageId, made.id, {
      environment: key.environment,
      scopes: key.scopes,
    });
    return { id: made.id, token, brokerage_id: brokerageId };
  });
}

/** The keys of a brokerage, newest first. Throws {@link NotPossible} for an unknown brokerage. */
export async function listKeys(client: pg.ClientBase, brokerage: string): Promise<ListedKey[]> {
  const { id } = await brokerageNamed(client, brokerage);
  const { rows } = await client.query<ListedKey>(
    `select id, name, environment, scopes, ceiling, last_four, created_at, expires_at, revoked_at, last_used_at,
       ${stateOfKey} as state
     from public.api_keys k where brokerage_id = $1 order by created_at desc, id desc`,
    [id],
  );
  return rows;
}

/** Revokes a key at once. Throws {@link NotPossible} when there is no key with this id, or it is already revoked. */
export async function revokeKey(client: pg.ClientBase, id: string): Promise<{ id: string; revoked_at: string }> {
  return inTransaction(client, async () => {
    const revoked = await one<{ id: string; revoked_at: string; brokerage_id: string }>(
      client,
      `update public.api_keys set revoked_at = app.now() where id::text = $1 and revoked_at is null
       returning id, revoked_at, brokerage_id`,
      [id],
    );
    if (!revoked) throw new NotPossible(`There is no key with the id "${id}" that could still be revoked.`);
    await record(client, 'api_key.revoke', revoked.brokerage_id, id, {});
    return { id: revoked.id, revoked_at: revoked.revoked_at };
  });
}

/** Makes the store with this id the one that holds the database's documents. */
export async function adoptStore(client: pg.ClientBase, storeId: string): Promise<void> {
  await client.query(
    `insert into vault.document_store (id, claimed_at, marked_at) values ($1, now(), now())
     on conflict (only_one) do update set id = excluded.id, claimed_at = now(), marked_at = now()`,
    [storeId],
  );
}

/** Sets for how many whole months audit records are kept; null for indefinitely. */
export async function keepAudit(client: pg.ClientBase, months: number | null): Promise<{ months: number | null }> {
  return inTransaction(client, async () => {
    const { rows } = await client.query<{ months: number | null }>(
      'select months from vault.audit_retention for update',
    );
    await client.query('update vault.audit_retention set months = $1', [months]);
    await record(client, 'audit.keep', null, 'audit_records', { before: rows[0]?.months ?? null, months });
    return { months };
  });
}

/** A mail that was not sent. */
export interface WaitingMail {
  id: string;
  kind: string;
  recipient: string;
  brokerage: string | null;
  state: 'waiting' | 'given up';
  attempts: number;
  created_at: string;
  next_attempt_at: string;
  last_error: string | null;
}

/**
 * Returns the waiting mails, oldest first, then the mails given up, latest first; at most `most` of each, and never
 * their content.
 */
export async function listMails(client: pg.ClientBase, most: number): Promise<WaitingMail[]> {
  const { rows } = await client.query<WaitingMail>(
    `select o.id, o.kind, o.recipient, b.slug as brokerage, case when o.given_up_at is null then 'waiting' else 'given up' end as state,
       o.attempts, o.created_at, o.next_attempt_at, o.last_error
     from vault.outbox o left join public.brokerages b on b.id = o.brokerage_id
     where o.id = any (array(select w.id from vault.outbox w where w.sent_at is null and w.given_up_at is null order by w.created_at, w.id limit $1))
       or o.id = any (array(select u.id from vault.outbox u where u.given_up_at is not null order by u.given_up_at desc, u.id limit $1))
     order by o.given_up_at desc nulls first, o.created_at, o.id`,
    [most],
  );
  return rows;
}

/** Sends a waiting or given-up mail again, an invitation with a new link. Throws {@link NotPossible}. */
export async function resendMail(client: pg.ClientBase, id: string, { token, secret }: NewLink): Promise<void> {
  await inTransaction(client, async () => {
    const mail = await one<{ id: string; brokerage_id: string | null }>(
      client,
      'select id, brokerage_id from vault.outbox where id::text = $1 and sent_at is null',
      [id],
    );
    if (!mail) throw new NotPossible(`There is no mail with the id "${id}" that waits or was given up.`);
    await client.query('select app.retry_mail($1, $2, $3)', [mail.id, token, secret]).catch((error: Error) => {
      throw new NotPossible(error.message, { cause: error });
    });
    if (mail.brokerage_id) await record(client, 'mail.resend', mail.brokerage_id, mail.id, {});
  });
}
