/**
 * A statement that enters with an API key and answers it has the same result as entering first and then querying under
 * the policies.
 */

import assert from 'node:assert/strict';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import type { Check, Stage } from './scene.ts';

/** Wraps a statement so that it runs while the triggers of a table are disabled. */
const alone = (table: string, statement: string): readonly string[] => [
  `alter table ${table} disable trigger user`,
  statement,
  `alter table ${table} enable trigger user`,
];

const digest = `'\\x${'01'.repeat(32)}'`;
const issuer = `(select d.issued_by from vault.api_key_digests d where d.digest = ${digest})`;
const asksForSecondFactor = 'update brokerages set requires_second_factor = true';
const test = [`update api_keys set environment = 'test'`];
const sandbox = `insert into brokerages (slug, name, sandbox_of, reset_at)
  select 'scene-sandbox', 'Sandbox', id, app.now() from brokerages where slug = 'scene' returning to_jsonb(id)`;

const ownKey = `(select d.key_id from vault.api_key_digests d where d.digest = ${digest})`;
const bodyDigest = `'\\x${'02'.repeat(32)}'::bytea`;
const usedAgo = (time: string) => [
  `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, contact_id, made_at)
     select ${ownKey}, 'one', ${bodyDigest}, gen_random_uuid(), app.now() - ${time}`,
];

/** Changes after which no key is in force. */
const shut: Readonly<Record<string, readonly string[]>> = {
  'when keys are revoked': [`update api_keys set revoked_at = app.now(), revoked_by = created_by`],
  'when keys expire': ['update api_keys set expires_at = app.now()'],
  'when keys were rotated away': ['update vault.api_key_digests set valid_until = app.now()'],
  'when who issued them is suspended': alone('users', `update users set suspended_at = app.now() where id = ${issuer}`),
  'when who issued them is no member any more': alone(
    'members',
    `update members set status = 'removed' where user_id = ${issuer}`,
  ),
  'when their brokerage asks for a second factor that who issued them has not': [
    asksForSecondFactor,
    'delete from vault.totp',
  ],
  'when a test key has no sandbox': test,
};

/** Changes after which the key is in force. */
const open: typeof shut = {
  'as it is': [],
  'when keys hold a moment longer': [
    `update api_keys set expires_at = app.now() + interval '1 microsecond'`,
    `update vault.api_key_digests set valid_until = app.now() + interval '1 microsecond'`,
  ],
  'when their brokerage asks for a second factor that who issued them has': [
    asksForSecondFactor,
    `insert into vault.totp (user_id, secret, confirmed_at) values (${issuer}, 'none', app.now()) on conflict do nothing`,
  ],
  'when there are archived contacts, many, and such as lack an address or hold whatever separates values': [
    `update contacts set archived_at = app.now() where display_name like 'A%'`,
    `insert into contacts (brokerage_id, type, display_name, email, phone, created_at) select b.id, 'company', 'Number ' || n,
       case when n % 2 = 0 then 'a@example.test' end, case when n % 3 = 0 then '+' when n % 5 = 0 then '' end, app.now() - n * interval '1 hour'
       from brokerages b, generate_series(1, 70) n`,
  ],
  'when another key has used the same idempotency key, and this one another': [
    `with other as (insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
         select k.brokerage_id, 'Another', 'live', k.scopes, 'abcd', k.created_by from api_keys k where k.id = ${ownKey} returning id)
       insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, contact_id, made_at)
         select id, name, ${bodyDigest}, gen_random_uuid(), app.now() from other, unnest('{one,old}'::text[]) name
         union all select ${ownKey}, 'another', ${bodyDigest}, gen_random_uuid(), app.now()
         union all select ${ownKey}, 'old', ${bodyDigest}, gen_random_uuid(), app.now() - interval '25 hours'
       returning to_jsonb(made_at)`,
  ],
  'when the idempotency key was used a moment less than a day ago': usedAgo(
    `interval '24 hours' - interval '1 millisecond'`,
  ),
  'when the idempotency key was used a day ago': usedAgo(`interval '24 hours'`),
  'when a test key has its sandbox': [...test, sandbox],
  'when a test key has a sandbox that is full': [
    ...test,
    sandbox,
    `insert into contacts (brokerage_id, type, display_name) select id, 'person', 'x' from brokerages b, generate_series(1, 5000) where b.sandbox_of is not null`,
  ],
};

