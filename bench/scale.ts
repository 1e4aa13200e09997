/**
 * npm run bench -- scale: what each call costs a person on one deal and on ten thousand, in a database as large as a
 * platform's. Times are those of one caller at a time. The processor time of PostgreSQL is that of the backends that
 * the service uses, as Linux counts it in nanoseconds (/proc/<pid>/schedstat), so that a busy machine does not change
 * it.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { createApp } from '../server/app.ts';
import { variableNames } from '../server/config/variables.ts';
import { readConfig, type Config } from '../server/config/config.ts';
import { openDatabase, type Database } from '../server/database/database.ts';
import { createLog } from '../server/lib/log.ts';
import { openServices } from '../server/services.ts';
import { ClientBackends } from './backends.ts';
import { urlOf, type Cluster } from './cluster.ts';
import { freePort } from './free-port.ts';
import { median } from './median.ts';
import { startDealkeep, type Service } from './processes.ts';
import { idsOf, idsOfKey, otherCalls, toolCalls, webCalls, type Call, type Route } from './scale-calls.ts';
import { jobsOf, unsignedNda, type Job } from './scale-jobs.ts';
import { refusedToAll, restCalls } from './scale-rest.ts';
import { aboutDeal, compare, isOver, pairsOf, dealOfBrokerage, type Difference } from './scale-one-deal.ts';
import { forgetPlans, loginsOf, openPlatform, wake, type Platform, type ScalePerson } from './scale-data.ts';
import { accountJobs } from './scale-account-jobs.ts';
import { table } from './table.ts';
import { lookedAt, type Scan } from './scale-plans.ts';
import { startUndoing } from './scale-undone.ts';
import { idsOfWrites, isSeldom, notFoundAgain, writeCalls } from './scale-writes.ts';

/** The cost of one call for one caller; times in milliseconds. */
interface Measure {
  readonly status: string;
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  /** Median processor time of PostgreSQL per call. */
  readonly postgres: number;
}

/** The results of one run, as stored for comparisons. */
interface Results {
  readonly deals: number;
  readonly measures: Record<string, Record<string, Measure>>;
  readonly scans: Record<string, readonly Scan[]>;
  /** Pages that each call read, by caller and call. */
  readonly pages: Record<string, number>;
  /** Calls whose plan was not logged because they failed, with their status. */
  readonly failures: Record<string, string>;
}

/** Who is measured by default: every size, every role, and the admin of a large brokerage. */
const usual = [
  'broker of 1',
  'broker of 10',
  'broker of 100',
  'broker of 1000',
  'broker of 10000',
  'buyer of 1000',
  'buyer of 10000',
  'seller of 1000',
  'advisor of 1000',
  'advisor of 10000',
  'admin of 12000',
];

/** People whose pages' writes are measured too: each role, on many deals. */
const writing: ReadonlySet<string> = new Set([
  'broker of 1000',
  'broker of 10000',
  'buyer of 1000',
  'buyer of 10000',
  'seller of 1000',
  'advisor of 10000',
  'admin of 12000',
]);

/** Maximum p50 of a call in milliseconds, for a person on up to 1,000 deals, and on more. */
const bounds = { few: 25, many: 60 } as const;
/** Maximum growth factor of a call's cost, compared with a platform a hundredth of the size. */
const growthBound = 1.3;
/**
 * A call reads too many pages when it reads more than `times` as many as on the smaller platform, and more than `more`
 * in addition: an index of a table a hundred times as large is a level or two deeper.
 */
const pagesBound = { times: 1.5, more: 100 } as const;

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** How long one call is repeated, in milliseconds, and how often at most. */
interface Effort {
  readonly millis: number;
  readonly most: number;
}

/** A call or job on one platform, how each run is prepared, and the backends that serve it in PostgreSQL. */
interface Work {
  readonly run: () => Promise<string>;
  readonly prepare?: (() => Promise<unknown>) | undefined;
  readonly backends: ClientBackends;
}

/**
 * Repeats the work on all platforms alternately: first uncounted, until PostgreSQL has settled on its plans, then
 * counted. Returns one measure per platform.
 */
