/**
 * The rows of "What functions tell" in docs/visibility.md: notifications, mails, status, holds and exports, which no
 * table shows.
 */

import type { Scene, Stage } from './scene.ts';

/**
 * Adds a row of each kind to the scene, as the owner: a notification for everybody, and one choice, event, mail, backup
 * and hold.
 */
export async function addFunctionRows({ owner, scene }: Stage): Promise<void> {
  const people = [...new Set(Object.values(scene.people))];
  const broker = scene.people['broker'];
  await owner.query(
    `insert into vault.sessions (id, user_id, digest, method) select p, p, sha256(p::text::bytea), 'password' from unnest($1::uuid[]) p`,
    [people],
  );
  await owner.query(
    `insert into vault.notifications (event_id, user_id, kind, at) select app.uuid_v7(), p, 'new_device', app.now() from unnest($1::uuid[]) p`,
    [people],
  );
  await owner.query(`insert into vault.notification_choices values ($1, 'question_asked', 'off')`, [broker]);
  await owner.query(`insert into vault.notification_settings values ($1, 'Europe/Berlin', 7)`, [broker]);
  await owner.query(`insert into vault.events (kind, deal_id) values ('question_asked', $1)`, [scene.deal]);
  await owner.query(
    `select app.queue_mail('security_change', 'a@example.test', null, $1, null, true, '{}', null, null), app.note_job_run('backup', true)`,
    [scene.brokerage],
  );
  await owner.query(
    `insert into vault.api_key_digests (digest, key_id, issued_by)
     select sha256('a key of the brokerage'), k.id, k.created_by from api_keys k where k.created_by = $1`,
    [scene.people['admin']],
  );
  await owner.query(`insert into vault.legal_holds (kind, subject_id) values ('person', $1)`, [broker]);
  await owner.query(
    `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, removed_at)
     values ($1, 'Removed.pdf', 'financials', 'public', 1, 'application/pdf', 'key-of-a-removed-document', app.now())`,
    [scene.deal],
  );
  const uploads = ['broker', 'exclusive buyer'].map((caller) => ({ by: scene.people[caller], account: caller }));
  await owner.query(
    `insert into accounting_snapshots (id, deal_id, snapshot_type, status, requested_by, account_lines)
     select u.by, $1, 'profit_and_loss', 'completed', u.by, jsonb_build_object(u.account, 'revenue') from jsonb_to_recordset($2) u (by uuid, account text)`,
    [scene.deal, JSON.stringify(uploads)],
  );
}

type FunctionQuery = (scene: Scene) => { text: string; values: unknown[] };

/** Whether a person sees how the accounts of this caller's upload were assigned. */
const accountsOf =
  (caller: string): FunctionQuery =>
  ({ deal }) => ({
    text: 'select 1 from app.remembered_account_lines($1, 10) r where r.account_lines ? $2',
    values: [deal, caller],
  });

/** Enters again with the person's own session, which has just begun, and asks for the archive of the brokerage. */
const asked = `with entered as materialized (select app.enter_through(app.user_id(), null, app.user_id(), '{}') where app.user_id() is not null),
  asked as materialized (select app.may_export($1) as may from (select count(*) from entered) e)`;

/** Whether that archive, of the brokerage and its deal, contains rows of a table. */
const archived =
  (table: string, condition = 'true'): FunctionQuery =>
  ({ brokerage, deal }) => ({
    text: `${asked} select 1 from asked cross join app.export_tables() t cross join lateral app.export_rows(t.query, $1, array[$2]::uuid[], null, 1000) r
      where asked.may and t.name = '${table}' and ${condition}`,
    values: [brokerage, deal],
  });

