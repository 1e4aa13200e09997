/**
 * Two worlds that differ only in what a person may not see: both respond to whatever that person requests with the same
 * bytes. Ids, times and credentials are the same in both; pair.ts lists the differences that are allowed in a response.
 * `npm run two-worlds` compares many more worlds, with random deals.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readExpectations } from '../policies/expectations.ts';
import { callers } from '../policies/scene.ts';
import { compareEvents, compareInvitations } from './events.ts';
import { idOf } from './names.ts';
import { otherwise } from './otherwise.ts';
import { openWorlds, type Ask, type Difference, type Pair, type Worlds } from './pair.ts';
import { contactsAdded, failingChanges, failingMentions, idsOf, readings, signedOutAttempts } from './questions.ts';
import { worldOf, type World } from './world.ts';

const rounds = Number(process.env['TWO_WORLDS'] ?? 0);
const from = Number(process.env['TWO_WORLDS_FROM'] ?? 1);

/** What is compared for a caller; `only` limits it to matching requests. */
interface Asked {
  readonly pair: Pair;
  readonly first: World;
  readonly second: World;
  readonly seed: string | null;
  readonly only?: RegExp;
  /**
   * Requests without credentials that the two worlds have already answered; they are not sent again for another caller.
   */
  readonly unnamed?: Set<string>;
}

/** The callers whose failing changes the suite tries; the longer run tries everybody's. */
const changing: ReadonlySet<string> = new Set(['seller', 'other buyer', 'outsider', 'nobody', 'API key']);

/** Sends a caller's requests to both worlds and returns the differences between their responses. */
async function compareFor({ pair, first, second, seed, only, unnamed }: Asked): Promise<readonly Difference[]> {
  const { caller } = pair;
  const earlier = pair.differences.length;
  const thorough = seed !== null;
  const ids = idsOf(first, second, thorough);
  const wanted = ({ method, path, body }: Ask) => only?.test(`${method} ${path} ${JSON.stringify(body)}`) ?? true;
  const isNew = (ask: Ask) => {
    if (ask.as !== 'nobody' || unnamed === undefined) return true;
    const question = JSON.stringify(ask);
    if (unnamed.has(question)) return false;
    unnamed.add(question);
    return true;
  };
  const asked = readings(pair, ids, thorough).filter(wanted).filter(isNew);
  // Requests that leave no trace are sent several at once, the others sequentially, at the same times in both worlds.
  // Sequential, too, are requests for sessions, which show when they were last used (any request in progress changes
  // that), and for reports, of which a person may request two at once.
  const traceless = ({ method, path }: Ask) =>
    method === 'GET' && !/^\/api\/v1|\/(content|preview|sessions|report\.\w+)$/.test(path);
  const gets = asked.filter(traceless);
  for (let at = 0; at < gets.length; at += 8) await Promise.all(gets.slice(at, at + 8).map((ask) => read(pair, ask)));
  for (const ask of asked.filter((one) => !traceless(one))) await read(pair, ask);
  const all = only === undefined;
  if ((all && (thorough || changing.has(caller))) || only?.test('changes')) {
    const tries = caller === 'nobody' ? signedOutAttempts(first, second) : [];
    const changes = [...failingChanges(pair, ids), ...failingMentions(pair, ids), ...tries];
    for (const ask of changes.filter(isNew)) await pair.ask(ask);
  }
  const signedIn = caller !== 'API key' && caller !== 'nobody';
  if (signedIn && (all || only?.test('events'))) await compareEvents(pair, [first, second], idOf(`users/${caller}`));
  if (caller === 'API key' && all) for (const ask of contactsAdded(first, second)) await read(pair, ask);
  if (['broker', 'admin'].includes(caller) && (all || only?.test('mails')))
    await compareInvitations(pair, first, second);
  return pair.differences.slice(earlier);
}

/** Sends a request and, if the response has a cursor, requests the next page, in each world with its own cursor. */
async function read(pair: Pair, ask: Ask): Promise<void> {
  const answers = await pair.ask(ask);
  for (const { status, text } of answers) expect(status, `${ask.path}: ${text}`).toBeLessThan(500);
  if (ask.method !== 'GET') return;
  const [one, other] = answers.map(({ text }) => /"next_?cursor":"([^"]+)"/i.exec(text)?.[1]);
  if (one !== undefined && other !== undefined) await nextPage(pair, ask.path, [one, other]);
}