async function measure(works: readonly Work[], effort: Effort): Promise<Measure[]> {
  const once = async ({ run, prepare, backends }: Work) => {
    await prepare?.();
    const before = await backends.spent();
    const start = performance.now();
    const status = await run();
    const took = performance.now() - start;
    return { status, took, postgres: (((await backends.spent()) ?? 0) - (before ?? 0)) * 1000 };
  };
  // The first run is not timed: it may have to read from disk.
  for (const work of works) await once(work);
  let first = 0;
  for (const work of works) first = Math.max(first, (await once(work)).took);
  // PostgreSQL considers a generic plan for a prepared statement from its sixth execution on.
  for (let warm = first > 400 ? 6 : 0; warm < 6; warm += 1) for (const work of works) await once(work);
  const calls = Math.max(first > 2_000 ? 1 : 3, Math.min(effort.most, Math.round(effort.millis / first)));
  const found = works.map((): Awaited<ReturnType<typeof once>>[] => []);
  for (let call = 0; call < calls; call += 1)
    for (const [index, work] of works.entries()) found[index]?.push(await once(work));
  return found.map((ofOne) => {
    const times = ofOne.map(({ took }) => took).toSorted((a, b) => a - b);
    const postgres = median(ofOne.map((one) => one.postgres));
    return {
      status: ofOne.at(-1)?.status ?? '',
      calls,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      postgres,
    };
  });
}

const nextPage = '{next}';
const cursors = new WeakMap<Call, string | null>();

/** Returns the cursor of the second page, null when there is none; requested only once. */
async function cursorOf(to: string, call: Call): Promise<string | null> {
  const known = cursors.get(call);
  if (known !== undefined) return known;
  const response = await fetch(to + call.path.replace(/[?&]cursor=.*/, ''), { headers: call.headers });
  const { next_cursor = null } = (await response.json()) as { next_cursor?: string | null };
  const cursor = next_cursor && encodeURIComponent(next_cursor);
  cursors.set(call, cursor);
  return cursor;
}

/** Sends a call and reads the whole response; returns its status, and whether a tool refused or the body broke off. */
async function send(started: Started, call: Call): Promise<string> {
  const { method, path: at, headers, body, ask, isUndone = false } = call;
  if (ask) return ask();
  const to = isUndone ? started.undoing : started.origin;
  const cursor = at.includes(nextPage) ? await cursorOf(to, call) : '';
  if (cursor === null) return 'no more';
  const response = await fetch(to + at.replace(nextPage, cursor), {
    method,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('{new}', () => randomUUID())]),
    ),
    ...(body !== undefined && { body }),
  });
  const text = await response.text().catch(() => null);
  if (text === null) return `${response.status} broken off`;
  const refused = /"isError":true/.test(text) ? ' refused' : '';
  return `${response.status}${refused}`;
}

/** Lists the calls of each caller: for each person their pages and tools, for two brokerages the REST API. */
async function plans(platform: Platform, routes: readonly Route[], people: readonly ScalePerson[], database: Database) {
  const client = new pg.Client(platform.superuser);
  await client.connect();
  try {
    const found: { who: string; calls: Call[] }[] = [];
    for (const person of people) {
      const ids = await idsOf(client, person);
      found.push({
        who: person.name,
        calls: [
          ...webCalls(routes, person, ids),
          ...otherCalls(person, ids, database),
          ...toolCalls(person, ids),
          ...(writing.has(person.name) ? writeCalls(routes, person, await idsOfWrites(client, person)) : []),
        ],
      });
    }
    for (const [index, who] of ['key of the large brokerage', 'key of an ordinary brokerage'].entries()) {
      const ids = await idsOfKey(client, platform.apiKeys[index]?.brokerage_id ?? null);
      found.push({ who, calls: restCalls(routes, platform, index, ids) });
    }
    return found;
  } finally {
    await client.end();
  }
}

const numbers = (value: number) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0));

/**
 * Returns a table of all calls with a column per caller: how long the caller waits, and PostgreSQL's processor time.
 */