/** For each row of the page's table, the query that shows it. */
export const functionQueries: Readonly<Record<string, FunctionQuery>> = {
  'their own notifications': () => ({ text: 'select 1 from app.notifications_in_sight(null, null, 10)', values: [] }),
  "the broker's notifications": ({ people }) => ({
    text: `select 1 from app.notifications_in_sight(null, null, 10) n where app.user_id() = $1 and n.id is not null`,
    values: [people['broker']],
  }),
  "the broker's choice of notifications": () => ({
    text: `select 1 from app.notification_choices() c where c.kind = 'question_asked' and c.delivery = 'off'`,
    values: [],
  }),
  "the broker's time zone and hour of the daily mail": () => ({
    text: 'select 1 from app.notification_settings()',
    values: [],
  }),
  'mails of the brokerage that have not arrived': ({ brokerage }) => ({
    text: 'select 1 from app.undelivered_mails($1)',
    values: [brokerage],
  }),
  'how many mails and events of the brokerage wait': ({ brokerage }) => ({
    text: 'select 1 from app.queue_status($1)',
    values: [brokerage],
  }),
  'when scheduled jobs ran': ({ brokerage }) => ({ text: 'select 1 from app.job_status($1)', values: [brokerage] }),
  'when backups were made': ({ brokerage }) => ({ text: 'select 1 from app.backup_status($1)', values: [brokerage] }),
  'the asking prices of the deals that the broker runs': ({ deal }) => ({
    text: 'select 1 from app.pipeline(50) p where p.id = $1',
    values: [deal],
  }),
  "how accounts in the broker's upload were assigned": accountsOf('broker'),
  "how accounts in the buyer's upload were assigned": accountsOf('exclusive buyer'),
  "that the broker's upload has ended": ({ people }) => ({
    text: 'select 1 where app.upload_has_ended($1)',
    values: [people['broker']],
  }),
  'that the deal has a broker': ({ deal }) => ({ text: 'select 1 where app.has_broker($1)', values: [deal] }),
  'the name of a condition that is not met for a closing': ({ deal }) => ({
    text: `select 1 from unnest(app.closing_warnings($1)) w where w like '%Lease assigned%'`,
    values: [deal],
  }),
  'a public document that can be restored': ({ deal }) => ({
    text: 'select 1 from app.documents_to_restore($1)',
    values: [deal],
  }),
  'the queue of events': () => ({ text: 'select 1 from vault.events', values: [] }),
  'the outbox': () => ({ text: 'select 1 from vault.outbox', values: [] }),
  "everybody's notifications": () => ({ text: 'select 1 from vault.notifications', values: [] }),
  "everybody's choices of notifications": () => ({ text: 'select 1 from vault.notification_choices', values: [] }),
  'legal holds': () => ({ text: 'select 1 from vault.legal_holds', values: [] }),
  'the keys of the brokerage that reach deals': ({ deal }) => ({
    text: 'select 1 from app.keys_for_deal($1)',
    values: [deal],
  }),
  'the export of what is about the broker': ({ people }) => ({
    text: 'select app.person_data($1, true)',
    values: [people['broker']],
  }),
  'the ids of mails that the broker got or caused': ({ people }) => ({
    text: 'select app.mails_of_person($1)',
    values: [people['broker']],
  }),
  'an archive of the brokerage': ({ brokerage }) => ({
    text: `${asked} select 1 from asked where may`,
    values: [brokerage],
  }),
  'an archive of the brokerage, without a recent sign-in': ({ brokerage }) => ({
    text: 'select 1 where app.may_export($1)',
    values: [brokerage],
  }),
  'in the archive, contacts': archived('contacts'),
  'in the archive, members': archived('members'),
  'in the archive, a deal in which the admin takes no part': archived('deals'),
  'in the archive, its public documents': archived('documents', `r.content::jsonb ->> 'confidentiality' = 'public'`),
  'in the archive, its other documents': archived('documents', `r.content::jsonb ->> 'confidentiality' <> 'public'`),
  'in the archive, its offers': archived('offers'),
  'in the archive, its questions': archived('questions'),
  'in the archive, its findings': archived('findings'),
  'in the archive, its financials': archived('pl_periods'),
  'in the archive, who did what on it': archived('documents', `r.content::jsonb ->> 'uploaded_by' is not null`),
};
