/**
 * SQL for the rows of a platform that are not records of a deal: sign-ins, notifications, rows kept for a day or less,
 * and the service's own records. Their number is in proportion to people, brokerages and deals, as in scale-rows.ts.
 */

import { dealsOfLarge, id, lately, part, someOf, type Size } from './scale-rows.ts';

/** All accounts, numbered as `u`, except the measured people, who sign in with a password alone. */
const everybody = `(select u.id, u.email, row_number() over (order by u.id) as u from users u where not exists (select from bench.people p where p.user_id = u.id)) x`;
const digest = (kind: string, number: string) => `sha256(('${kind} ' || ${number})::bytea)`;
/** In place of a secret sealed by the service; nothing that is measured opens it. */
const sealed = `'sealed'`;
const lastOf = (deals: number) => `generate_series(1, ${deals} + ${dealsOfLarge}) n`;

/** SQL for the rows of people and brokerages, run after all deals are loaded. */
export const serviceRows = ({ deals, brokerages, buyers }: Size): readonly string[] => [
  // A known browser for each account, measured people included, and a second one for every other account; a fifth have
  // an authenticator, and a fifth a passkey.
  `insert into vault.known_devices (digest, user_id, used_at)
     select ${digest('device', "x.u || '-' || k")}, x.id, now() - bench.pick(x.u * 2 + k, 60, 179) * interval '1 day' from ${everybody}, generate_series(0, 1) k where k = 0 or x.u % 2 = 0
     union all select ${digest('device', 'session_token')}, user_id, now() from bench.people`,
  `insert into vault.totp (user_id, secret, confirmed_at) select x.id, ${sealed}, bench.start() from ${everybody} where x.u % 5 = 0`,
  `insert into vault.recovery_codes (user_id, digest)
     select x.id, ${digest('code', "x.u || '-' || k")} from ${everybody}, generate_series(0, 9) k where x.u % 5 = 0`,
  `insert into vault.passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
     select ${id('passkey', 'x.u')}, x.id, 'credential-' || x.u, 'key', 0, '{internal}', 'Phone', bench.start() from ${everybody} where x.u % 5 = 1`,
  `insert into vault.notification_settings (user_id, time_zone, digest_hour)
     select x.id, 'America/Chicago', 7 + x.u % 3 from ${everybody} where x.u % 3 = 0 union all select user_id, 'Europe/Berlin', 8 from bench.people`,
  `insert into vault.notification_choices (user_id, kind, delivery)
     select x.id, kind, 'app' from ${everybody}, unnest('{question_asked,document_added}'::text[]) kind where x.u % 4 = 0
     union all select user_id, 'nda_sent', 'daily' from bench.people`,
  // Passwords of sellers, whose accounts were added with their deals.
  `insert into vault.passwords (user_id, phc, address_proven_at)
     select u.id, '$argon2id$v=19$m=19456,t=2,p=1$' || md5(u.id::text) || '$' || md5(u.email), bench.start() from users u on conflict do nothing`,
  // Sign-ins, challenges and password resets that were begun and not finished, each by one account in a hundred, and
  // address changes by one in two hundred: as many as half an hour brings.
  `insert into vault.sign_in_steps (digest, user_id, expires_at) select ${digest('step', 'x.u')}, x.id, now() + interval '10 years' from ${everybody} where x.u % 100 = 5`,
  `insert into vault.challenges (digest, user_id, expires_at) select ${digest('challenge', 'x.u')}, x.id, now() + interval '10 years' from ${everybody} where x.u % 100 = 6`,
  `insert into vault.password_resets (digest, user_id, expires_at) select ${digest('reset', 'x.u')}, x.id, now() + interval '10 years' from ${everybody} where x.u % 100 = 7`,
  `insert into vault.address_changes (user_id, digest, new_email, expires_at)
     select x.id, ${digest('address', 'x.u')}, 'new-' || x.email, now() + interval '10 years' from ${everybody} where x.u % 200 = 8`,
  // Authorization codes exchanged for the tokens of assistants within the last day.
  `insert into vault.authorization_codes (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, issued_at, expires_at, used_at, family_id)
     select ${digest('code', 'f.id')}, ${digest('consent', 'f.id')}, f.user_id, f.client_id, 'https://client.example/callback', repeat('a', 43), '{mcp:read}', f.resource,
       now() - interval '3 hours', now() + interval '10 years', now() - interval '3 hours', f.id
     from vault.token_families f where f.scopes = '{mcp:read}' and not exists (select from bench.people p where p.user_id = f.user_id)`,
  // Invitations of staff that are not accepted yet, one per brokerage, for accounts that are on deals.
  `insert into members (brokerage_id, user_id, role, status, invitation_id, created_at, updated_at)
     select ${id('brokerage', 'b')}, ${id('buyer', `b % ${buyers}`)}, 'broker', 'invited', ${id('invitation', 'b * 1000 + 900')}, now() - interval '2 days', now() - interval '2 days'
     from generate_series(1, ${brokerages + 1}) b`,
  `insert into vault.invitations (digest, user_id, brokerage_id, mailed, created_at, expires_at)
     select ${digest('invitation', "'brokerage ' || b")}, ${id('buyer', `b % ${buyers}`)}, ${id('brokerage', 'b')}, true, now() - interval '2 days', now() + interval '10 years'
     from generate_series(1, ${brokerages + 1}) b`,
  // Idempotency keys of a day: twenty per brokerage, a hundred times as many for the large brokerage.
  `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, made_at, answer)
     select ${id('key', 'b')}, 'order-' || k, sha256('bench'), now() - bench.pick(k, 61, 1400) * interval '1 minute', '{"id":"' || ${id('contact', `b * 100 + k % 10`)} || '","email":"contact-' || k || '@example.com"}'
     from generate_series(1, ${brokerages + 1}) b, generate_series(1, case b when 1 then 2000 else 20 end) k`,
  `insert into vault.tool_call_keys (user_id, client_id, tool, idempotency_key, input_digest, answer, made_at)
     select user_id, client_id, 'svc_questions_create', 'call-' || k, sha256('bench'), '{}', now() - bench.pick(k, 62, 1400) * interval '1 minute' from bench.people, generate_series(1, 50) k
     union all select f.user_id, f.client_id, 'svc_questions_create', 'call-1', sha256('bench'), '{}', now() - interval '5 hours' from vault.token_families f where f.scopes = '{mcp:read}'`,
  // Counted mails of two days: of each brokerage, of five of its people, and to ten addresses.
  `insert into vault.mail_counts (subject, since, sent)
     select subject, day - d * interval '1 day', 3 from date_trunc('day', now(), 'UTC') day, generate_series(0, 1) d, generate_series(1, ${brokerages + 1}) b, generate_series(1, 10) k,
       lateral (values ('day to buyer-' || (b * 10 + k) || '@example.com'), ('day from ' || ${id('brokerage', 'b')} || ' to buyer-' || (b * 10 + k) || '@example.com'),
         ('day from ' || ${id('staff', 'b * 1000 + k % 5')}), ('day for ' || ${id('brokerage', 'b')})) v (subject) on conflict do nothing`,
  `insert into vault.mail_counts (subject, since, sent) select 'hour news to ' || x.id, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', 2 from ${everybody}, generate_series(0, 3) h where x.u % 10 < 2`,
  // Events that failed and wait for their retry, for one deal in a thousand.
  `insert into vault.events (id, at, kind, deal_id, subject, subject_id, actor_id, attempts, next_attempt_at, last_error, rank)
     select ${id('event', 'n * 100 + 99')}, now() - interval '1 hour', 'question_asked', ${id('deal', 'n')}, 'questions', ${id('question', 'n * 100')}, bench.buyer_of(n, 1), 5,
       now() + interval '10 years', 'canceling statement due to statement timeout', 1 from ${lastOf(deals)} where n % 1000 = 3`,
  `insert into vault.uploads (storage_key, begun_at) select 'scale-upload-of-deal-' || n, now() - bench.pick(n, 63, 47) * interval '1 hour' from ${lastOf(deals)} where n % 100 = 4`,
  // Legal holds on sellers, and on deals of ordinary brokerages without measured people, since a hold would prevent
  // their erasure; and brokerages that are to be deleted.
  `insert into vault.legal_holds (kind, subject_id, reference) select 'person', ${id('seller', 'n')}, 'Matter ' || n from ${lastOf(deals)} where n > ${dealsOfLarge} and n % 1000 = 999
     union all select 'deal', ${id('deal', 'n')}, 'Matter ' || n from ${lastOf(deals)} where n > ${dealsOfLarge} and n % 1000 = 501 and not exists (select from bench.parts t where t.n = n.n)`,
  `insert into vault.brokerage_deletions (brokerage_id, asked_at, due_at) select ${id('brokerage', 'b')}, now() - interval '1 day', now() + interval '10 years' from generate_series(50, ${brokerages + 1}, 500) b`,
  `insert into vault.webhook_secrets (id, endpoint_id, secret, created_at) select ${id('secret', 'b')}, ${id('webhook', 'b')}, ${sealed}, bench.start() from generate_series(1, ${brokerages + 1}) b`,
  `insert into vault.purged_changes (brokerage_id, seq) select ${id('brokerage', 'b')}, 0 from generate_series(1, ${brokerages + 1}) b on conflict do nothing`,
  `insert into brokerage_logos (brokerage_id, media_type, width, height, picture) select ${id('brokerage', 'b')}, 'image/png', 200, 80, convert_to(repeat(md5(b::text), 60), 'UTF8')
     from generate_series(1, ${brokerages + 1}) b where b % 2 = 1`,
];

