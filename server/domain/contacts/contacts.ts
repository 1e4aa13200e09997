/** The contacts of a brokerage: people and companies tracked outside any deal (specification, section 2.1). */

import { hash } from 'node:crypto';
import { anywhere, paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { uuidV7 } from '../../database/uuid.ts';
import { auditedOf, from, type Origin } from '../audit/audited.ts';

export type ContactType = 'person' | 'company';

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

/** A place in the list: that of the contact with this time and id. */
export interface Position {
  createdAt: string;
  id: string;
}

const ownFields = `id, type, display_name as "displayName", email, phone, created_at as "createdAt", updated_at as "updatedAt"`;

// The policies leave an API key the one brokerage that is its own. Named in the order, that brokerage lets the index
// contacts_in_order answer a page without sorting.
const order = 'order by brokerage_id, created_at desc, id desc';

const firstContacts = rows<Contact, [number]>(
  'first_contacts',
  `select ${ownFields} from contacts where archived_at is null ${order} limit $1`,
);
const contactsAfter = rows<Contact, [string, string, number]>(
  'contacts_after',
  `select ${ownFields} from contacts where archived_at is null and (created_at, id) < ($1, $2) ${order} limit $3`,
);

/** Those of these contacts that the calling API key sees. */
export const contactsByIds = rows<Contact, [ids: readonly string[]]>(
  'contacts_by_ids',
  `select ${ownFields} from contacts where id = any ($1) and archived_at is null`,
);

/** The newest `count` contacts that the calling API key sees, or those that come after a place in that list. */
export function contactsPage(count: number, after: Position | null): Statement<Contact[]> {
  return after === null ? firstContacts(count) : contactsAfter(after.createdAt, after.id, count);
}

/** What was made; `repeated` when an earlier request with the same idempotency key had made it. */
export interface CreatedContact {
  id: string;
  created_at: string;
  repeated: boolean;
}

const create = row<CreatedContact>(
  'create_contact',
  'select id, created_at, repeated from app.create_contact($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
);

/**
 * Adds a contact to the brokerage of the calling API key and leaves an audit record; null when the key may not. Refused
 * with `idempotency_key_reused` when the idempotency key stands for another body.
 */
export function createContact(
  contact: NewContact,
  idempotencyKey: string | null,
  origin: Origin,
): Statement<CreatedContact | null> {
  const { type, displayName, email, phone } = contact;
  const digest = idempotencyKey === null ? null : canonicalDigest({ type, displayName, email, phone });
  const ids = [uuidV7(), uuidV7()];
  return create(type, displayName, email, phone, idempotencyKey, digest, origin.address, origin.requestId, ...ids);
}

export interface ListedContact {
  id: string;
  type: ContactType;
  display_name: string;
  email: string | null;
  phone: string | null;
  archived_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface ContactInput {
  readonly type: ContactType;
  readonly display_name: string;
  readonly email: string | null;
  readonly phone: string | null;
}

const fields = 'c.id, c.type, c.display_name, c.email, c.phone, c.archived_at, c.created_at, c.updated_at';

/** What the list can be sorted by. Names can be long, and the place behind which a page begins stands in a URL: a hundred characters count. */
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
  `select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at, c.created_at, c.updated_at, c.place
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

// Contacts belong to no deal, so that the record names the brokerage.
const brokerage = 'changed.brokerage_id';

const add = row<ListedContact>(
  'add_contact',
  `with changed as (
     insert into contacts as c (brokerage_id, type, display_name, email, phone) values ($3, $4, $5, $6, $7)
     returning ${fields}, c.brokerage_id)
   select changed.* from changed ${auditedOf(brokerage, 'contact.create')}`,
);

/** Adds a contact to a brokerage. Denied to all but its members. */
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

/** Changes what is given of a contact; null when there is none that the caller may change. */
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

/** Takes a contact out of the lists, and back again; null when there is none that the caller may change. */
export const archiveContact = (id: string, origin: Origin) => withoutBrokerage(archive(...from(origin), id));
/** Restores an archived contact. */
export const restoreContact = (id: string, origin: Origin) => withoutBrokerage(restore(...from(origin), id));

const sameAddress = rows<{ email: string; id: string }>(
  'contacts_by_email',
  'select email, id from app.contacts_with_emails($1, $2)',
);

/** Which of these e-mail addresses (in lower case) the brokerage's contacts have already, and which contact it is. */
export const contactsWithEmails = (brokerageId: string, emails: readonly string[]) =>
  sameAddress(brokerageId, [...emails]);

const addMany = row<{ added: number }>(
  'import_contacts',
  `with changed as (
     insert into contacts (brokerage_id, type, display_name, email, phone)
     select $3, r.type, r.display_name, r.email, r.phone
     from jsonb_to_recordset($4::jsonb) r (type text, display_name text, email text, phone text)
     returning id),
   counted as (select count(*)::int as added from changed)
   select counted.added from counted
   ${auditedOf('$3', 'contact.import', { subject: 'null', details: `jsonb_build_object('added', counted.added)` })}`,
);

/** Adds all of these contacts or none; how many. Denied to all but the brokerage's members. */
export const importContacts = (
  brokerageId: string,
  contacts: readonly ContactInput[],
  origin: Origin,
): Statement<number> =>
  mapped(addMany(...from(origin), brokerageId, JSON.stringify(contacts)), (answer) => answer?.added ?? 0);

function withoutBrokerage(statement: Statement<ListedContact | null>): Statement<ListedContact | null> {
  return mapped(statement, (found) => {
    if (found === null) return null;
    const { brokerage_id: _, ...contact } = found as ListedContact & { brokerage_id?: string };
    return contact;
  });
}

/** The SHA-256 digest (32 bytes) of what `body` says, whatever the order of its properties. */
function canonicalDigest(body: Readonly<Record<string, string | null>>): Buffer {
  const said = Object.entries(body).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(said), 'buffer');
}
