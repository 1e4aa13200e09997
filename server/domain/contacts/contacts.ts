/** The contacts of a brokerage: people and companies tracked outside any deal (specification, section 2.1). */

import { hash, randomBytes } from 'node:crypto';
import { anywhere, paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { timestamp } from '../../database/types.ts';
import { uuidV7 } from '../../database/uuid.ts';
import { auditedOf, from, type Origin } from '../audit/audited.ts';
import { askedByKey, type AskedByKey } from '../clients/api-keys.ts';

export const contactTypes = ['person', 'company'] as const;
export type ContactType = (typeof contactTypes)[number];

export interface Contact {
  id: string;
  type: ContactType;
  displayName: string;
  email: string | null;
  phone: string | null;
  createdAt: string;
  updatedAt: string;
}

export type NewContact = Pick<Contact, 'type' | 'displayName' | 'email' | 'phone'>;

/** A position in the list: the creation time and id of a contact. */
export interface Position {
  createdAt: string;
  id: string;
}

// Separates the values of contacts and occurs in none of them: it is random, so that nobody who writes contacts knows
// it.
const mark = randomBytes(12).toString('base64url');
const valuesOfContact = 7;

const orNull = (value: string): string | null => (value === '' ? null : value.slice(1));

function contactsFrom(values: readonly string[]): Contact[] {
  const found: Contact[] = [];
  for (let at = 0; at < values.length; at += valuesOfContact) {
    const [id, type, displayName, email, phone, created, updated] = values.slice(at, at + valuesOfContact) as [
      ...[string, ContactType, string, string, string, string, string],
    ];
    found.push({
      id,
      type,
      displayName,
      email: orNull(email),
      phone: orNull(phone),
      createdAt: timestamp(created),
      updatedAt: timestamp(updated),
    });
  }
  return found;
}

const contactsOfKey = askedByKey('contacts_of_key', 'app.contacts_of_key($1, $2, $3, $4, $5)');

/** The newest `count` contacts that the API key sees, or those after a position in that list. */
export const contactsPage = (count: number, after: Position | null): AskedByKey<Contact[]> =>
  contactsOfKey(mark, [mark, count, after?.createdAt, after?.id], contactsFrom);

/** The created contact; `repeated` when an earlier request with the same idempotency key had created it. */
interface CreatedContact {
  readonly id: string;
  readonly createdAt: string;
  readonly repeated: boolean;
}

const create = askedByKey(
  'create_contact_by_key',
  'app.create_contact_by_key($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
);

/**
 * Adds a contact to the brokerage of the API key and writes an audit record; null when the key may not. Rejected with
 * `idempotency_key_reused` when the idempotency key was used with another body.
 */
export function createContact(
  contact: NewContact,
  idempotencyKey: string | null,
  { address, requestId }: Origin,
): AskedByKey<CreatedContact | null> {
  const { type, displayName, email, phone } = contact;
  const digest = idempotencyKey === null ? null : canonicalDigest({ type, displayName, email, phone });
  const values = [uuidV7(), uuidV7(), type, displayName, email, phone, idempotencyKey, digest, address, requestId];
  return create(',', values, ([id, created, repeated]) =>
    id === undefined || created === undefined
      ? null
      : { id, createdAt: timestamp(created), repeated: repeated !== undefined },
  );
}

export interface ListedContact {
  id: string;
  type: ContactType;
  display_name: string;
  email: string | null;
  phone: string | null;
  archived_at: string | null;
  erased_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface ContactInput {
  readonly type: ContactType;
  readonly display_name: string;
  readonly email: string | null;
  readonly phone: string | null;
}

const fields = 'c.id, c.type, c.display_name, c.email, c.phone, c.archived_at, c.erased_at, c.created_at, c.updated_at';

/**
 * Sort orders of the list. Only the first hundred characters of a name count, because names can be long and the
 * position after which a page begins is part of a URL.
 */
export const contactSorts = ['created_at', '-created_at', 'display_name', '-display_name'] as const;
export type ContactSort = (typeof contactSorts)[number];

export interface ContactFilter {
  readonly brokerageId: string;
  /** Words that must all occur in name, e-mail or phone. */
  readonly words: readonly string[];
  readonly archived: boolean;
  readonly after: Place | null;
  readonly limit: number;
}

const list = rows<Placed<ListedContact>>(
  'contact_list',
  `select ${fields}, c.place
   from app.contact_list($1, $2, $3, $4, $5, $6, $7) c`,
);

/** The contacts of a brokerage that the caller is a member of, in pages. */
export function contactList(
  sort: ContactSort,
  { brokerageId, words, archived, after, limit }: ContactFilter,
): Statement<Page<ListedContact>> {
  const found = list(brokerageId, archived, words.map(anywhere), sort, after?.key, after?.id, limit + 1);
  return paged(found, limit, (contact) => contact);
}

/** A contact, archived or not, of a brokerage that the caller is a member of; null when there is none. */
export const contactWithId = row<ListedContact, [id: string]>(
  'contact_with_id',
  `select ${fields} from contacts c where c.id = $1`,
);

// Contacts belong to no deal, so the audit record names the brokerage.
const brokerage = 'changed.brokerage_id';

const add = row<ListedContact>(
  'add_contact',
  `with changed as (
     insert into contacts as c (brokerage_id, type, display_name, email, phone) values ($3, $4, $5, $6, $7)
     returning ${fields}, c.brokerage_id)
   select changed.* from changed ${auditedOf(brokerage, 'contact.create')}`,
);

/** Adds a contact to a brokerage. Denied unless the caller is a member. */
export const addContact = (
  brokerageId: string,
  contact: ContactInput,
  origin: Origin,
): Statement<ListedContact | null> =>
  withoutBrokerage(add(...from(origin), brokerageId, contact.type, contact.display_name, contact.email, contact.phone));

const change = row<ListedContact>(
  'change_contact',
  `with changed as (
     update contacts c set type = coalesce($4, c.type), display_name = coalesce($5, c.display_name),
       email = case when $6 then $7 else c.email end, phone = case when $8 then $9 else c.phone end
     where c.id = $3 returning ${fields}, c.brokerage_id)
   select changed.* from changed ${auditedOf(brokerage, 'contact.update')}`,
);

/**
 * Changes the given fields of a contact; null when there is none that the caller may change. Refused with
 * `contact_erased`.
 */
export const changeContact = (
  id: string,
  given: { [K in keyof ContactInput]?: ContactInput[K] | undefined },
  origin: Origin,
): Statement<ListedContact | null> =>
  withoutBrokerage(
    change(
      ...from(origin),
      id,
      given.type ?? null,
      given.display_name ?? null,
      given.email !== undefined,
      given.email ?? null,
      given.phone !== undefined,
      given.phone ?? null,
    ),
  );

const archive = row<ListedContact>(
  'archive_contact',
  `with changed as (
     update contacts c set archived_at = coalesce(c.archived_at, app.now()) where c.id = $3 returning ${fields}, c.brokerage_id)
   select changed.* from changed ${auditedOf(brokerage, 'contact.archive')}`,
);
const restore = row<ListedContact>(
  'restore_contact',
  `with changed as (update contacts c set archived_at = null where c.id = $3 returning ${fields}, c.brokerage_id)
   select changed.* from changed ${auditedOf(brokerage, 'contact.restore')}`,
);

/** Archives a contact, which removes it from the lists; null when there is none that the caller may change. */
export const archiveContact = (id: string, origin: Origin) => withoutBrokerage(archive(...from(origin), id));
/**
 * Restores an archived contact; null when there is none that the caller may change. Refused with `contact_erased`.
 */
export const restoreContact = (id: string, origin: Origin) => withoutBrokerage(restore(...from(origin), id));

const eraseOne = row<{ erased: boolean }>('erase_contact', 'select app.erase_contact($3, $1, $2) as erased');
/**
 * Erases a contact for good, with the duplicates merged into it: name, address, phone and external id. False when there
 * is none in a brokerage of which the caller is an admin. Refused with `legal_hold`.
 */
export const eraseContact = (id: string, origin: Origin): Statement<boolean> =>
  mapped(eraseOne(...from(origin), id), (found) => found?.erased === true);

/** A contact that the brokerage has already, by its place among those that were asked about. */
export interface KnownContact {
  place: number;
  id: string;
  archived: boolean;
}

const placed = (given: readonly ContactInput[]): string =>
  JSON.stringify(given.map((contact, place) => ({ ...contact, place })));

const known = rows<KnownContact>('known_contacts', 'select place, id, archived from app.known_contacts($1, $2::jsonb)');

/**
 * Which of these the brokerage already has, archived or not: by their address, or if they have none by type, name and
 * phone number.
 */
export const knownContacts = (brokerageId: string, given: readonly ContactInput[]): Statement<KnownContact[]> =>
  known(brokerageId, placed(given));

const addMany = row<{ added: number }>(
  'import_contacts',
  `with changed as (
     insert into contacts (brokerage_id, type, display_name, email, phone)
     select $3, r.type, r.display_name, r.email, r.phone
     from jsonb_to_recordset($4::jsonb) r (place int, type text, display_name text, email text, phone text)
     where r.place not in (select k.place from app.known_contacts($3, $4::jsonb) k)
     returning id),
   counted as (select count(*)::int as added from changed)
   select counted.added from counted
   ${auditedOf('$3', 'contact.import', { subject: 'null', details: `jsonb_build_object('added', counted.added)` })}`,
);

// As batches, merges and erasures of a brokerage do, so that what one import adds, the next one finds.
const lock = row<{ locked: boolean }, [brokerageId: string]>(
  'lock_contacts',
  `select count(pg_advisory_xact_lock(hashtextextended('contacts ' || b.id, 0))) > 0 as locked
   from unnest(app.brokerages_for('contacts:write')) b (id) where b.id = $1`,
);

/**
 * Adds all of these contacts or none, except those that the brokerage already has; the second statement returns their
 * number. Denied unless the caller is a member of the brokerage.
 */
export const importContacts = (brokerageId: string, contacts: readonly ContactInput[], origin: Origin) =>
  [
    lock(brokerageId),
    mapped(addMany(...from(origin), brokerageId, placed(contacts)), (answer) => answer?.added ?? 0),
  ] as const;

const manyOf = (act: 'archive' | 'restore', set: string, where: string) =>
  row<{ ids: string[] }>(
    `${act}_contacts`,
    `with changed as (
       update contacts c set archived_at = ${set} where c.brokerage_id = $3 and c.id = any ($4) and ${where} returning c.id)
     select coalesce(array_agg(changed.id), '{}') as ids from changed ${auditedOf('$3', `contact.${act}`)}`,
  );
const archiveMany = manyOf('archive', 'app.now()', 'c.archived_at is null');
// A duplicate is restored by itself: it stops being one, which archiving it again would not take back.
const restoreMany = manyOf(
  'restore',
  'null',
  'c.archived_at is not null and c.erased_at is null and c.merged_into is null',
);

/**
 * Archives or restores contacts of a brokerage that the caller is a member of, except that it restores none that was
 * erased or merged into another; the second statement returns the ids of those that it changed.
 */
export const archiveContacts = (brokerageId: string, ids: readonly string[], archived: boolean, origin: Origin) =>
  [
    lock(brokerageId),
    mapped((archived ? archiveMany : restoreMany)(...from(origin), brokerageId, ids), (answer) => answer?.ids ?? []),
  ] as const;

function withoutBrokerage(statement: Statement<ListedContact | null>): Statement<ListedContact | null> {
  return mapped(statement, (found) => {
    if (found === null) return null;
    const { brokerage_id: _, ...contact } = found as ListedContact & { brokerage_id?: string };
    return contact;
  });
}

/** The SHA-256 digest (32 bytes) of `body`, independent of the order of its properties. */
function canonicalDigest(body: Readonly<Record<string, string | null>>): Buffer {
  const said = Object.entries(body).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(said), 'buffer');
}