function report({ measures }: Results, before: Results | null): string {
  const everybody = Object.keys(measures);
  const names = [...new Set(everybody.flatMap((who) => Object.keys(measures[who] ?? {})))];
  const groups = [
    everybody.filter((who) => !/key|service/.test(who)),
    everybody.filter((who) => /key|service/.test(who)),
  ];
  return groups
    .map((group) => {
      const lines = names
        .filter((name) => group.some((who) => measures[who]?.[name]))
        .map((name) => [
          name,
          ...group.map((who) => {
            const found = measures[who]?.[name];
            if (!found) return '';
            const was = before?.measures[who]?.[name];
            const growth = was ? ` ×${(found.postgres / was.postgres).toFixed(2)}` : '';
            const remark = isDone(found.status) ? '' : ` ${found.status}`;
            return `${numbers(found.p50)} ${numbers(found.p99)} (${numbers(found.postgres)})${growth}${remark}`;
          }),
        ]);
      return table(['p50 ms, p99 ms (PostgreSQL ms)', ...group], lines);
    })
    .join('\n\n');
}

/**
 * Returns a sentence on how many times as much processor time of PostgreSQL the calls take as on the smaller platform.
 * Calls that take at most 0.5 ms on both are left out.
 */
function growthOf({ measures }: Results, before: Results): string {
  const ratios = Object.entries(measures).flatMap(([who, calls]) =>
    Object.entries(calls).flatMap(([name, { postgres }]) => {
      const was = before.measures[who]?.[name]?.postgres;
      return was !== undefined && Math.max(was, postgres) > 0.5 ? [postgres / was] : [];
    }),
  );
  const sorted = ratios.toSorted((a, b) => a - b);
  const [half, most] = [0.5, 0.9].map((share) => quantile(sorted, share).toFixed(2));
  const over = ratios.filter((ratio) => ratio > growthBound).length;
  return `${ratios.length} calls take PostgreSQL ${half} times as much as on the smaller platform (median; 9 of 10 at most ${most}), ${over} more than ${growthBound} times.`;
}

const isDone = (status: string): boolean => /^2\d\d$|^done$/.test(status);

/** Returns one line for each call that succeeds for nobody: its cost is unknown. */
function answeredToNobody(measures: Results['measures']): string[] {
  const statuses = new Map<string, Set<string>>();
  for (const calls of Object.values(measures))
    for (const [name, { status }] of Object.entries(calls))
      statuses.set(name, (statuses.get(name) ?? new Set()).add(status));
  return [...statuses]
    .filter(([name, found]) => !refusedToAll.has(name) && !notFoundAgain.has(name) && ![...found].some(isDone))
    .map(([name, found]) => `${name} is done for nobody: ${[...found].join(', ')}`);
}

/** Returns one line for each exceeded bound. */
function faults(
  { measures, scans, pages, failures }: Results,
  before: Results | null,
  sizes: ReadonlyMap<string, number>,
  isEverybody: boolean,
): string[] {
  const found: string[] = isEverybody ? answeredToNobody(measures) : [];
  for (const [who, calls] of Object.entries(measures)) {
    const bound = (sizes.get(who) ?? 0) > 1_000 ? bounds.many : bounds.few;
    for (const [name, { status, p50, postgres }] of Object.entries(calls)) {
      if (status.startsWith('5')) found.push(`${who}: ${name} is answered with ${status}`);
      if (p50 > bound && !/export|service/.test(name + who) && !isSeldom(name))
        found.push(
          `${who}: ${name} takes ${numbers(p50)} ms at p50 (PostgreSQL ${numbers(postgres)}), more than ${bound}`,
        );
      const was = before?.measures[who]?.[name];
      if (was && postgres > was.postgres * growthBound && postgres - was.postgres > 0.3)
        found.push(
          `${who}: ${name} takes PostgreSQL ${numbers(postgres)} ms, ${numbers(was.postgres)} on the smaller platform`,
        );
    }
  }
  for (const [call, status] of Object.entries(failures))
    found.push(`${call}: is answered with ${status}, so that its plan is not known`);
  for (const [call, nodes] of Object.entries(scans))
    for (const { node, rows } of nodes) found.push(`${call}: ${node} read ${rows.toLocaleString('en-US')} rows`);
  for (const [call, read] of Object.entries(pages)) {
    const was = before?.pages?.[call];
    if (was !== undefined && read > was * pagesBound.times && read - was > pagesBound.more)
      found.push(`${call}: reads ${read} pages, ${was} on the smaller platform`);
  }
  return found;
}