/**
 * The expected effect of creating a contact as the entered key; whether the key may do so is decided as in the policy
 * of contacts.
 */
const newContact = `create function app.new_contact(made uuid, idempotency_key text, body_digest bytea) returns text
  language plpgsql security definer set search_path = '' as $$
  declare
    key constant uuid := app.key_id();
    brokerage constant uuid := (app.brokerages_for('contacts:write'))[1];
    now constant timestamptz(3) := app.now();
    earlier vault.idempotency_keys;
  begin
    if brokerage is null then
      return null;
    end if;
    if idempotency_key is not null then
      select k.* into earlier from vault.idempotency_keys k
        where k.key_id = key and k.idempotency_key = new_contact.idempotency_key and k.made_at > now - interval '24 hours';
      if found then
        perform app.audit('contact.create', earlier.contact_id::text, 'repeated', brokerage, null, '192.0.2.7', 'request', '{}');
        return concat_ws(',', earlier.contact_id, earlier.made_at::timestamptz, 'repeated');
      end if;
      delete from vault.idempotency_keys k where k.made_at <= now - interval '24 hours';
      insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, contact_id, made_at)
      values (key, new_contact.idempotency_key, new_contact.body_digest, made, now);
    end if;
    insert into public.contacts (id, brokerage_id, type, display_name, email, created_by_key, created_at, updated_at)
    values (made, brokerage, 'company', 'New & new', 'new@example.test', key, now, now);
    perform app.audit('contact.create', made::text, 'done', brokerage, null, '192.0.2.7', 'request', '{"type": "company"}');
    return concat_ws(',', made, now);
  end
  $$`;

const from = `'192.0.2.7', 'request'`;
const made = `'0192f0c1-2345-7000-8000-000000000001'`;
// A new id at each call.
const recordId = `gen_random_uuid()`;
const given = (key: string) =>
  `'company', 'New & new', 'new@example.test', null, ${key}, ${key === 'null' ? 'null' : bodyDigest}`;

/** Each question, asked in one statement (`now`) and after entering (`before`). */
const questions: Readonly<Record<string, { now: string; before: string }>> = {
  'the first page': {
    now: `select app.contacts_of_key(${digest}, '|', 51, null, null) as told`,
    before: `select concat_ws('|', id, type, display_name, coalesce('+' || email, ''), coalesce('+' || phone, ''), created_at, updated_at) as told
         from contacts where archived_at is null order by created_at desc, id desc limit 51`,
  },
  'a page after a place': {
    now: `select app.contacts_of_key(${digest}, '|', 4, app.now() - interval '3 hours', ${made}) as told`,
    before: `select concat_ws('|', id, type, display_name, coalesce('+' || email, ''), coalesce('+' || phone, ''), created_at, updated_at) as told
         from contacts where archived_at is null and (created_at, id) < (app.now() - interval '3 hours', ${made}) order by created_at desc, id desc limit 4`,
  },
  'a new contact': {
    now: `select app.create_contact_by_key(${digest}, ${made}, ${recordId}, ${given('null')}, ${from}) as told`,
    before: `select told from app.new_contact(${made}, null, null) told where told is not null`,
  },
  'a new contact with an idempotency key': {
    now: `select app.create_contact_by_key(${digest}, ${made}, ${recordId}, ${given(`'one'`)}, ${from}) as told`,
    before: `select told from app.new_contact(${made}, 'one', ${bodyDigest}) told where told is not null`,
  },
};

interface Outcome {
  readonly told: string | null;
  readonly failure: string | undefined;
  readonly left: unknown;
}

/** Everything that is left afterwards, without the ids of events and records, which differ. */
const left = `select jsonb_build_object(
    'contacts', (select jsonb_agg(c order by c.id) from contacts c),
    'records', (select jsonb_agg(to_jsonb(r) - 'id' order by r.outcome) from audit_records r where r.request_id = 'request'),
    'events', (select jsonb_agg(to_jsonb(e) - 'seq' - 'id' order by e.object_id) from change_events e where e.object_id = ${made}),
    'keys', (select jsonb_agg(k order by k.idempotency_key) from vault.idempotency_keys k))`;

const asOwner = async (server: Stage['server'], statement: string): Promise<unknown> =>
  (await server.query<{ r: unknown }>('select app.as_owner($1, null) as r', [statement])).rows[0]!.r;

