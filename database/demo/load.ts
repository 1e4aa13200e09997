/** Loads the demo: two brokerages with their people, contacts and deals, as of this moment. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { connectClient, issueKeys, letWrite, redirectUri, type KeyName } from './access.ts';
import { addressBooks } from './contacts.ts';
import { deals, namedDeals } from './deals/all.ts';
import { Ledger } from './ledger.ts';
import { ago, Calendar, type Moment } from './moments.ts';
import { brokerages, leads, people, type BrokerageKey, type Lead, type PersonKey } from './people.ts';
import { tellDiligence } from './tell-diligence.ts';
import { openDeal, tellExchange, type Telling } from './tell.ts';

export { demoBodies, type DemoBody } from './files.ts';

/** What demo.json says, but for the addresses at which the service answers. */
export interface Demo {
  readonly people: Readonly<
    Record<
      Lead,
      { readonly email: string; readonly password: string; readonly user_id: string; readonly client_id: string }
    >
  >;
  readonly redirect_uri: string;
  readonly brokerage_id: string;
  readonly deals: Readonly<Record<keyof typeof namedDeals, string>>;
  readonly keys: Readonly<Record<KeyName, string>>;
}

export interface DemoOptions {
  /** The password of everybody, instead of one at random for each. */
  readonly password?: string;
}

const peopleKeys = Object.keys(people) as PersonKey[];
const brokerageKeys = Object.keys(brokerages) as BrokerageKey[];
const leadKeys = Object.keys(leads) as Lead[];

function mapKeys<K extends string, V>(keys: readonly K[], value: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>;
}

/** When a person came to Dealkeep: with their brokerage, or invited to their first deal. */
function arrival(person: PersonKey, calendar: Calendar): Date {
  const moments: Moment[] = [
    ...brokerageKeys
      .flatMap((key) => brokerages[key].members.filter((member) => member.person === person))
      .map(({ joined }) => joined),
    ...deals.flatMap(({ parts }) => parts.filter((part) => part.person === person)).map(({ since }) => since),
  ];
  const times = (moments.length > 0 ? moments : [ago(52, '18:20')]).map((moment) => calendar.at(moment).getTime());
  return new Date(Math.min(...times));
}

function introduceBrokerages(ledger: Ledger, calendar: Calendar): Telling {
  const userIds = mapKeys(peopleKeys, (person) => {
    const created_at = arrival(person, calendar);
    return ledger.add('users', created_at, { ...people[person], created_at, updated_at: created_at });
  });
  const brokerageIds = mapKeys(brokerageKeys, (key) => {
    const { slug, name, founded, members } = brokerages[key];
    const created_at = calendar.at(founded);
    const id = ledger.add('brokerages', created_at, { slug, name, created_at, updated_at: created_at });
    for (const member of members) {
      ledger.put('members', {
        brokerage_id: id,
        user_id: userIds[member.person],
        role: member.role,
        status: 'status' in member ? member.status : 'active',
        created_at: calendar.at(member.joined),
        updated_at: calendar.at('changed' in member ? member.changed : member.joined),
      });
    }
    return id;
  });
  return { ledger, calendar, userIds, brokerageIds };
}

function fillAddressBook(
  { ledger, calendar, userIds, brokerageIds }: Telling,
  brokerage: BrokerageKey,
  keyId: string,
): void {
  for (const [index, contact] of addressBooks[brokerage].entries()) {
    const added = calendar.at(ago(contact.added, `${14 + (index % 6)}:${String((index * 7) % 60).padStart(2, '0')}`));
    const archived_at = contact.archived ? calendar.at(ago(contact.archived)) : null;
    ledger.add('contacts', added, {
      brokerage_id: brokerageIds[brokerage],
      type: contact.type,
      display_name: contact.displayName,
      email: contact.email,
      phone: contact.phone,
      created_by: contact.by ? userIds[contact.by] : null,
      created_by_key: contact.by ? null : keyId,
      created_at: added,
      updated_at: archived_at ?? added,
      archived_at,
    });
  }
}

/** Puts everything into the ledger, and tells what demo.json needs of it. */
function tell(
  ledger: Ledger,
  calendar: Calendar,
  passwords: Readonly<Record<Lead, { plain: string; phc: string }>>,
): Demo {
  const telling = introduceBrokerages(ledger, calendar);
  const { userIds, brokerageIds } = telling;
  const keys = issueKeys(telling);
  fillAddressBook(telling, 'bramwellOakes', keys.full.id);
  fillAddressBook(telling, 'pelicanQuay', keys.other_brokerage.id);

  const dealIds = new Map<string, string>();
  for (const story of deals) {
    const deal = openDeal(telling, story);
    tellExchange(deal);
    tellDiligence(deal);
    dealIds.set(story.key, deal.dealId);
  }
  const idOf = (name: keyof typeof namedDeals) => dealIds.get(namedDeals[name]) ?? '';

  const { bramwellOakes } = brokerageIds;
  const employer = (lead: Lead) =>
    brokerages.bramwellOakes.members.some(({ person }) => person === leads[lead]) ? bramwellOakes : null;
  const clientIds = mapKeys(leadKeys, (lead) => connectClient(telling, leads[lead], employer(lead)));
  for (const lead of ['broker', 'buyer'] as const) {
    letWrite(telling, {
      person: leads[lead],
      clientId: clientIds[lead],
      deal: { id: idOf('with_everything'), brokerageId: bramwellOakes },
      brokerageId: employer(lead),
    });
  }
  for (const lead of leadKeys) {
    const changed_at = arrival(leads[lead], calendar);
    const { phc } = passwords[lead];
    ledger.put('vault.passwords', { user_id: userIds[leads[lead]], phc, changed_at, address_proven_at: changed_at });
  }
  return {
    people: mapKeys(leadKeys, (lead) => ({
      email: people[leads[lead]].email,
      password: passwords[lead].plain,
      user_id: userIds[leads[lead]],
      client_id: clientIds[lead],
    })),
    redirect_uri: redirectUri,
    brokerage_id: bramwellOakes,
    deals: {
      with_everything: idOf('with_everything'),
      draft: idOf('draft'),
      without_broker: idOf('without_broker'),
      of_other_brokerage: idOf('of_other_brokerage'),
    },
    keys: {
      full: keys.full.token,
      read_only: keys.read_only.token,
      other_brokerage: keys.other_brokerage.token,
      expired: keys.expired.token,
      revoked: keys.revoked.token,
      small_ceiling: keys.small_ceiling.token,
    },
  };
}

/**
 * Loads the demo into a migrated database as its owner, in one transaction, and tells what demo.json says of it. Passwords,
 * API keys and ids are new in every load, and stored as digests only; times are counted from now.
 */
export async function loadDemo(owner: pg.ClientConfig, { password }: DemoOptions = {}): Promise<Demo> {
  const hashed = await Promise.all(
    leadKeys.map(async (lead) => {
      const plain = password ?? randomBytes(12).toString('hex');
      return [lead, { plain, phc: await hashPassword(plain) }] as const;
    }),
  );
  const client = new pg.Client(owner);
  await client.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ now: Date }>('select app.now() as now');
    const ledger = new Ledger();
    const passwords = Object.fromEntries(hashed) as Record<Lead, { plain: string; phc: string }>;
    const demo = tell(ledger, new Calendar(rows[0]?.now ?? new Date()), passwords);
    await ledger.write(client);
    await client.query('commit');
    return demo;
  } finally {
    // Ending the connection takes back what was not committed.
    await client.end();
  }
}