/**
 * Makes each call once more while PostgreSQL logs its plans; returns the scans of the platform's tables, and the number
 * of pages read.
 */
async function findScans(
  { platform, asked, jobs, start }: Side,
  say: (line: string) => void,
): Promise<Pick<Results, 'scans' | 'pages' | 'failures'>> {
  const client = new pg.Client(platform.superuser);
  await client.connect();
  const logins = loginsOf(platform.postgres);
  const settings: [string, string][] = [
    ['session_preload_libraries', 'auto_explain'],
    ['auto_explain.log_analyze', 'on'],
    ['auto_explain.log_timing', 'off'],
    ['auto_explain.log_buffers', 'on'],
    ['auto_explain.log_nested_statements', 'on'],
    ['auto_explain.log_format', 'json'],
  ];
  for (const login of logins)
    for (const [name, value] of settings) await client.query(`alter role ${login} set ${name} = '${value}'`);
  // Ends the connections of the measurements, which have not loaded auto_explain.
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = any ($1)', [logins]);
  // Logging every plan costs more than the calls, so it is switched on only for the call that is examined.
  await client.query(`load 'auto_explain'`);
  const logPlans = async (from: number) => {
    await client.query(`alter system set auto_explain.log_min_duration = ${from}`);
    await client.query('select pg_reload_conf()');
    await setTimeout(30);
  };
  const { rows: sizes } = await client.query<{ name: string; rows: number }>(
    `select relname as name, sum(reltuples)::float8 as rows from pg_class where relkind in ('r', 'p') and reltuples > 0 group by 1`,
  );
  const rowsOf = new Map(sizes.map(({ name, rows }) => [name, rows]));
  const log = path.join(path.dirname(platform.postgres.directory), 'postgres.log');
  const scans: Record<string, readonly Scan[]> = {};
  const pages: Record<string, number> = {};
  const failures: Record<string, string> = {};
  const look = async (name: string, work: () => Promise<string>) => {
    await logPlans(0);
    const from = statSync(log).size;
    const status = await work();
    // PostgreSQL logs no plan of a statement that it ended.
    if (status.startsWith('5')) failures[name] = status;
    await logPlans(-1);
    const found = lookedAt(log, from, rowsOf);
    pages[name] = found.pages;
    if (found.scans.length > 0) scans[name] = found.scans;
  };
  const service = await start();
  try {
    for (const { who, calls } of asked) {
      say(`Plans: ${who}`);
      for (const call of calls) {
        // Examining the calls of a person on many deals takes longer than the ten minutes for which a sign-in is
        // recent.
        await wake(client);
        const began = performance.now();
        for (let warm = 0; warm < 5 && performance.now() - began < 2_000; warm += 1) await send(service, call);
        await look(`${who}: ${call.name}`, () => send(service, call));
      }
    }
    for (const { name, before, isLarge = false, run } of jobs) {
      if (isLarge) continue;
      if (before) await ready(client, before);
      await look(`service: ${name}`, run);
    }
  } finally {
    await service.stop();
    await client.end();
    await forgetPlans(platform.superuser, logins);
  }
  return { scans, pages, failures };
}

const help = `npm run bench -- scale [--deals N] [--keep DIR] [--beside DIR] [--against FILE] [--people a,b] [--only text]

  --deals N       how many deals a database has that is made (100000)
  --keep DIR      where the database lies, and stays: it is taken as it is when it is there already
  --beside DIR    a smaller platform that was kept: each call is made to both in turns, which tells what has grown
  --against FILE  what an earlier run on a smaller platform wrote: tells what has grown
  --out FILE      where to write what is found, for --against (DIR/scale.json with --keep)
  --people a,b    whom to measure, of people, keys and jobs, or all (${usual.join(', ')}, keys, jobs)
  --only text     only calls whose name has this text ($ is its end), or one of these where it is given more than once
  --no-plans      leave out the search for plans that scan a table of the platform
  --no-times      search for such plans alone
  --one-deal      only compare what requests about one deal cost callers on ten deals and on ten thousand
`;

