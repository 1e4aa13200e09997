/**
 * Two worlds that differ in nothing but what a person may not see: whatever that person asks, both answer alike, to the
 * byte. Ids, times and credentials are the same in both; what an answer may differ in all the same stands in pair.ts.
 * `npm run two-worlds` compares many more, with random deals in them.
 */

import { expect, test } from 'vitest';
import { readExpectations } from '../policies/expectations.ts';
import { callers } from '../policies/scene.ts';
import { compareEvents, compareInvitations } from './happenings.ts';
import { openWorlds, type Ask, type Difference, type Pair } from './pair.ts';
import { failingChanges, failingMentions, idsOf, readings, strangersTries } from './questions.ts';
import { idOf, otherwise, worldOf, type World } from './world.ts';

const rounds = Number(process.env['TWO_WORLDS'] ?? 0);
const from = Number(process.env['TWO_WORLDS_FROM'] ?? 1);

interface Compared {
  readonly differences: readonly Difference[];
  readonly compared: number;
}

interface Options {
  /** Breaks both worlds in the same way. */
  readonly plant?: (pair: Pair) => Promise<void>;
  /** Asks only what fits. */
  readonly only?: RegExp;
  /** Of random deals that are added; then everything is asked about more records. */
  readonly seed?: string | null;
}

/** Whose failing changes the suite tries; the longer run tries everybody's. */
const changing: ReadonlySet<string> = new Set(['seller', 'other buyer', 'outsider']);

async function compareWorlds(group: readonly string[], { plant, only, seed = null }: Options = {}): Promise<Compared> {
  const first = worldOf(group, seed);
  const second = otherwise(first, seed ?? 'suite');
  const worlds = await openWorlds(first, second);
  const found: Difference[] = [];
  let compared = 0;
  try {
    await plant?.(worlds.as(group[0]!));
    for (const caller of group) {
      const pair = worlds.as(caller);
      await compareFor(pair, first, second, only, seed);
      found.push(...pair.differences);
      compared += pair.compared;
    }
    return { differences: found, compared };
  } finally {
    await worlds.close();
  }
}

async function compareFor(pair: Pair, first: World, second: World, only: RegExp | undefined, seed: string | null) {
  const { caller } = pair;
  const thorough = seed !== null;
  const ids = idsOf(first, second, thorough);
  const wanted = ({ method, path, body }: Ask) => only?.test(`${method} ${path} ${JSON.stringify(body)}`) ?? true;
  const asked = readings(pair, ids, thorough).filter(wanted);
  // What leaves no trace is asked several at once; the others one after the other, at the same times in both worlds.
  const traceless = ({ method, path }: Ask) => method === 'GET' && !/^\/api\/v1|\/(content|preview)$/.test(path);
  const gets = asked.filter(traceless);
  for (let at = 0; at < gets.length; at += 8) await Promise.all(gets.slice(at, at + 8).map((ask) => read(pair, ask)));
  for (const ask of asked.filter((one) => !traceless(one))) await read(pair, ask);
  const all = only === undefined;
  if ((all && (thorough || changing.has(caller))) || only?.test('changes')) {
    const tries = caller === 'nobody' ? strangersTries(first, second) : [];
    for (const ask of [...failingChanges(pair, ids), ...failingMentions(pair, ids), ...tries]) await pair.ask(ask);
  }
  const signedIn = caller !== 'API key' && caller !== 'nobody';
  if (signedIn && (all || only?.test('events'))) await compareEvents(pair, [first, second], idOf(`users/${caller}`));
  if (['broker', 'admin'].includes(caller) && (all || only?.test('mails')))
    await compareInvitations(
      pair,
      first.model.deals
        .filter(({ name }) => !hidden(first, idOf(`deals/${name}`)))
        .map(({ name }) => idOf(`deals/${name}`))
        .slice(0, 1),
      ['somebody-new@nowhere.test'],
    );
}

const hidden = ({ rows }: World, id: string) => rows.some((row) => row.hidden && row.values['id'] === id);

/** Asks for something and, where there is more of it, for the next part, in each world by its own cursor. */
async function read(pair: Pair, ask: Ask): Promise<void> {
  const answers = await pair.ask(ask);
  for (const { status, text } of answers) expect(status, `${ask.path}: ${text}`).toBeLessThan(500);
  if (ask.method !== 'GET') return;
  const [one, other] = answers.map(({ text }) => /"next_?cursor":"([^"]+)"/i.exec(text)?.[1]);
  if (one !== undefined && other !== undefined) await nextPage(pair, ask.path, [one, other]);
}

