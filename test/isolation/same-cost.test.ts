/**
 * A request about one deal reads as many rows for a person on a few deals as for a person on hundreds: the statements
 * that the service sends for it are run again, and PostgreSQL reports how many rows it read, including within
 * functions. Nor does the audit trail of a brokerage read more rows because of other people's actions there, for a
 * person who runs no deal of the brokerage.
 */

import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rows, type Statement } from '../../server/database/statement.ts';
import { enterWithApiKey, mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { participantsOfDeal } from '../../server/domain/deals/participants.ts';
import { withinDeal } from '../../server/domain/visibility/deal-scope.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import type { TestService } from '../harness.ts';
import { connect, type Scene } from '../policies/scene.ts';
import { addToken, caller } from '../tools/scene.ts';
import { signInAs } from '../web/person.ts';
import { openSentStatements, type SentStatements } from './sent-statements.ts';

let statements: SentStatements;
let service: TestService;
let scene: Scene;
let owner: pg.Client;

beforeAll(async () => {
  statements = await openSentStatements();
  ({ service } = statements);
  ({ scene } = service);
  owner = await connect(service.connections.owner);
  await addInvited();
});
afterAll(async () => {
  await owner?.end();
  await statements?.close();
});

/** Tables of which a deal, or a person on deals, has more than a few rows; and the partitions of the audit trail. */
const ofDeals = '^(deals|deals_of_people|participants|ndas|exclusivities|deal_stages|users|qoe_workspace_members)$';
const ofAudit = '^audit_records';

/**
 * How many rows of some tables this connection has read, including index-only scans, from the statistics that it has
 * not flushed yet.
 */
async function readSoFar(tables: string): Promise<Map<string, number>> {
  const { rows: found } = await statements.server.query<{ name: string; n: number }>(
    `select t.relname as name, (t.seq_tup_read + coalesce(
       (select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = t.relid), 0))::int as n
     from pg_stat_xact_user_tables t where t.relname ~ $1 order by 1`,
    [tables],
  );
  return new Map(found.map(({ name, n }) => [name, n]));
}

/** The number of rows that a transaction reads in these tables. */
async function rowsRead(transaction: readonly Statement<unknown>[], tables = ofDeals): Promise<Record<string, number>> {
  const { server } = statements;
  await server.query('begin');
  try {
    const before = await readSoFar(tables);
    for (const { text, values } of transaction) {
      await server.query('savepoint this');
      await server.query(text, [...values]).catch(() => server.query('rollback to this'));
    }
    const after = await readSoFar(tables);
    return Object.fromEntries([...after].map(([name, n]) => [name, n - (before.get(name) ?? 0)]));
  } finally {
    await server.query('rollback');
  }
}

async function costOf(ask: () => Promise<unknown>, tables = ofDeals): Promise<Record<string, number>[]> {
  const read: Record<string, number>[] = [];
  for (const transaction of await statements.sentBy(ask)) read.push(await rowsRead(transaction, tables));
  return read;
}

/**
 * Vacuums until every page is marked all-visible. While a transaction of the service is in progress pages are not, and
 * PostgreSQL then reads the table where the index alone would suffice.
 */
async function vacuum(table: string, option = ''): Promise<void> {
  const isVisible = async () => {
    await owner.query(`vacuum ${option} ${table}`);
    const { rows: found } = await owner.query(
      'select relallvisible = relpages as all from pg_class where oid = $1::regclass',
      [table],
    );
    return found[0].all as boolean;
  };
  await expect.poll(isVisible).toBe(true);
}

/** Adds 400 deals without anybody of the scene; returns the id of their one participant. */
async function addDeals(role: string): Promise<string> {
  const { rows: made } = await owner.query<{ id: string }>(
    `with other as (insert into users (email, name) values ($2 || '@example.test', 'O') returning id),
     made as (
       insert into deals (organization_id, title, state) select $1, 'Another', 'listed' from generate_series(1, 400) returning id)
     insert into participants (deal_id, user_id, role, status) select made.id, other.id, $3, 'active' from made, other
     returning user_id as id`,
    [
      scene.brokerage,
      `other-${role.replaceAll(/\W/g, '-')}`,
      ['broker', 'seller', 'viewer'].includes(role) ? role : 'buyer',
    ],
  );
  for (const table of ['deals', 'participants', 'users']) await vacuum(table, '(analyze)');
  return made[0]!.id;
}

/**
 * Gives the invited person an NDA on the deal, and makes them a participant of another deal, on which nobody else of
 * the scene is.
 */
async function addInvited(): Promise<void> {
  const invited = scene.people['invited'];
  await owner.query(
    `update participants set invited_name = 'Ines Invited', invited_email = 'ines@example.test' where id = $1`,
    [scene.participants['invited']],
  );
  await owner.query(`insert into ndas (deal_id, participant_id, terms) values ($1, $2, 'Keep it to yourself.')`, [
    scene.deal,
    scene.participants['invited'],
  ]);
  await owner.query(
    `with made as (insert into deals (organization_id, title, state) values ($1, 'Of who is invited', 'listed') returning id)
     insert into participants (deal_id, user_id, role, status) select made.id, $2, 'viewer', 'active' from made`,
    [scene.brokerage, invited],
  );
}

const pages = [
  '',
  '/documents',
  '/questions',
  '/offers',
  '/conditions',
  '/qoe',
  '/qoe/snapshots',
  '/qoe/normalizations',
  '/qoe/members',
  '/findings',
  '/financing',
  '/ndas',
  '/activity',
  '/tools',
  '/keys',
];

test.each(['broker', 'seller', 'exclusive buyer', "seller's advisor", 'viewer'])(
  'a request about one deal reads no more rows when its caller is on hundreds of deals: %s',
  async (who) => {
    const id = scene.people[who]!;
    const person = await signInAs(service, id);
    const call = caller(service, await addToken(service, id));
    const finding = scene.records["findings/the broker's"];
    const asked: Record<string, () => Promise<unknown>> = {
      ...Object.fromEntries(pages.map((page) => [page, () => person.ask(`/deals/${scene.deal}${page}`)])),
      'a finding': () => person.ask(`/findings/${finding}`),
      'a choice': () => person.ask(`/deals/${scene.deal}/notifications`, { delivery: 'daily' }, 'PUT'),
    };
    for (const { name, listed, scope } of catalog)
      if (scope === 'mcp:read' && 'deal_id' in (listed.inputSchema.properties ?? {}))
        asked[name] = () => call(name, { deal_id: scene.deal });

    const costs = async () => {
      const read: Record<string, Record<string, number>[]> = {};
      for (const [name, ask] of Object.entries(asked)) read[name] = await costOf(ask);
      return read;
    };
    const other = await addDeals(who);
    const few = await costs();
    // Only the deals' participant changes, so that PostgreSQL plans as before.
    await owner.query('update participants set user_id = $1 where user_id = $2', [id, other]);
    await vacuum('participants');
    const many = await costs();
    for (const [name, transactions] of Object.entries(few))
      transactions.forEach((before, at) => {
        // Index entries that PostgreSQL removed in between change the count by a few rows.
        for (const [table, read] of Object.entries(before))
          expect(many[name]?.[at]?.[table], `${name}: rows of ${table}, where they were ${read}`).toBeLessThan(
            read + 20,
          );
      });
  },
);

test('a request by API key about one deal reads no more rows when the key can access hundreds of deals', async () => {
  const { digest } = mintApiKey('live');
  await owner.query(`select app.issue_api_key($1, $2, 'Sync', 'live', $3, null, null, $4, '0000')`, [
    scene.brokerage,
    scene.people['admin'],
    keyScopes,
    digest,
  ]);
  const tables = ['participants', 'ndas', 'offers', 'questions', 'documents', 'qoe_checklist', 'closing_conditions'];
  const asked = [
    enterWithApiKey(digest, withinDeal(scene.deal)),
    rows('the_deal', 'select id from deals where id = app.seen_deal($1)')(scene.deal),
    ...tables.map((table) => rows(`of_${table}`, `select id from ${table} where deal_id = $1`)(scene.deal)),
    participantsOfDeal(scene.deal, null, 200),
  ];
  await addDeals('another');
  const few = await rowsRead(asked);
  await owner.query('update deals set keys_admitted = true where organization_id = $1', [scene.brokerage]);
  await vacuum('deals');
  const many = await rowsRead(asked);
  expect(few['participants']).toBeGreaterThan(5);
  for (const [table, read] of Object.entries(few))
    expect(many[table], `rows of ${table}, where they were ${read}`).toBeLessThan(read + 20);
});

test.each(['outsider', 'new buyer', 'viewer'])(
  "the audit trail of a brokerage reads no more rows because of other people's actions: %s",
  async (who) => {
    const person = await signInAs(service, scene.people[who]!);
    const day = `from=${service.clock.inDays(-1)}&to=${service.clock.inDays(1)}`;
    const costs = async () => {
      const read: Record<string, number> = {};
      for (const asked of [
        '',
        'outcome=done',
        'outcome=refused',
        'action=nda.',
        `outcome=refused&action=nda.&${day}`,
      ]) {
        const ask = () => person.ask(`/audit?brokerage_id=${scene.brokerage}&${asked}`);
        read[asked] = (await costOf(ask, ofAudit)).flatMap(Object.values<number>).reduce((sum, n) => sum + n, 0);
      }
      return read;
    };
    const few = await costs();
    await owner.query(
      `insert into audit_records (brokerage_id, user_id, action, outcome, noted)
       select $1, $2, 'nda.send', o.outcome, o.outcome = 'done' from unnest('{done,refused}'::text[]) o (outcome), generate_series(1, 300)`,
      [scene.brokerage, scene.people['admin']],
    );
    const many = await costs();
    for (const [asked, read] of Object.entries(few))
      expect(many[asked], `${asked}: records, where they were ${read}`).toBeLessThan(read + 20);
    // Records of the person's own actions are read, and so counted.
    await owner.query(
      `insert into audit_records (brokerage_id, user_id, action, outcome, noted)
       select $1, $2, 'nda.send', 'refused', false from generate_series(1, 30)`,
      [scene.brokerage, scene.people[who]],
    );
    for (const [asked, read] of Object.entries(await costs()))
      if (asked !== 'outcome=done') expect(read, asked).toBeGreaterThanOrEqual(many[asked]! + 30);
  },
);
