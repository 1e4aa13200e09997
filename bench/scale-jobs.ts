/**
 * The jobs of a platform: scheduled jobs, the workers' reactions to events, and operations too rare to be measured as a
 * person's calls.
 */

import type pg from 'pg';
import type { Database } from '../server/database/database.ts';
import { row, rows as several } from '../server/database/statement.ts';
import { amongDealsOf, recordsOf } from '../server/domain/changed-records.ts';
import { callingApiKey, enterWithApiKey } from '../server/domain/clients/api-keys.ts';
import {
  callersDocument,
  refuseClientByDocument,
  clientOfGrant,
  documentClient,
} from '../server/domain/clients/authorization.ts';
import { recordLastUses } from '../server/domain/clients/last-used.ts';
import { resetOwnSandbox } from '../server/domain/clients/sandboxes.ts';
import { objectTypes, publishChanges, type ChangeEvent } from '../server/domain/events/changes.ts';
import {
  claimDeliveries,
  enterForDeliveries,
  noteDeliveries,
  queueWebhooks,
  seesChanges,
} from '../server/domain/webhooks/deliveries.ts';
import { isRefreshable } from '../server/domain/clients/tokens.ts';
import { mailsOfOneself } from '../server/domain/accounts/own-data.ts';
import { claimMail, mailNotNeeded } from '../server/domain/outbox/mails.ts';
import { bodiesToClear } from '../server/domain/documents/documents.ts';
import { rememberedLines } from '../server/domain/diligence/account-lines.ts';
import {
  answerContradiction,
  closedToAnswers,
  releaseContradiction,
  unanswerContradiction,
  withdrawContradiction,
} from '../server/domain/diligence/contradiction-answers.ts';
import { completeSnapshot, processSnapshot, requestSnapshot } from '../server/domain/diligence/snapshots.ts';
import { queueNotificationMails, createNotifications } from '../server/domain/notifications/events.ts';
import { upgradePassword } from '../server/domain/accounts/passwords.ts';
import { remind } from '../server/domain/notifications/reminders.ts';
import { brokerageToDelete, mailsOfDeletedBrokerage } from '../server/domain/people/brokerage-deletion.ts';
import { exportDeals, exportRows, exportTables } from '../server/domain/people/brokerage-export.ts';
import { renameOneself } from '../server/domain/people/people.ts';
import { enterWithSession, sessionsAlive } from '../server/domain/accounts/sessions.ts';
import { withinDeal } from '../server/domain/visibility/deal-scope.ts';
import { mailCounts, noteJobRun, serviceState } from '../server/domain/service/status.ts';
import { scheduledJobs } from '../server/scheduled-jobs.ts';
import type { Platform, ScalePerson } from './scale-data.ts';
import { undone } from './scale-undone.ts';
import { digestOf, from, nothing } from './scale-calls.ts';

/** Work that nobody waits for. */
export interface Job {
  readonly name: string;
  /** Whether it writes so much that logging its plans takes minutes; a smaller job of its kind is examined instead. */
  readonly isLarge?: boolean;
  /** SQL that the superuser executes before each run; optional. */
  readonly before?: string;
  readonly run: () => Promise<string>;
}

/**
 * SQL that queues events for twenty questions as if they had just been asked; each concerns everybody on its deal who
 * may see it.
 */
const twentyEvents = `insert into vault.events (kind, deal_id, subject, subject_id, actor_id)
  select 'question_asked', q.deal_id, 'questions', q.id, q.asked_by from questions q order by q.id desc limit 20`;

/** SQL that makes a daily mail due for twenty people. */
const twentyDue = `update vault.notifications set mail = 'daily', mail_due_at = now() - interval '1 minute', mailed_at = null
  where id in (select distinct on (n.user_id) n.id from (select * from vault.notifications order by id desc limit 200) n order by n.user_id limit 20)`;

/** SQL that makes one mail due. */
export const oneDue = `update vault.outbox set next_attempt_at = now() - interval '1 minute', claimed_until = null, sent_at = null, given_up_at = null,
  give_up_at = now() + interval '1 day' where id = (select id from vault.outbox order by id desc limit 1)`;

/** An NDA that waits for its signature, on a deal of the broker of 1,000 deals. */
export interface Unsigned {
  readonly id: string;
  readonly deal_id: string;
}

