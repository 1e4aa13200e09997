/**
 * npm run bench -- scale --one-deal: what a request about one deal costs a caller on ten deals and a caller on ten
 * thousand. Both request the same deal, alternately, in the same role. Admins and keys see all deals of one brokerage,
 * and request deals that were generated alike.
 */

import type pg from 'pg';
import type { ClientBackends } from './backends.ts';
import { median } from './median.ts';
import type { Call } from './scale-calls.ts';
import type { Platform, ScalePerson } from './scale-data.ts';
import { id } from './scale-rows.ts';

/** Two callers, each with a deal to request. */
export interface Pair {
  readonly name: string;
  readonly few: ScalePerson;
  readonly many: ScalePerson;
}

/** PostgreSQL's processor time for one call, for both callers: medians, in milliseconds. */
export interface Difference {
  readonly pair: string;
  readonly call: string;
  readonly status: string;
  readonly few: number;
  readonly many: number;
}

/**
 * Maximum ratio of the cost for a caller on ten thousand deals to the cost for one on ten, and the difference that is
 * not distinguished from noise, in milliseconds.
 */
const bound = 1.1;
const noise = 0.05;

// The broker of 10 deals is on the first deals of the large brokerage, none of which is in diligence, and joins the
// first that is.
const joinBroker = `
  insert into participants (id, deal_id, user_id, role, status, joined_at)
  select ${id('part', 'x.n * 100 + 99')}, ${id('deal', 'x.n')}, few.user_id, 'broker', 'active', now()
  from bench.people few, bench.people many
  cross join lateral (select min(n) as n from bench.parts p where p.number = many.number and bench.state_of(n) = 'diligence') x
  where few.name = 'broker of 10' and many.name = 'broker of 10000' on conflict do nothing`;
const removeBroker = `
  delete from participants using bench.people p where p.name = 'broker of 10' and participants.user_id = p.user_id
    and participants.deal_id not in (select ${id('deal', 'n')} from bench.parts x where x.number = p.number)`;

// A deal that both callers are on.
const common = `
  select p.deal_id from participants p join participants o using (deal_id)
  join deals d on d.id = p.deal_id left join deal_stages g on g.deal_id = d.id
  where p.user_id = $1 and o.user_id = $2 order by coalesce(g.state, d.state) = 'diligence' desc, p.deal_id limit 1`;

// A deal of the brokerage without measured people: it has only what the generator gives to each deal.
const ordinary = `
  select d.id as deal_id from deals d join deal_stages g on g.deal_id = d.id
  where d.organization_id = $1 and g.state = 'diligence'
    and not exists (select from participants p join bench.people using (user_id) where p.deal_id = d.id)
  order by d.id limit 1`;

/** Returns the deal of a brokerage that its admins and keys request; null when there is none. */
export async function dealOfBrokerage(client: pg.Client, brokerage: string | null): Promise<string | null> {
  const { rows } = await client.query<{ deal_id: string }>(ordinary, [brokerage]);
  return rows[0]?.deal_id ?? null;
}

/** Returns the callers to compare. `done` removes the participant that had to be added. */
export async function pairsOf(
  client: pg.Client,
  { people }: Platform,
): Promise<{ pairs: Pair[]; done: () => Promise<unknown> }> {
  const named = (name: string): ScalePerson => {
    const person = people.find((one) => one.name === name);
    if (!person) throw new Error(`There is no ${name}.`);
    return person;
  };
  const done = () => client.query(removeBroker);
  await client.query(joinBroker);
  const pairs: Pair[] = [];
  for (const role of ['broker', 'buyer', 'seller', 'advisor']) {
    const [few, many] = [named(`${role} of 10`), named(`${role} of 10000`)];
    const { rows } = await client.query<{ deal_id: string }>(common, [few.user_id, many.user_id]);
    const deal_id = rows[0]?.deal_id ?? null;
    pairs.push({ name: role, few: { ...few, deal_id }, many: { ...many, deal_id } });
  }
  const [few, many] = [named('admin of an ordinary brokerage'), named('admin of 12000')];
  pairs.push({
    name: 'admin',
    few: { ...few, deal_id: await dealOfBrokerage(client, few.brokerage_id) },
    many: { ...many, deal_id: await dealOfBrokerage(client, many.brokerage_id) },
  });
  return { pairs, done };
}

/** Returns the calls that name the deal or a record on it. */
export function aboutDeal(calls: readonly Call[], ids: Readonly<Record<string, string>>): Call[] {
  const {
    brokerage_id: _brokerage,
    user_id: _user,
    webhook_id: _webhook,
    contact_id: _contact,
    delivery_id: _delivery,
    own_id: _own,
    ...ofDeal
  } = ids;
  const named = Object.values(ofDeal).filter((value) => /^[0-9a-f-]{36}$/.test(value));
  return calls.filter(({ path, body }) =>
    named.some((value) => path.includes(value) || (typeof body === 'string' && body.includes(value))),
  );
}

/** Makes both calls alternately; returns the median of PostgreSQL's processor time for each. */
export async function compare(
  pair: string,
  [few, many]: readonly [Call, Call],
  send: (call: Call) => Promise<string>,
  backends: ClientBackends,
): Promise<Difference> {
  const spent: [number[], number[]] = [[], []];
  const statuses = new Set<string>();
  for (let round = -6; round < 25; round += 1) {
    for (const [which, call] of [few, many].entries()) {
      const before = await backends.spent();
      const status = await send(call);
      const after = await backends.spent();
      if (round < 0) continue;
      statuses.add(status);
      spent[which]?.push(((after ?? 0) - (before ?? 0)) * 1000);
    }
  }
  return { pair, call: few.name, status: [...statuses].join(', '), few: median(spent[0]), many: median(spent[1]) };
}

/** Whether the call costs the caller on many deals more than allowed. */
export const isOver = ({ few, many }: Difference): boolean => many > few * bound && many - few > noise;
