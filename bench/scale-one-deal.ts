/**
 * npm run bench -- scale --one-deal: what a request about one deal costs a caller on ten deals and one on ten thousand. Both ask about the
 * same deal, in turns, as the same role; admins and keys, who see all of one brokerage, about deals that are made alike.
 */

import type pg from 'pg';
import type { ClientBackends } from './backends.ts';
import { median } from './median.ts';
import type { Call } from './scale-calls.ts';
import type { Platform, ScalePerson } from './scale-data.ts';
import { id } from './scale-rows.ts';

/** Two callers who are asked about a deal each. */
export interface Pair {
  readonly name: string;
  readonly few: ScalePerson;
  readonly many: ScalePerson;
}

/** What one call takes PostgreSQL for both, in milliseconds: medians. */
export interface Difference {
  readonly pair: string;
  readonly call: string;
  readonly status: string;
  readonly few: number;
  readonly many: number;
}

/** How much more a caller on ten thousand deals may cost than one on ten, and what of it is too little to be distinguished from noise, in milliseconds. */
const bound = 1.1;
const noise = 0.05;

// Brokers of ten are on the first deals of the large brokerage, of which none is in diligence: here they are on the first that is.
const joinBroker = `
  insert into participants (id, deal_id, user_id, role, status, joined_at)
  select ${id('part', 'x.n * 100 + 99')}, ${id('deal', 'x.n')}, few.user_id, 'broker', 'active', now()
  from bench.people few, bench.people many
  cross join lateral (select min(n) as n from bench.parts p where p.number = many.number and bench.state_of(n) = 'diligence') x
  where few.name = 'broker of 10' and many.name = 'broker of 10000' on conflict do nothing`;
const removeBroker = `
  delete from participants using bench.people p where p.name = 'broker of 10' and participants.user_id = p.user_id
    and participants.deal_id not in (select ${id('deal', 'n')} from bench.parts x where x.number = p.number)`;

// A deal that both are on.
const common = `
  select p.deal_id from participants p join participants o using (deal_id)
  join deals d on d.id = p.deal_id left join deal_stages g on g.deal_id = d.id
  where p.user_id = $1 and o.user_id = $2 order by coalesce(g.state, d.state) = 'diligence' desc, p.deal_id limit 1`;

// Of a brokerage one on which nobody is who is measured: it has just what the generator gives to each.
const ordinary = `
  select d.id as deal_id from deals d join deal_stages g on g.deal_id = d.id
  where d.organization_id = $1 and g.state = 'diligence'
    and not exists (select from participants p join bench.people using (user_id) where p.deal_id = d.id)
  order by d.id limit 1`;

/** The deal of a brokerage that its admins and keys are asked about. */
export async function dealOfBrokerage(client: pg.Client, brokerage: string | null): Promise<string | null> {
  const { rows } = await client.query<{ deal_id: string }>(ordinary, [brokerage]);
  return rows[0]?.deal_id ?? null;
}

/** Who is compared with whom. `done` takes back what had to be added. */
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

/** Those of the calls that name the deal, or what is on it. */
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

/** Asks for both in turns; the median of each of what PostgreSQL spends. */
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

/** Whether it costs the one on many deals more than it may. */
export const isOver = ({ few, many }: Difference): boolean => many > few * bound && many - few > noise;