/** Finds such an NDA; null when there is none. */
export async function unsignedNda(client: pg.Client, people: readonly ScalePerson[]): Promise<Unsigned | null> {
  const broker = people.find(({ name }) => name === 'broker of 1000');
  const { rows } = await client.query<Unsigned>(
    `select n.id, n.deal_id from participants b
     join deals d on d.id = b.deal_id and d.state not in ('closed', 'withdrawn')
     join ndas n on n.deal_id = b.deal_id and n.status = 'sent' and (n.expires_at is null or n.expires_at > now())
     join participants p on p.id = n.participant_id and p.status = 'active'
     where b.user_id = $1 and b.role = 'broker' and b.status = 'active' order by n.id limit 1`,
    [broker?.user_id],
  );
  return rows[0] ?? null;
}

/** Reads two portions of each table as an admin's export does, for the first two hundred deals. */
async function exportPortion(database: Database, { session_token, brokerage_id }: ScalePerson): Promise<void> {
  const enter = enterWithSession(digestOf(session_token));
  const [, tables, deals] = await database.together(enter, exportTables(), exportDeals(brokerage_id ?? '', null));
  const ids = deals.map(({ id }) => id);
  for (const { query, by_deal } of tables) {
    const [of, on] = by_deal ? [null, ids] : [brokerage_id, []];
    const [, first] = await database.together(enter, exportRows(query, of, on, null, 1_000));
    const last = first.length < 1_000 ? undefined : first.at(-1);
    if (last) await database.together(enter, exportRows(query, of, on, [...last.place], 1_000));
  }
}

/**
 * Jobs with the statements about clients that identify themselves by a document. The platform has none, but the
 * requests of all other clients execute these statements too.
 */
function clientsByDocument(database: Database, broker: ScalePerson | undefined): Job[] {
  const url = 'https://client.example.com/oauth/client.json';
  if (!broker) return [];
  const asked: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['document_client', () => database.together(enterWithSession(digestOf(broker.session_token)), documentClient(url))],
    ['client_of_grant', () => database.run(clientOfGrant(url, digestOf(broker.access_token)))],
    ['refuse_client_by_document', () => database.run(refuseClientByDocument(nothing))],
    [
      'document_of_caller',
      () => database.together(enterWithSession(digestOf(broker.session_token)), callersDocument()),
    ],
  ];
  return asked.map(([name, ask]) => ({ name, run: () => ask().then(() => 'done') }));
}

/**
 * The job that reads which line each account of an export counted toward when the last export was stored, as preview
 * and upload do.
 */
const rememberedOf = (database: Database, token: string, dealId: string): Job => ({
  name: 'remembered_account_lines',
  run: () =>
    database
      .together(enterWithSession(digestOf(token), true, withinDeal(dealId)), rememberedLines(dealId))
      .then(() => 'done'),
});

/** The job that answers a contradiction, then deletes the answer, so that nothing is left. */
const answered = (database: Database, token: string, dealId: string): Job => ({
  name: 'closed_to_answers, answer_contradiction, release_contradiction, withdraw_contradiction, unanswer_contradiction',
  async run() {
    const key = '0'.repeat(32);
    const answer = { status: 'explained', why: 'The rent was prepaid.' } as const;
    await database.together(
      enterWithSession(digestOf(token), true, withinDeal(dealId)),
      closedToAnswers(dealId),
      answerContradiction(dealId, { key, figures: key }, answer, undefined, from),
      // The time of the answer is not known here: the statement looks for an answer with another time, and releases
      // nothing.
      releaseContradiction(dealId, { key, figures: key }, '2026-01-01T00:00:00Z', from),
      withdrawContradiction(dealId, key, from),
      unanswerContradiction(dealId, key, null, from),
    );
    return 'done';
  },
});

/**
 * The job that stores an upload with as many customers as a large one has; that of the previous run is deleted first.
 */
function uploaded(database: Database, token: string, dealId: string): Job {
  const customers = Array.from({ length: 5_000 }, (_, nth) => ({
    customer_name: `Customer ${nth}`,
    period_start_date: '2026-02-01',
    period_end_date: '2026-02-28',
    currency: 'USD',
    revenue_total: '1000',
  }));
  const ofBench = `select id from accounting_snapshots where deal_id = '${dealId}' and source_name = 'bench'`;
  return {
    name: 'complete_snapshot: 5000 customers',
    before: `delete from customer_revenues where snapshot_id in (${ofBench}); delete from accounting_snapshots where id in (${ofBench})`,
    async run() {
      const enter = enterWithSession(digestOf(token), true, withinDeal(dealId));
      const [, id] = await database.together(enter, requestSnapshot(dealId, 'customer_revenue', 'bench', null, from));
      await database.together(enter, processSnapshot(id));
      await database.together(enter, ...completeSnapshot(dealId, id, { periods: [], customers }, from));
      return 'done';
    },
  };
}

