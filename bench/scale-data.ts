/**
 * A database with the rows of a platform, generated for a number of deals in a directory that can be kept and used
 * again.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import pg from 'pg';
import { command, spawnOptions } from '../server/database/cluster.ts';
import { startEmbedded, type EmbeddedPostgres } from '../server/database/embedded.ts';
import { migrate } from '../server/database/migrate.ts';
import { homeDirectory, installedEngine, preparedHome } from '../server/database/postgres-home.ts';
import {
  beginning,
  dealRows,
  dealsOfLarge,
  fewestDeals,
  firstRows,
  functions,
  keptRows,
  sizeOf,
} from './scale-rows.ts';
import { dealServiceRows, serviceRows } from './scale-rows-service.ts';

/** A superuser login besides those of the service: it loads the rows, and reads PostgreSQL's statistics. */
const superuser = 'bench_superuser';

/** A person whose calls are measured, and their credentials. */
export interface ScalePerson {
  readonly name: string;
  readonly role: string;
  readonly deals: number;
  readonly user_id: string;
  readonly email: string;
  readonly brokerage_id: string | null;
  readonly client_id: string;
  /** The value of the cookie `dealkeep`. */
  readonly session_token: string;
  /** The access token for the tools. */
  readonly access_token: string;
  /**
   * A deal of theirs in diligence, which has records of every kind, otherwise the first of their deals; null when they
   * have none.
   */
  readonly deal_id: string | null;
}

/** The running database of a size. */
export interface Platform {
  readonly postgres: EmbeddedPostgres;
  readonly superuser: pg.ClientConfig;
  readonly deals: number;
  readonly people: readonly ScalePerson[];
  /** The API keys of the large brokerage and of an ordinary one. */
  readonly apiKeys: readonly { readonly brokerage_id: string; readonly token: string }[];
  close(): Promise<void>;
}

export interface PlatformOptions {
  readonly directory: string;
  /** Number of deals of a new database; null opens the existing one, whatever its size. */
  readonly deals: number | null;
  /** Base URL for which tokens are issued. */
  readonly baseUrl: string;
  readonly say: (line: string) => void;
}

// Durability is off: if the machine fails while loading, the directory is created again.
const loading = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  maintenance_work_mem: '512MB',
  autovacuum: 'off',
};
const running = {
  shared_buffers: '1GB',
  max_connections: '200',
  max_wal_size: '4GB',
  track_functions: 'none',
  track_io_timing: 'off',
};

const passwordFile = (directory: string) => path.join(directory, 'superuser-password');

/** Creates the superuser while the cluster is stopped: the superuser that initialized the cluster cannot log in. */
async function addSuperuser(directory: string): Promise<void> {
  const home = preparedHome(directory, await installedEngine());
  const password = randomBytes(16).toString('hex');
  const [file, args] = command(home, 'postgres', [
    '--single',
    '-D',
    path.join(homeDirectory(directory), 'cluster'),
    'postgres',
  ]);
  const input = `set password_encryption = 'scram-sha-256';\ncreate role ${superuser} superuser login password '${password}';\n`;
  const { stderr, status } = spawnSync(file, args, { input, encoding: 'utf8', ...spawnOptions(home) });
  if (status !== 0 || /\b(?:ERROR|FATAL):/.test(stderr)) throw new Error(`The superuser could not be made: ${stderr}`);
  writeFileSync(passwordFile(directory), password, { mode: 0o600 });
}

const asSuperuser = (postgres: EmbeddedPostgres, directory: string): pg.ClientConfig => ({
  ...postgres.owner,
  user: superuser,
  password: readFileSync(passwordFile(directory), 'utf8'),
});