async function nextPage(pair: Pair, path: string, cursors: readonly string[]): Promise<void> {
  const pages = await Promise.all(
    pair.houses.map(async ({ origin }, at) => {
      const url = new URL(path, origin);
      url.searchParams.set('cursor', cursors[at]!);
      const headers = pair.headers;
      return (await fetch(url, { headers })).text();
    }),
  );
  pair.compare(`${pair.caller}: the next page of ${path}`, pages[0]!, pages[1]!);
}

const shown = (differences: readonly Difference[]) =>
  differences.slice(0, 5).map(({ what, first, second }) => {
    const at = [...first].findIndex((character, place) => character !== second[place]);
    const part = (text: string) => text.slice(Math.max(0, at - 80), at + 160);
    return { what, first: part(first), second: part(second) };
  });

test('the model of who sees what, by which the worlds are made, is that of docs/visibility.md', () => {
  const { records } = readExpectations(new URL('../../docs/visibility.md', import.meta.url));
  const sees = (caller: string, table: string, record: string) =>
    records.find((one) => one.caller === caller && one.table === table && one.record === record)?.may.includes('sees');
  const bakery = 'Corner bakery';
  const names: Readonly<Record<string, string>> = {
    'users/the broker': 'users/broker',
    'users/the seller': 'users/seller',
    'users/the exclusive buyer': 'users/exclusive buyer',
    'users/the other buyer': 'users/other buyer',
    "users/the seller's advisor": "users/seller's advisor",
    'brokerages/the brokerage': 'brokerages/scene',
    'brokerages/another brokerage': 'brokerages/elsewhere',
    'members/a member of the brokerage': 'members/scene colleague',
    'contacts/a contact of the brokerage': 'contacts/scene 1',
    'contacts/a contact of another brokerage': 'contacts/elsewhere 1',
    'deals/the deal': `deals/${bakery}`,
    "deals/a colleague's draft": 'deals/Colleague draft',
    'deals/a deal of another brokerage': 'deals/Elsewhere',
    "ndas/the exclusive buyer's": `ndas/${bakery} exclusive buyer`,
    "ndas/the other buyer's": `ndas/${bakery} other buyer`,
    'exclusivities/that which runs': `exclusivities/${bakery}`,
    'qoe_checklist/a row of the checklist': `qoe_checklist/${bakery} 1`,
    'accounting_snapshots/a snapshot': `accounting_snapshots/${bakery}`,
    "questions/the exclusive buyer's, pending review": `questions/${bakery} exclusive buyer pending_broker_review`,
    "questions/the exclusive buyer's, with the seller": `questions/${bakery} exclusive buyer with_seller`,
    "questions/the other buyer's, distributed": `questions/${bakery} other buyer distributed`,
    'documents/public': `documents/${bakery} public`,
    'documents/nda_gated': `documents/${bakery} nda_gated`,
    'documents/selected_buyer_only': `documents/${bakery} selected_buyer_only`,
    "offers/the exclusive buyer's": `offers/${bakery} exclusive buyer 1`,
    "offers/the other buyer's": `offers/${bakery} other buyer 1`,
    "closing_conditions/the exclusive buyer's to meet": `closing_conditions/${bakery} exclusive buyer`,
    "findings/the exclusive buyer's": `findings/${bakery} exclusive buyer`,
    "findings/the broker's": `findings/${bakery} broker`,
    "financing_sources/the exclusive buyer's": `financing_sources/${bakery} exclusive buyer`,
    "connected_clients/the broker's own": 'connected_clients/broker own',
    'audit_records/what the broker did on the deal': `audit_records/${bakery} broker`,
    'audit_records/what the seller did on the deal': `audit_records/${bakery} seller`,
    ...Object.fromEntries(
      [
        'broker',
        'seller',
        'exclusive buyer',
        'other buyer',
        "exclusive buyer's advisor",
        "seller's advisor",
        'invited',
        'removed',
        'viewer',
      ].map((name) => [`participants/the ${name}`, `participants/${bakery} ${name}`]),
    ),
  };
  for (const caller of callers) {
    const { rows } = worldOf([caller]);
    const ofThis = Object.entries(names).map(([doc, name]) => {
      const [table, ...record] = doc.split('/');
      const row =
        rows.find(({ values }) => values['id'] === idOf(name)) ??
        rows.find(
          ({ table: one, values }) =>
            one === 'members' && name.startsWith('members/') && values['user_id'] === idOf('users/colleague'),
        )!;
      return [doc, row && !row.hidden, sees(caller, table!, record.join('/'))] as const;
    });
    // An invitation tells its own: the brokerage's name and the deal's title, by a function of their own.
    const told = caller === 'invited' ? ['brokerages/the brokerage', 'deals/the deal', 'participants/the invited'] : [];
    expect([caller, ofThis.filter(([doc, mine, theirs]) => mine !== theirs && !told.includes(doc))]).toEqual([
      caller,
      [],
    ]);
  }
});