/**
 * Jobs of webhook deliveries: find the webhooks of all brokerages that have new changes; for one webhook, write
 * deliveries, claim 50 of 500 that are queued, store their outcomes, and claim when none is due.
 */
function deliveries(database: Database, brokerageId: string | undefined): Job[] {
  if (brokerageId === undefined) return [];
  const endpoint = `(select id from webhook_endpoints where brokerage_id = '${brokerageId}' order by id limit 1)`;
  // No other webhook is due or has new changes.
  const alone = `update webhook_endpoints set queue_at = case when freed is not null then now() + interval '1 hour' end where queue_at <= now() + interval '1 minute'`;
  return [
    {
      name: 'queue_webhooks: which have some of 2,000 changes',
      before: `${alone}; update vault.change_stream set webhooks_marked = published - 2000`,
      run: () => database.run(queueWebhooks()).then((moved) => (moved ? 'done' : 'none')),
    },
    {
      name: 'queue_webhooks: 100 changes',
      before: `
        ${alone};
        update vault.change_stream set webhooks_marked = published;
        update webhook_endpoints set place = (select c.seq from change_events c where c.brokerage_id = '${brokerageId}' order by c.seq desc offset 100 limit 1), queue_at = now()
          where id = ${endpoint}`,
      run: () => database.run(queueWebhooks()).then((moved) => (moved ? 'done' : 'none')),
    },
    {
      name: 'claim_deliveries, enter_for_deliveries, sees_changes, note_deliveries: 50 of 500',
      before: `
        update webhook_deliveries set state = 'waiting', ended_at = null, attempts = 0, next_attempt_at = now() - interval '1 minute'
          where id in (select d.id from webhook_deliveries d where d.endpoint_id = ${endpoint} order by d.created_at desc, d.nr desc limit 500);
        update webhook_endpoints set claim = null, claimed_until = null, rests_until = null, send_at = now() - interval '1 minute' where id = ${endpoint}`,
      async run() {
        const [lot] = await database.run(claimDeliveries(1));
        if (!lot) return 'none';
        const sent = { outcome: 'delivered', url: lot.url, bytes: 512, digest: '0'.repeat(64), status: 204 } as const;
        const attempts = lot.deliveries.map(({ id }) => ({
          ...sent,
          id,
          nth: 1,
          error: null,
          answer: null,
          answer_type: null,
          millis: 80,
        }));
        const { endpoint_id, claim } = lot;
        await database.together(enterForDeliveries(lot), seesChanges(lot.deliveries.flatMap(({ seq }) => seq ?? [])));
        await database.run(
          noteDeliveries([{ endpoint: endpoint_id, claim, is_over: false, more: 50, held: [], attempts }]),
        );
        return 'done';
      },
    },
    {
      name: 'claim_deliveries: none is due',
      before: `update webhook_deliveries set state = 'delivered', ended_at = now(), next_attempt_at = null where state = 'waiting' and endpoint_id = ${endpoint}`,
      run: () => database.run(claimDeliveries(32)).then(() => 'done'),
    },
  ];
}

const done = (work: Promise<unknown>): Promise<string> => work.then(() => 'done');

/** Token of a test key that is added to the keys of the platform. */
const testToken = 'dk_test_of_the_bench';

/** Jobs of a brokerage's sandbox, which is created before the measurement and reset in each run. */
function sandboxJobs(database: Database, brokerageId: string | undefined): Job[] {
  if (brokerageId === undefined) return [];
  const before = `
    with made as (
      insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
        select brokerage_id, 'Bench', 'test', scopes, '0000', created_by from api_keys k where brokerage_id = '${brokerageId}'
          and not exists (select from vault.api_key_digests where digest = '\\x${digestOf(testToken).toString('hex')}')
        limit 1 returning id, created_by)
    insert into vault.api_key_digests (digest, key_id, issued_by) select '\\x${digestOf(testToken).toString('hex')}', id, created_by from made;
    update brokerages set reset_at = created_at where sandbox_of = '${brokerageId}'`;
  const enter = enterWithApiKey(digestOf(testToken));
  return [
    { name: 'calling_key: of a test key', before, run: () => done(database.together(enter, callingApiKey())) },
    { name: 'reset_sandbox_with_key', before, run: () => done(database.together(enter, resetOwnSandbox(from))) },
  ];
}