/** Runs the suite with these command-line arguments; resolves with whether everything stays within its bounds. */
export async function benchScale(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      deals: { type: 'string' },
      keep: { type: 'string' },
      beside: { type: 'string' },
      against: { type: 'string' },
      out: { type: 'string' },
      people: { type: 'string' },
      only: { type: 'string', multiple: true },
      'no-plans': { type: 'boolean', default: false },
      'no-times': { type: 'boolean', default: false },
      'one-deal': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  if (values.help) {
    say(help);
    return true;
  }
  const wanted: Wanted = {
    people: values.people?.split(',') ?? null,
    only: ({ name }) => values.only === undefined || values.only.some((text) => `${name}$`.includes(text)),
  };
  const directory = values.keep ? path.resolve(values.keep) : await mkdtemp(path.join(os.tmpdir(), 'dealkeep-scale-'));
  const deals = values.deals ? Number(values.deals) : values.keep ? null : 100_000;
  const sides: Side[] = [];
  try {
    const side = await openSide(directory, deals, wanted, say);
    sides.push(side);
    if (values['one-deal']) return await compareOneDeal(side, wanted, say);
    if (values.beside) sides.push(await openSide(path.resolve(values.beside), null, wanted, say));
    if (!values['no-times']) await measureAll(sides, say);
    if (!values['no-plans']) for (const each of sides) Object.assign(each.results, await findScans(each, say));
    const { platform, results } = side;
    const before =
      sides[1]?.results ?? (values.against ? (JSON.parse(readFileSync(values.against, 'utf8')) as Results) : null);
    const out = values.out ?? (values.keep ? path.join(directory, 'scale.json') : null);
    if (out) await writeFile(out, JSON.stringify(results, null, 1));
    say(
      `\n${platform.deals.toLocaleString('en-US')} deals; p50 and p99 of a call, and PostgreSQL's processor time for it in parentheses\n`,
    );
    say(report(results, before));
    if (before) say(`\n${growthOf(results, before)}`);
    const sizesOf = new Map(platform.people.map(({ name, deals: count }) => [name, count]));
    const isEverybody = wanted.people === null || wanted.people.includes('all');
    const over = faults(results, before, sizesOf, isEverybody);
    say(
      over.length === 0
        ? '\nEverything keeps within its bounds.'
        : `\nOver a bound:\n${over.map((line) => `  ${line}`).join('\n')}`,
    );
    return over.length === 0;
  } finally {
    for (const side of sides) await side.close();
    if (!values.keep) await rm(directory, { recursive: true, force: true });
  }
}

/** The running service of a platform. */
interface Started extends Pick<Service, 'stop'> {
  readonly origin: string;
  /** Origin of the application that rolls back its changes. */
  readonly undoing: string;
}

/** Who is measured (null: the default), and which of their calls. */
interface Wanted {
  readonly people: readonly string[] | null;
  readonly only: (call: { readonly name: string }) => boolean;
}

/** A platform, all its calls and jobs, and the results. */
interface Side {
  readonly platform: Platform;
  readonly routes: readonly Route[];
  readonly database: Database;
  readonly asked: readonly { who: string; calls: readonly Call[] }[];
  readonly jobs: readonly Job[];
  readonly start: () => Promise<Started>;
  readonly results: Results;
  readonly close: () => Promise<void>;
}

/**
 * Opens the platform in `directory`, which is created with `deals` deals if there is none. No call is made before
 * `start`.
 */