async function nextPage(pair: Pair, path: string, cursors: readonly string[]): Promise<void> {
  const pages = await Promise.all(
    pair.services.map(async ({ origin }, at) => {
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

test('the visibility model of the worlds matches docs/visibility.md', () => {
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
    'exclusivities/the current one': `exclusivities/${bakery}`,
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
    // An invited person reads the brokerage's name and the deal's title through a separate function.
    const told = caller === 'invited' ? ['brokerages/the brokerage', 'deals/the deal', 'participants/the invited'] : [];
    expect([caller, ofThis.filter(([doc, mine, theirs]) => mine !== theirs && !told.includes(doc))]).toEqual([
      caller,
      [],
    ]);
  }
});

/** Breaks both worlds in the same way; returns a function that repairs them. */
type Plant = (pair: Pair) => Promise<() => Promise<void>>;

/** Changes the USING clause of a policy. */
const weaker =
  (policy: string, table: string, using: string): Plant =>
  async (pair) => {
    const [{ qual }] = (await pair.services[0].sql<{ qual: string }>(
      'select qual from pg_policies where policyname = $1 and tablename = $2',
      [policy, table],
    )) as [{ qual: string }];
    await pair.sql(`alter policy ${policy} on ${table} using (${using})`);
    return () => pair.sql(`alter policy ${policy} on ${table} using (${qual})`);
  };

/** Changes the definition of a function. */
const altered =
  (signature: string, change: (definition: string) => string): Plant =>
  async (pair) => {
    const [{ definition }] = (await pair.services[0].sql<{ definition: string }>(
      'select pg_get_functiondef($1::regprocedure) as definition',
      [signature],
    )) as [{ definition: string }];
    expect(change(definition)).not.toBe(definition);
    await pair.sql(change(definition));
    return () => pair.sql(definition);
  };

/** Makes the page of a deal count every offer. */
const countsEverything: Plant = async (pair) => {
  await pair.sql(`create function app.every_offer() returns setof offers language sql stable security definer
    set search_path = '' as 'select * from public.offers'`);
  await pair.sql('grant execute on function app.every_offer() to dealkeep_server');
  const originals = pair.services.map(({ services }) => services.database.together);
  for (const [at, { services }] of pair.services.entries())
    services.database.together = (...statements) =>
      originals[at]!(
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
  return async () => {
    for (const [at, { services }] of pair.services.entries()) services.database.together = originals[at]!;
    await pair.sql('drop function app.every_offer()');
  };
};

// Leaks that the comparison must find; otherwise finding no difference would prove nothing.
const leaks: readonly (readonly [what: string, caller: string, only: RegExp, plant: Plant])[] = [
  [
    'a policy that lets everybody read offers',
    'other buyer',
    /offers/,
    weaker('deal_side_and_own_side', 'offers', 'true'),
  ],
  [
    'a policy that lets buyers see the seller before their NDA',
    'new buyer',
    /svc_deals_get|GET \/api\/web\/deals\/[0-9a-f-]+ /,
    weaker(
      'who_sees_whom',
      'participants',
      `deal_id = any ((select app.deals_as('broker', 'seller', 'viewer', 'buyer'))::uuid[]) and role <> 'buyer'`,
    ),
  ],
  [
    'a policy that lets everybody read documents, of what is attached to a conversation',
    'other buyer',
    /resources\/read/,
    weaker('by_confidentiality', 'documents', 'true'),
  ],
  ['a count that counts everything', 'other buyer', /GET \/api\/web\/deals\/[0-9a-f-]+ /, countsEverything],
  [
    'an event that is announced to everybody',
    'other buyer',
    /^events$/,
    altered(
      'app.sees_any(text, uuid[], uuid, boolean)',
      () => `create or replace function app.sees_any(of_table text, records uuid[], deal uuid, gone boolean)
        returns boolean language sql stable as 'select true'`,
    ),
  ],
  [
    'a mail that names what is elsewhere',
    'broker',
    /^mails$/,
    altered('app.link_deal_invitation(uuid, bytea, boolean)', (definition) =>
      definition.replace(
        'd.title, b.name',
        "d.title || (select string_agg(every.title, ', ') from public.deals every), b.name",
      ),
    ),
  ],
  [
    'an error that tells what is there',
    'outsider',
    /POST \/api\/web\/ndas|^changes$/,
    weaker('both_sides_see_it', 'ndas', 'true'),
  ],
];

/**
 * In the suite, some callers share a pair of worlds, which differ in what none of them may see; in the longer run each
 * caller has their own.
 */
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

const runs = rounds === 0 ? [null] : Array.from({ length: rounds }, (_, at) => String(from + at));

test('every caller is in exactly one group, and every planted leak has a known caller', () => {
  expect(together.flat().toSorted()).toEqual([...callers].toSorted());
  for (const [, caller] of leaks) expect(callers).toContain(caller);
});

const asked = runs.flatMap((seed) =>
  (seed === null ? together : callers.map((caller) => [caller])).map(
    (group) => [group.join(', '), group, seed] as const,
  ),
);
describe.each(asked)('two worlds that differ only in records hidden from %s', (names, group, seed) => {
  const first = worldOf(group, seed);
  const second = otherwise(first, seed ?? 'suite');
  let worlds: Worlds;
  beforeAll(async () => {
    worlds = await openWorlds(first, second);
  }, 300_000);
  afterAll(() => worlds.close());

  test('give the same responses', { timeout: 300_000 }, async () => {
    const unnamed = new Set<string>();
    for (const caller of group) {
      const pair = worlds.as(caller);
      const differences = await compareFor({ pair, first, second, seed, unnamed });
      if (seed !== null)
        console.log(`world ${seed}, ${names}: ${pair.compared} answers compared, ${differences.length} differ`);
      expect(shown(differences)).toEqual([]);
      // Most requests of "nobody" were already sent, without credentials, for the others of the group.
      expect(caller === 'nobody' ? unnamed.size : pair.compared).toBeGreaterThan(50);
    }
  });

  // Compared without the leak first, so that a difference is due to the leak.
  const its = seed === null ? leaks.filter(([, caller]) => group.includes(caller)) : [];
  for (const [what, caller, only, plant] of its)
    test(`and tell of ${what}`, async () => {
      const narrow = { pair: worlds.as(caller), first, second, seed, only };
      expect(shown(await compareFor(narrow))).toEqual([]);
      const mend = await plant(narrow.pair);
      expect((await compareFor(narrow)).length).toBeGreaterThan(0);
      await mend();
    });
});