/** Jobs that read the records of 50 changes of each kind, as readers of events and webhooks receive them. */
function expansions(database: Database, token: string | undefined): Job[] {
  if (token === undefined) return [];
  const enter = enterWithApiKey(digestOf(token));
  return objectTypes.map((objectType) => {
    let changes: ChangeEvent[] | undefined;
    return {
      name: `expand=data: 50 of ${objectType}`,
      async run() {
        if (changes === undefined) {
          const [, found] = await database.together(enter, changedOf(objectType));
          changes = found.map(({ id, deal }) => ({
            id,
            type: '',
            objectType,
            objectId: id,
            dealId: deal,
            occurredAt: '',
          }));
        }
        const records = recordsOf(changes, { findings: true, financing: true });
        const [, , found] = await database.together(enter, amongDealsOf(changes), ...records);
        // Records that were removed since are missing.
        return found?.length ? 'done' : 'none';
      },
    };
  });
}

const changedOf = several<{ id: string; deal: string | null }, [type: string]>(
  'bench_changed',
  `select distinct on (c.object_id) c.object_id as id, c.about_deal as deal
   from (select object_id, object_type, about_deal from change_events where brokerage_id = app.identity_part(4)::uuid order by seq limit 20000) c
   where c.object_type = $1 order by c.object_id limit 50`,
);

const deletionDue = row<object, [brokerage: string]>(
  'bench_deletion_due',
  'insert into vault.brokerage_deletions (brokerage_id, due_at) values ($1, now())',
);
const someMails = several<{ id: string }>(
  'bench_some_mails',
  'select id from vault.outbox order by id desc limit 1000',
);

/**
 * Jobs that list which mails are a person's or a brokerage's, look up a refresh token, and mark a mail as not needed.
 */
function mailsAndTokens(database: Database, asOwner: Database, people: readonly ScalePerson[]): Job[] {
  const buyer = people.find(({ name }) => name === 'buyer of 1000');
  const brokerage = people.find(({ role, deals }) => role === 'admin' && deals > 1_000)?.brokerage_id;
  return [
    ...(buyer
      ? [
          {
            name: 'mails_of_oneself: buyer of 1000',
            before: `update vault.sessions set authenticated_at = now() where user_id = '${buyer.user_id}'`,
            run: () => done(database.run(mailsOfOneself(digestOf(buyer.session_token)))),
          },
          {
            name: 'is_refreshable: a token that is made up',
            run: () => done(database.run(isRefreshable(buyer.client_id, digestOf('made up')))),
          },
        ]
      : []),
    ...(brokerage
      ? [
          {
            name: 'mails_of_deleted_brokerage: among 1000',
            async run() {
              const among = (await asOwner.run(someMails())).map(({ id }) => id);
              return done(undone(asOwner, deletionDue(brokerage), mailsOfDeletedBrokerage(brokerage, among)));
            },
          },
        ]
      : []),
    {
      name: 'mail_not_needed',
      before: oneDue,
      async run() {
        const mail = await database.run(claimMail());
        return mail ? done(undone(database, mailNotNeeded(mail))) : 'none';
      },
    },
  ];
}

const erase = row<object, [person: string]>('bench_erase', `select app.erase_person($1, 'operator', null)`);
// A broker of some two hundred deals, who is the only broker on most of those among the last two thousand.
const removeBroker = row<object, [brokerage: string]>(
  'bench_remove_member',
  'select app.remove_member($1, bench.broker_of(12000), bench.broker_of(11999), null, null)',
);

/** Jobs of people who leave: the platform, on the owner's connection, or the large brokerage. */
function leaving(database: Database, asOwner: Database, people: readonly ScalePerson[]): Job[] {
  const admin = people.find(({ role, deals }) => role === 'admin' && deals > 1_000);
  return [
    ...[
      'buyer of 1',
      'buyer of 1000',
      'seller of 1000',
      'buyer of 10000',
      'broker of 10000',
      'advisor of 10000',
    ].flatMap((name) =>
      people
        .filter((person) => person.name === name)
        .map(({ user_id, deals }) => ({
          name: `erase_person: ${name}`,
          isLarge: deals > 1_000,
          run: () => done(undone(asOwner, erase(user_id))),
        })),
    ),
    ...(admin?.brokerage_id
      ? [
          {
            name: 'remove_member: with a successor',
            run: () =>
              done(
                undone(
                  database,
                  enterWithSession(digestOf(admin.session_token)),
                  removeBroker(admin.brokerage_id ?? ''),
                ),
              ),
          },
        ]
      : []),
    {
      name: 'upgrade_password',
      run: () => database.run(upgradePassword('$argon2id$of$nobody', '$argon2id$of$nobody')).then(() => 'done'),
    },
  ];
}