/** SQL for the same kind of rows of the deals $1 to $2, as in `dealRows`. */
export const dealServiceRows: readonly string[] = [
  // Every measured person except the admins is invited to one more deal of the large brokerage.
  `insert into participants (id, deal_id, user_id, role, status, invited_name, invited_email, created_at, updated_at)
     select ${part('50')}, ${id('deal', 'n')}, user_id, 'viewer', 'invited', name, email, ${lately('n')}, ${lately('n')}
     from (select p.*, 11000 + p.number as n from bench.people p where p.role <> 'admin') x where n between $1::bigint and $2::bigint`,
  `insert into vault.invitations (digest, user_id, participant_id, mailed, created_at, expires_at)
     select sha256(('invitation of ' || email)::bytea), user_id, ${part('50')}, true, now(), now() + interval '10 years'
     from (select p.*, 11000 + p.number as n from bench.people p where p.role <> 'admin') x where n between $1::bigint and $2::bigint`,
  `insert into vault.invitations (digest, user_id, participant_id, mailed, created_at, expires_at, used_at)
     select ${digest('invitation', "n || '-' || slot")}, person, ${part('slot')}, true, ${lately('n')}, ${lately('n')} + interval '14 days', case slot when 5 then null else ${lately('n')} + interval '1 day' end
     from (select n, 5 as slot, bench.invited_to(n) as person from generate_series($1::bigint, $2::bigint) n
       union all select n, 2, bench.buyer_of(n, 1) from generate_series($1::bigint, $2::bigint) n where ${someOf(64, 30)}) x`,
  `insert into vault.visits (user_id, deal_id, tab, began_at)
     select person, ${id('deal', 'n')}, tab, ${lately('n')} from (select n, bench.broker_of(n) as person from generate_series($1::bigint, $2::bigint) n where ${someOf(70, 50)}
         union all select n, bench.buyer_of(n, 1) from generate_series($1::bigint, $2::bigint) n where ${someOf(71, 50)}
         union all select n, p.user_id from bench.parts join bench.people p using (number) where n between $1::bigint and $2::bigint) x,
       unnest('{documents,questions,offers}'::text[]) tab`,
  `insert into vault.deal_notification_choices (user_id, deal_id, delivery)
     select person, ${id('deal', 'n')}, 'app' from (select n, bench.buyer_of(n, 1) as person from generate_series($1::bigint, $2::bigint) n where ${someOf(65, 5)}
       union all select n, p.user_id from bench.parts join bench.people p using (number) where n between $1::bigint and $2::bigint and ${someOf(66, 5)}) x`,
  `insert into vault.sent_reminders (subject, subject_id, recipient_id, deal_id, sent_by, sent_at)
     select 'questions', ${id('question', 'n * 100')}, ${id('seller', 'n')}, ${id('deal', 'n')}, bench.broker_of(n), now() - bench.pick(n, 67, 40) * interval '1 hour'
     from generate_series($1::bigint, $2::bigint) n where ${someOf(68, 5)}`,
  `insert into vault.role_changes (participant_id, deal_id, at)
     select ${part('4')}, ${id('deal', 'n')}, ${lately('n')} from generate_series($1::bigint, $2::bigint) n where ${someOf(69, 1)}`,
  // Never on a deal in diligence, on which assistants write.
  `insert into deal_tool_stops (deal_id, stopped_by) select ${id('deal', 'n')}, bench.broker_of(n) from generate_series($1::bigint, $2::bigint) n
     where n % 100 = 77 and bench.state_of(n) <> 'diligence'`,
];
