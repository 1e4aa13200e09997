/** Loads the demo: two brokerages with their people, contacts and deals, as of now. */

import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { recommendedParameters } from '../../server/config/config.ts';
import { withClient } from '../../server/database/client.ts';
import { inTransaction } from '../../server/database/transaction.ts';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { connectClient, issueKeys, allowWriting, redirectUri, type KeyName } from './access.ts';
import { addressBooks } from './contacts.ts';
import { deals, namedDeals } from './deals/all.ts';
import { RowCollector } from './row-collector.ts';
import { ago, Calendar, type RelativeTime } from './relative-times.ts';
import { brokerages, leads, people, type BrokerageKey, type Lead, type PersonKey } from './people.ts';
import { addDiligence } from './diligence-rows.ts';
import { openDeal, addExchange, type LoadContext } from './deal-rows.ts';

export { demoBodies, type DemoBody } from './files.ts';

/** The contents of demo.json, except for the addresses at which the service answers. */
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
  readonly keys: Readonly<Record<Exclude<KeyName, 'inquiry_form'>, string>>;
}

export interface DemoOptions {
  /** The password of everybody; by default each person gets a random one. */
  readonly password?: string;
}

const peopleKeys = Object.keys(people) as PersonKey[];
const brokerageKeys = Object.keys(brokerages) as BrokerageKey[];
const leadKeys = Object.keys(leads) as Lead[];

function mapKeys<K extends string, V>(keys: readonly K[], value: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>;
}

/** Returns when a person came to Dealkeep: when they joined their brokerage, or were invited to their first deal. */
function arrival(person: PersonKey, calendar: Calendar): Date {
  const given: RelativeTime[] = [
    ...brokerageKeys
      .flatMap((key) => brokerages[key].members.filter((member) => member.person === person))
      .map(({ joined }) => joined),
    ...deals.flatMap(({ parts }) => parts.filter((part) => part.person === person)).map(({ since }) => since),
  ];
  const times = (given.length > 0 ? given : [ago(52, '18:20')]).map((time) => calendar.at(time).getTime());
  return new Date(Math.min(...times));
}

function introduceBrokerages(collector: RowCollector, calendar: Calendar): LoadContext {
  const userIds = mapKeys(peopleKeys, (person) => {
    const created_at = arrival(person, calendar);
    return collector.add('users', created_at, { ...people[person], created_at, updated_at: created_at });
  });
  const brokerageIds = mapKeys(brokerageKeys, (key) => {
    const { slug, name, founded, members } = brokerages[key];
    const created_at = calendar.at(founded);
    const id = collector.add('brokerages', created_at, { slug, name, created_at, updated_at: created_at });
    for (const member of members) {
      collector.put('members', {
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
  return { collector, calendar, userIds, brokerageIds };
}

function fillAddressBook(
  { collector, calendar, userIds, brokerageIds }: LoadContext,
  brokerage: BrokerageKey,
  keyId: string,
): void {
  for (const [index, contact] of addressBooks[brokerage].entries()) {
    const added = calendar.at(ago(contact.added, `${14 + (index % 6)}:${String((index * 7) % 60).padStart(2, '0')}`));
    const archived_at = contact.archived ? calendar.at(ago(contact.archived)) : null;
    collector.add('contacts', added, {
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

/** Collects all rows; returns the contents of demo.json. */
function collectRows(
  collector: RowCollector,
  calendar: Calendar,
  passwords: Readonly<Record<Lead, { plain: string; phc: string }>>,
): Demo {
  const context = introduceBrokerages(collector, calendar);
  const { userIds, brokerageIds } = context;
  const keys = issueKeys(context);
  fillAddressBook(context, 'bramwellOakes', keys.inquiry_form.id);
  fillAddressBook(context, 'pelicanQuay', keys.other_brokerage.id);

  const dealIds = new Map<string, string>();
  for (const demoDeal of deals) {
    const deal = openDeal(context, demoDeal);
    addExchange(deal);
    addDiligence(deal);
    dealIds.set(demoDeal.key, deal.dealId);
  }
  const idOf = (name: keyof typeof namedDeals) => dealIds.get(namedDeals[name]) ?? '';

  const { bramwellOakes } = brokerageIds;
  const employer = (lead: Lead) =>
    brokerages.bramwellOakes.members.some(({ person }) => person === leads[lead]) ? bramwellOakes : null;
  const clientIds = mapKeys(leadKeys, (lead) => connectClient(context, leads[lead], employer(lead)));
  for (const lead of ['broker', 'buyer'] as const) {
    allowWriting(context, {
      person: leads[lead],
      clientId: clientIds[lead],
      deal: { id: idOf('with_everything'), brokerageId: bramwellOakes },
      brokerageId: employer(lead),
    });
  }
  for (const lead of leadKeys) {
    const changed_at = arrival(leads[lead], calendar);
    const { phc } = passwords[lead];
    collector.put('vault.passwords', { user_id: userIds[leads[lead]], phc, changed_at, address_proven_at: changed_at });
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
      sandbox: keys.sandbox.token,
    },
  };
}

/**
 * Loads the demo into a migrated database as its owner, in one transaction, and returns the contents of demo.json.
 * Passwords, API keys and ids are new in every load; passwords and keys are stored only as digests. Times are relative
 * to now.
 */
export async function loadDemo(owner: pg.ClientConfig, { password }: DemoOptions = {}): Promise<Demo> {
  const hashed = await Promise.all(
    leadKeys.map(async (lead) => {
      const plain = password ?? randomBytes(12).toString('hex');
      return [lead, { plain, phc: await hashPassword(plain, recommendedParameters) }] as const;
    }),
  );
  return withClient(owner, 'demo', (client) =>
    inTransaction(client, async () => {
      const { rows } = await client.query<{ now: Date }>('select app.now() as now');
      const collector = new RowCollector();
      const passwords = Object.fromEntries(hashed) as Record<Lead, { plain: string; phc: string }>;
      const demo = collectRows(collector, new Calendar(rows[0]?.now ?? new Date()), passwords);
      await collector.write(client);
      return demo;
    }),
  );
}