const runs = rounds === 0 ? [null] : Array.from({ length: rounds }, (_, at) => String(from + at));

// What is broken here is found: a comparison that finds nothing would be worth nothing.
const leaks: readonly (readonly [what: string, caller: string, only: RegExp, plant: (pair: Pair) => Promise<void>])[] =
  [
    [
      'a policy that lets everybody read offers',
      'other buyer',
      /offers/,
      (pair) => pair.sql('alter policy deal_side_and_own_side on offers using (true)'),
    ],
    [
      'a policy that lets buyers see the seller before their NDA',
      'new buyer',
      /svc_deals_get|GET \/api\/web\/deals\/[0-9a-f-]+ /,
      (pair) =>
        pair.sql(`alter policy who_sees_whom on participants using
        (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer', 'buyer'))::uuid[]) and role <> 'buyer')`),
    ],
    [
      'a count that counts everything',
      'other buyer',
      /GET \/api\/web\/deals\/[0-9a-f-]+ /,
      async (pair) => {
        await pair.sql(`create function app.every_offer() returns setof offers language sql stable security definer
        set search_path = '' as 'select * from public.offers'`);
        await pair.sql('grant execute on function app.every_offer() to dealkeep_server');
        for (const { house } of pair.houses) {
          const { together } = house.database;
          house.database.together = (...statements) =>
            together(
              ...(statements.map((statement) =>
                statement.name === 'counts_of_deal'
                  ? {
                      ...statement,
                      name: 'counts_of_everything',
                      text: statement.text.replace('from offers o', 'from app.every_offer() o'),
                    }
                  : statement,
              ) as unknown as typeof statements),
            );
        }
      },
    ],
    [
      'an event that is announced to everybody',
      'other buyer',
      /^events$/,
      (pair) =>
        pair.sql(`create or replace function app.sees_change(of_table text, record uuid, deal_id uuid, gone boolean)
        returns boolean language sql stable as 'select true'`),
    ],
    [
      'a mail that names what is elsewhere',
      'broker',
      /^mails$/,
      (pair) =>
        pair.sql(`do $$ begin
          execute replace(pg_get_functiondef('app.link_deal_invitation(uuid, bytea, boolean)'::regprocedure), 'd.title, b.name',
            'd.title || (select string_agg(every.title, '', '') from public.deals every), b.name');
        end $$`),
    ],
    [
      'an error that tells what is there',
      'outsider',
      /POST \/api\/web\/ndas|^changes$/,
      (pair) => pair.sql('alter policy both_sides_see_it on ndas using (true)'),
    ],
  ];
test.each(leaks)('finds %s', { timeout: 120_000 }, async (_what, caller, only, plant) => {
  expect((await compareWorlds([caller], { only, plant })).differences.length).toBeGreaterThan(0);
});

/** The suite gives some callers one pair of worlds, which differ in what none of them may see; the longer run each their own. */
const together: readonly (readonly string[])[] = [
  ['admin'],
  ['broker', "broker's advisor"],
  ['colleague', 'viewer'],
  ['seller', "seller's advisor"],
  ['exclusive buyer', "exclusive buyer's advisor"],
  ['other buyer', "other buyer's advisor"],
  ['new buyer'],
  ['invited', 'removed', 'outsider', 'API key', 'nobody'],
];

test('everybody is among those who are asked for', () => {
  expect(together.flat().toSorted()).toEqual([...callers].toSorted());
});

const asked = runs.flatMap((seed) =>
  (seed === null ? together : callers.map((caller) => [caller])).map(
    (group) => [group.join(', '), group, seed] as const,
  ),
);
test.each(asked)(
  'two worlds that differ in what they may not see answer alike: %s',
  { timeout: 300_000 },
  async (names, group, seed) => {
    const { differences, compared } = await compareWorlds(group, { seed });
    if (seed !== null)
      console.log(`world ${seed}, ${names}: ${compared} answers compared, ${differences.length} differ`);
    expect(shown(differences)).toEqual([]);
    expect(compared).toBeGreaterThan(50);
  },
);