async function openSide(
  directory: string,
  deals: number | null,
  { people: chosen, only }: Wanted,
  say: (line: string) => void,
): Promise<Side> {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const platform = await openPlatform({ directory, deals, baseUrl, say });
  const closing: (() => Promise<unknown>)[] = [platform.close];
  const close = async () => {
    for (const one of closing.toReversed()) await one();
  };
  try {
    const databaseUrl = urlOf(platform.postgres.server as Cluster['server']);
    const ceilings = Object.fromEntries(
      variableNames.filter((name) => /^RATE_LIMIT_(?!STORE)/.test(name)).map((name) => [name, '1000000']),
    );
    const env = {
      FEATURES: 'findings,financing',
      DATABASE_POOL: '2',
      PORT: String(port),
      BASE_URL: baseUrl,
      // A database is bound to one document store, so both are kept in the same directory.
      DATA_DIR: path.join(directory, 'service'),
      ...ceilings,
    };
    const config = readConfig({ ...env, DATABASE_URL: databaseUrl, RATE_LIMIT_STORE: 'memory' });
    const routes = await routesOf(config, platform);
    const isNamed = (name: string, group: readonly string[]) =>
      chosen === null ? group.includes(name) : chosen.includes('all') || chosen.includes(name);
    const people = platform.people.filter(({ name }) => isNamed(name, usual));
    // While plans are logged, a statement may take many times as long.
    const patient = { poolSize: 1, statementMillis: 120_000, silenceMillis: 120_000 };
    const database = openDatabase({ connection: platform.postgres.server, ...patient });
    closing.push(() => database.close());
    const asOwner = openDatabase({ connection: platform.postgres.owner, ...patient });
    closing.push(() => asOwner.close());
    const asked = (await plans(platform, routes, people, database))
      .filter(({ who }) => !who.startsWith('key of') || isNamed('keys', ['keys']))
      .map(({ who, calls }) => ({ who, calls: calls.filter(only) }));
    const jobs = isNamed('jobs', ['jobs'])
      ? [
          ...jobsOf(database, platform, await waitingNda(platform), asOwner),
          ...accountJobs(database, asOwner, platform.people),
        ].filter(only)
      : [];
    const results: Results = { deals: platform.deals, measures: {}, scans: {}, pages: {}, failures: {} };
    const start = async (): Promise<Started> => {
      const service = await startDealkeep(databaseUrl, env);
      const undoing = await startUndoing(config, platform.postgres.server).catch(async (error: unknown) => {
        await service.stop();
        throw error;
      });
      return { origin: service.origin, undoing: undoing.origin, stop: () => undoing.stop().then(service.stop) };
    };
    return { platform, routes, database, asked, jobs, start, results, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Prints what requests about one deal cost callers on few deals and on many; resolves with whether they cost the same.
 */
async function compareOneDeal(
  { platform, routes, database, start }: Side,
  { only }: Wanted,
  say: (line: string) => void,
): Promise<boolean> {
  const client = new pg.Client(platform.superuser);
  await client.connect();
  const { pairs, done } = await pairsOf(client, platform);
  const service = await start();
  const found: Difference[] = [];
  try {
    const backends = new ClientBackends(client);
    const ask = (call: Call) => send(service, call);
    const both = async (name: string, few: readonly Call[], many: readonly Call[]) => {
      say(`Comparing: ${name}`);
      for (const call of few.filter(only)) {
        const other = many.find((one) => one.name === call.name);
        if (other) found.push(await compare(name, [call, other], ask, backends));
      }
    };
    for (const { name, few, many } of pairs) {
      const [ofFew, ofMany] = await Promise.all(
        [few, many].map(async (person) => {
          const ids = await idsOf(client, person);
          const calls = [
            ...webCalls(routes, person, ids),
            ...otherCalls(person, ids, database),
            ...toolCalls(person, ids),
          ];
          return aboutDeal(calls, ids);
        }),
      );
      await both(name, ofFew ?? [], ofMany ?? []);
    }
    const [ofMany, ofFew] = await Promise.all(
      [0, 1].map(async (index) => {
        const brokerage = platform.apiKeys[index]?.brokerage_id ?? null;
        const deal = await dealOfBrokerage(client, brokerage);
        const ids = await idsOfKey(client, brokerage, deal);
        return aboutDeal(restCalls(routes, platform, index, ids), ids);
      }),
    );
    await both('key', ofFew ?? [], ofMany ?? []);
  } finally {
    await service.stop();
    await done();
    await client.end();
  }
  const heads = ['PostgreSQL ms', 'calls', 'median', '9 of 10', 'over', 'dearest'];
  const groups = [...new Set(found.map(({ pair }) => pair))].map((pair) => {
    const ratios = found.filter((one) => one.pair === pair).map((one) => ({ ...one, ratio: one.many / one.few }));
    const sorted = ratios.toSorted((a, b) => a.ratio - b.ratio);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)]?.ratio ?? Number.NaN).toFixed(2);
    const worst = sorted.at(-1);
    return [
      pair,
      String(sorted.length),
      at(0.5),
      at(0.9),
      String(ratios.filter(isOver).length),
      `${worst?.call} ×${worst?.ratio.toFixed(2)} (${numbers(worst?.few ?? 0)}, ${numbers(worst?.many ?? 0)})`,
    ];
  });
  say(
    `\n${platform.deals.toLocaleString('en-US')} deals; of a caller on ten thousand deals to one on ten, about one deal\n`,
  );
  say(table(heads, groups));
  const over = found.filter(isOver);
  for (const { pair, call, status, few, many } of over)
    say(`  ${pair}: ${call} ${numbers(few)}, ${numbers(many)} (${status})`);
  return over.length === 0;
}