/** The outcomes of a question asked in both ways, at the same time, in the open transaction. */
async function asked({ server }: Stage, question: string): Promise<{ now: Outcome; before: Outcome }> {
  const said = questions[question]!;
  const separator = question.includes('page') ? '|' : ',';

  const inOne = async () => (await server.query<{ told: string | null }>(said.now)).rows[0]!.told;

  async function inTwo(): Promise<string | null> {
    const entered = await server.query<{ told: string }>(
      `select concat_ws('${separator}', key_id, brokerage_id, array_to_string(scopes, ' '), coalesce(ceiling::text, '')) as told
         from app.enter_with_api_key(${digest})`,
    );
    const { rows } = await server.query<{ told: string }>(said.before);
    return entered.rowCount === 0 ? null : [...entered.rows, ...rows].map(({ told }) => told).join(separator);
  }

  async function outcome(way: () => Promise<string | null>): Promise<Outcome> {
    await server.query('savepoint ready');
    let told: string | null = null;
    let failure: string | undefined;
    try {
      // A question with an idempotency key is asked twice.
      for (const _ of question.includes('idempotency') ? [1, 2] : [1]) told = await way();
    } catch (error) {
      told = null;
      failure = (error as Error).message;
      await server.query('rollback to ready');
    }
    const found = { told, failure, left: await asOwner(server, left) };
    await server.query('rollback to ready');
    return found;
  }

  return { now: await outcome(inOne), before: await outcome(inTwo) };
}

/**
 * Asks in a transaction with these changes, which is rolled back. Some changes make thousands of rows, once for all
 * questions.
 */
async function after(
  { server, scene }: Stage,
  changes: readonly string[],
  ask: (scoped: (scopes: readonly string[]) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  await server.query('begin');
  try {
    await server.query(`select set_config('search_path', 'public', true)`);
    await asOwner(
      server,
      `insert into vault.api_key_digests (digest, key_id, issued_by, brokerage_id)
      select ${digest}, k.id, k.created_by, k.brokerage_id from api_keys k where k.id = '${scene.key}'`,
    );
    const scoped = (scopes: readonly string[]) =>
      asOwner(server, `update api_keys set scopes = '{${scopes.join(',')}}' where id = '${scene.key}'`);
    await scoped(keyScopes);
    await asOwner(server, newContact);
    await asOwner(server, 'grant execute on function app.new_contact(uuid, text, bytea) to dealkeep_server');
    for (const change of changes) await asOwner(server, change);
    await ask(scoped);
  } finally {
    await server.query('rollback');
  }
}

const scopeSets: readonly (readonly string[])[] = [
  keyScopes,
  ['contacts:read'],
  ['contacts:write'],
  keyScopes.filter((scope) => !scope.startsWith('contacts:')),
];

export const keysAskedChecks: Check[] = [
  {
    title: 'a key that is not in force is told nothing and leaves nothing, in one statement as in two',
    run: async (stage) => {
      for (const [when, changes] of Object.entries(shut))
        await after(stage, changes, async () => {
          for (const question of Object.keys(questions)) {
            const { now, before } = await asked(stage, question);
            assert.equal(now.told, null, `${question} ${when}`);
            assert.equal((now.left as { records: unknown }).records, null, `${question} ${when}`);
            assert.deepEqual(now, before, `${question} ${when}`);
          }
        });
    },
  },
  {
    title: 'a key is told, refused and leaves in one statement what it does in two, with the policies',
    run: async (stage) => {
      let values = 0;
      for (const [when, changes] of Object.entries(open))
        await after(stage, changes, async (scoped) => {
          for (const scopes of scopeSets) {
            await scoped(scopes);
            for (const question of Object.keys(questions)) {
              const about = `${question} ${when}, with ${scopes.length} scopes such as ${scopes[0]}`;
              const { now, before } = await asked(stage, question);
              assert.deepEqual(now, before, about);
              const isFull = when.includes('full') && question.startsWith('a new') && scopes.includes('contacts:write');
              assert.equal(now.failure !== undefined, isFull, `${about}: ${now.failure}`);
              if (!isFull) assert.ok(now.told, about);
              if (question === 'the first page') values = Math.max(values, now.told!.split('|').length);
            }
          }
        });
      assert.ok(values > 50 * 7, `${values} values on a page`);
    },
  },
];