async function withClient<T>(connection: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Number of deals per transaction. */
const chunk = 10_000;

/** Number of concurrent connections while loading: each occupies one processor with PostgreSQL. */
const loaders = 2;

/** Executes all statements, `loaders` at a time. */
async function inTurns(connection: pg.ClientConfig, statements: readonly string[]): Promise<void> {
  const left = [...statements];
  const work = async (client: pg.Client) => {
    for (let statement = left.shift(); statement !== undefined; statement = left.shift()) await client.query(statement);
  };
  await Promise.all(Array.from({ length: loaders }, () => withClient(connection, work)));
}

const plainIndexes = `
  select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
  where t.relnamespace in ('public'::regnamespace, 'vault'::regnamespace) and t.relkind = 'r' and c.relkind = 'i'
    and not i.indisunique and not c.relispartition and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`;

async function load(connection: pg.ClientConfig, { deals, baseUrl, say }: PlatformOptions & { deals: number }) {
  const size = sizeOf(deals);
  // Rows are loaded in their final state, without triggers, except the one that sets the brokerage of a row.
  await withClient(connection, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select tgrelid::regclass::text as name from pg_trigger where tgname = 'set_tenant'`,
    );
    for (const { name } of rows) await client.query(`alter table ${name} enable always trigger set_tenant`);
  });
  const asReplica: pg.ClientConfig = { ...connection, options: '-c session_replication_role=replica' };
  await withClient(asReplica, async (client) => {
    await client.query(functions(size, 'dealkeep'));
    for (const statement of [...beginning(size, baseUrl), ...firstRows(size, baseUrl)]) await client.query(statement);
    await client.query('analyze bench.parts');
  });
  // Indexes that enforce no constraint are built at the end, which takes a fraction of the time.
  const indexes = await withClient(connection, async (client) => {
    const { rows } = await client.query<{ name: string; definition: string }>(plainIndexes);
    for (const { name } of rows) await client.query(`drop index ${name}`);
    return rows.map(({ definition }) => definition);
  });
  const last = deals + dealsOfLarge;
  let next = 1;
  const work = async (client: pg.Client) => {
    for (let from = next; from <= last; from = next) {
      next = from + chunk;
      const to = Math.min(from + chunk - 1, last);
      await client.query('begin');
      for (const statement of [...dealRows, ...dealServiceRows]) await client.query(statement, [from, to]);
      await client.query('commit');
      say(`  ${to.toLocaleString('en-US')} of ${last.toLocaleString('en-US')} deals`);
    }
  };
  await Promise.all(Array.from({ length: loaders }, () => withClient(asReplica, work)));
  say('  what is kept of them');
  await withClient(connection, (client) =>
    client.query('analyze deals, deal_stages, exclusivities, ndas, participants, questions'),
  );
  await inTurns({ ...asReplica, options: `${asReplica.options} -c work_mem=256MB` }, [
    ...keptRows,
    ...serviceRows(size),
  ]);
  say('  indexes');
  await inTurns(connection, indexes);
  say('  vacuum, analyze');
  await withClient(connection, (client) => client.query('vacuum (analyze)'));
}

/** Checks every foreign key on a sample of rows: triggers enforce them, and rows are loaded without triggers. */
async function check(connection: pg.ClientConfig): Promise<void> {
  await withClient(connection, async (client) => {
    const { rows: keys } = await client.query<{ name: string; query: string }>(`
      select k.conrelid::regclass || '.' || k.conname as name, format(
        'select count(*)::int as missing from (select * from %s tablesample system_rows(2000)) r where %s and not exists (select from %s f where %s)',
        k.conrelid::regclass,
        (select string_agg(format('r.%I is not null', a.attname), ' and ') from unnest(k.conkey) c join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c),
        k.confrelid::regclass,
        (select string_agg(format('f.%I = r.%I', fa.attname, a.attname), ' and ')
           from unnest(k.conkey, k.confkey) c (own, other)
           join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.own
           join pg_attribute fa on fa.attrelid = k.confrelid and fa.attnum = c.other)) as query
      from pg_constraint k where k.contype = 'f' and k.conparentid = 0`);
    await client.query('create extension if not exists tsm_system_rows');
    for (const { name, query } of keys) {
      const { rows } = await client.query<{ missing: number }>(query);
      if (rows[0]?.missing !== 0) throw new Error(`${rows[0]?.missing} rows break ${name}: the generator is wrong.`);
    }
  });
}

/**
 * Makes the measured people's sign-ins recent: idle sessions expire, and some requests require a sign-in within the
 * last ten minutes.
 */
export const wake = (client: pg.Client): Promise<unknown> =>
  client.query(`update vault.sessions s set created_at = now(), authenticated_at = now(), last_seen_at = now()
    from bench.people p where p.user_id = s.user_id`);

// Prefers a deal in diligence, which has records of every kind.
const peopleNow = `
  select p.*, (select x.deal_id from
      (select bench.id('020', t.n) as deal_id, bench.state_of(t.n) as state, t.n from bench.parts t where t.number = p.number
       union all select d.id, coalesce(g.state, d.state), 0 from deals d left join deal_stages g on g.deal_id = d.id
         where p.role = 'admin' and d.organization_id = p.brokerage_id) x
      order by x.state = 'diligence' desc, x.n, x.deal_id limit 1) as deal_id
  from bench.people p order by p.number`;

const optIn = `insert into deal_opt_ins (user_id, deal_id, brokerage_id) select $1, id, organization_id from deals where id = $2
  on conflict do nothing`;

/** The logins that make calls: the service's, and the owner's for what an operator does. */
export const loginsOf = ({ server, owner }: EmbeddedPostgres): string[] => [server.user ?? '', owner.user ?? ''];

/**
 * Stops PostgreSQL from logging plans, which costs more than the calls; an interrupted search for scans may have left
 * it on.
 */
export async function forgetPlans(connection: pg.ClientConfig, logins: readonly string[]): Promise<void> {
  await withClient(connection, async (client) => {
    await client.query(`load 'auto_explain'`);
    for (const login of logins) await client.query(`alter role ${login} reset all`);
    await client.query('alter system reset auto_explain.log_min_duration');
    await client.query('select pg_reload_conf()');
  });
}

/**
 * Starts the database in `directory`, creates it with `deals` deals if there is none, and migrates it. Throws when the
 * directory holds a database of another size, or one whose loading was interrupted.
 */
export async function openPlatform(options: PlatformOptions): Promise<Platform> {
  const { directory, deals, baseUrl, say } = options;
  const start = (settings: Readonly<Record<string, string>>) => startEmbedded({ dataDir: directory, settings });
  if (!existsSync(passwordFile(directory))) {
    if (deals === null) throw new Error(`${directory} holds no database: say how many deals it shall have.`);
    if (deals < fewestDeals)
      throw new Error(`A platform has at least ${fewestDeals} deals: some people are on so many.`);
    say(`Making a database of ${deals.toLocaleString('en-US')} deals in ${directory}`);
    await (await start(loading)).stop();
    await addSuperuser(directory);
    const postgres = await start({ ...running, ...loading });
    try {
      await migrate(postgres.owner, { serverLogin: postgres.server.user ?? '' });
      const connection = asSuperuser(postgres, directory);
      await load(connection, { ...options, deals });
      await check(connection);
      await withClient(connection, (client) => client.query('update bench.facts set complete = true'));
    } finally {
      await postgres.stop();
    }
  }
  const postgres = await start(running);
  try {
    await migrate(postgres.owner, { serverLogin: postgres.server.user ?? '' });
    const connection = asSuperuser(postgres, directory);
    await forgetPlans(connection, loginsOf(postgres));
    return await withClient(connection, async (client) => {
      const facts = await client.query<{ deals: string; complete: boolean; base_url: string }>(
        'select * from bench.facts',
      );
      const found = Number(facts.rows[0]?.deals);
      if (!facts.rows[0]?.complete || (deals !== null && found !== deals)) {
        throw new Error(
          `${directory} holds ${found || 'no'} deals, or not all of them: remove it, and it is made again.`,
        );
      }
      await wake(client);
      // Unbinds the database from its document store: a copied directory has a store of its own.
      await client.query('delete from vault.document_store');
      await client.query(
        `update vault.token_families f set resource = $1 from bench.people p where p.user_id = f.user_id`,
        [`${baseUrl}/api/mcp`],
      );
      const people = await client.query<ScalePerson>(peopleNow);
      // Opts in to writing through tools on the deal that each person is measured on.
      for (const { user_id, deal_id } of people.rows)
        if (deal_id !== null) await client.query(optIn, [user_id, deal_id]);
      const apiKeys = await client.query<{ brokerage_id: string; token: string }>(
        'select * from bench.api_keys order by brokerage_id',
      );
      const close = () => postgres.stop();
      return { postgres, superuser: connection, deals: found, people: people.rows, apiKeys: apiKeys.rows, close };
    });
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}