/** Prepares a run of a job; retries up to five times after a deadlock with a worker of the service. */
async function ready(client: pg.Client, before: string, retries = 5): Promise<void> {
  try {
    await client.query(before);
  } catch (error) {
    const isDeadlock = error instanceof pg.DatabaseError && error.code === '40P01';
    if (!isDeadlock || retries === 0) throw error;
    await ready(client, before, retries - 1);
  }
}

async function waitingNda({ superuser, people }: Platform) {
  const client = new pg.Client(superuser);
  await client.connect();
  return unsignedNda(client, people).finally(() => client.end());
}

/** Lists every route of the application, so that a new route is either measured or reported as unknown to the bench. */
async function routesOf(config: Config, platform: Platform): Promise<Route[]> {
  const { services, close } = await openServices(config, platform.postgres.server, { log: createLog('silent') });
  try {
    return createApp(services).routes.map(({ method, path: at }) => ({ method, path: at }));
  } finally {
    await close();
  }
}

/** Measures the calls and jobs of the first platform, alternately with the other platforms if there are any. */
async function measureAll(sides: readonly Side[], say: (line: string) => void): Promise<void> {
  const opened = await Promise.all(
    sides.map(async (side) => {
      const client = new pg.Client(side.platform.superuser);
      await client.connect();
      return { ...side, client, backends: new ClientBackends(client), service: await side.start() };
    }),
  );
  const [first] = opened;
  if (!first) return;
  const keep = (who: string, name: string, found: readonly Measure[]) => {
    for (const [index, one] of found.entries()) (sides[index]!.results.measures[who] ??= {})[name] = one;
  };
  try {
    for (const { who, calls } of first.asked) {
      say(`Measuring: ${who}`);
      for (const { name, method, path: at } of calls) {
        // A person's calls together may take longer than a sign-in counts as recent.
        for (const side of opened) await wake(side.client);
        const works = opened.flatMap(({ asked, service, backends }): Work[] => {
          const call = asked.find((one) => one.who === who)?.calls.find((one) => one.name === name);
          return call ? [{ run: () => send(service, call), backends }] : [];
        });
        const writes = /create|update|comment/.test(name) || (method === 'POST' && at !== '/api/mcp');
        keep(who, name, await measure(works, { millis: 500, most: writes ? 10 : 25 }));
      }
    }
    for (const { name } of first.jobs) {
      const works = opened.flatMap(({ jobs, client, backends }): Work[] => {
        const job = jobs.find((one) => one.name === name);
        const before = job?.before;
        return job
          ? [{ run: job.run, backends, prepare: before === undefined ? undefined : () => ready(client, before) }]
          : [];
      });
      keep('service', name, await measure(works, { millis: 300, most: 5 }));
    }
  } finally {
    for (const { service, client } of opened) {
      await service.stop();
      await client.end();
    }
  }
}