const someSessions = several<{ id: string }>(
  'bench_some_sessions',
  'select id from vault.sessions order by created_at desc, id limit 1000',
);

/**
 * Jobs with the periodic statements of each node: whether the sessions of its open pages are alive, and the last uses
 * of credentials.
 */
function usesAndStreams(
  database: Database,
  asOwner: Database,
  people: readonly ScalePerson[],
  apiKeys: Platform['apiKeys'],
): Job[] {
  const used = people.flatMap(({ session_token, access_token }) => [session_token, access_token]);
  const uses = [...used, ...apiKeys.map(({ token }) => token)].map((token) => ({ digest: digestOf(token), age: 0 }));
  let sessions: readonly string[] | undefined;
  return [
    {
      name: 'note_uses: of everybody who is measured',
      // At most one use per minute is recorded.
      before: `update vault.sessions set last_seen_at = now() - interval '2 minutes' where last_seen_at > now() - interval '2 minutes'`,
      run: () => done(undone(database, recordLastUses(uses))),
    },
    {
      name: 'sessions_alive: of 1000 open pages',
      async run() {
        sessions ??= (await asOwner.run(someSessions())).map(({ id }) => id);
        return done(database.run(sessionsAlive(sessions)));
      },
    },
  ];
}

/**
 * Returns every scheduled job, the workers' reactions to events, and operations too rare to be measured as a person's
 * calls.
 */
export function jobsOf(
  database: Database,
  { people, apiKeys }: Pick<Platform, 'people' | 'apiKeys'>,
  unsigned: Unsigned | null,
  asOwner: Database,
): Job[] {
  const broker = people.find(({ name }) => name === 'broker of 1000');
  const admin = people.find(({ name }) => name === 'admin of 12000');
  return [
    ...scheduledJobs.map(({ job }) => {
      const statement = job();
      return { name: statement.name, run: () => done(database.run(statement)) };
    }),
    { name: 'clear_store: bodies to clear', run: () => done(database.run(bodiesToClear())) },
    { name: 'delete_brokerages: none is due', run: () => done(database.run(brokerageToDelete([]))) },
    { name: 'tell_events: 20 events', before: twentyEvents, run: () => done(database.run(createNotifications(100))) },
    { name: 'tell_events: none', run: () => done(database.run(createNotifications(100))) },
    {
      name: 'queue_notification_mails: 20 people',
      before: twentyDue,
      run: () => done(database.run(queueNotificationMails(100))),
    },
    { name: 'claim_mail: one is due', before: oneDue, run: () => done(database.run(claimMail())) },
    { name: 'publish_changes: none is new', run: () => done(database.run(publishChanges())) },
    { name: 'queue_webhooks: nothing is new', run: () => done(database.run(queueWebhooks())) },
    ...deliveries(database, apiKeys[0]?.brokerage_id),
    { name: 'claim_mail: none is due', run: () => done(database.run(claimMail())) },
    ...clientsByDocument(database, broker),
    ...(broker?.deal_id
      ? [rememberedOf, answered, uploaded].map((job) => job(database, broker.session_token, broker.deal_id ?? ''))
      : []),
    ...sandboxJobs(database, apiKeys[0]?.brokerage_id),
    ...expansions(database, apiKeys[0]?.token),
    ...leaving(database, asOwner, people),
    ...mailsAndTokens(database, asOwner, people),
    ...(broker
      ? [
          {
            name: 'rename_oneself: broker of 1000',
            run: () =>
              done(
                undone(
                  database,
                  enterWithSession(digestOf(broker.session_token)),
                  renameOneself('Renamed', { address: null, requestId: null }),
                ),
              ),
          },
        ]
      : []),
    ...usesAndStreams(database, asOwner, people, apiKeys),
    { name: 'note_job_run', run: () => done(undone(database, noteJobRun('sweep', true))) },
    {
      name: 'mail_counts, service_state: for the metrics',
      run: () => done(database.together(mailCounts(), serviceState())),
    },
    ...(broker && unsigned
      ? [
          {
            name: 'remind: of an NDA',
            before: `delete from vault.sent_reminders where subject_id = '${unsigned.id}'`,
            run: () =>
              done(
                database.together(
                  enterWithSession(digestOf(broker.session_token), true, withinDeal(unsigned.deal_id)),
                  remind('ndas', unsigned.id, { address: null, requestId: null }),
                ),
              ),
          },
        ]
      : []),
    ...(admin
      ? [
          {
            name: 'export_rows: two portions of each table, of 200 deals of 12000 and of their brokerage',
            run: () => done(exportPortion(database, admin)),
          },
        ]
      : []),
  ];
}
