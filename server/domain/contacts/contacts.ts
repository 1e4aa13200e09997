/** The contacts of a brokerage: people and companies tracked outside any deal (specification, section 2.1). */

import { row, rows, type Statement } from '../../database/statement.ts';
import { canonicalDigest } from './idempotency.ts';
import type { Origin } from '../audit/origin.ts';

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

const fields = `id, type, display_name as "displayName", email, phone, created_at as "createdAt", updated_at as "updatedAt"`;

// The policies leave an API key the one brokerage that is its own. Named in the order, that brokerage lets the index
// contacts_in_order answer a page without sorting.
const order = 'order by brokerage_id, created_at desc, id desc';

const firstContacts = rows<Contact, [number]>(
  'first_contacts',
  `select ${fields} from contacts where archived_at is null ${order} limit $1`,
);
const contactsAfter = rows<Contact, [string, string, number]>(
  'contacts_after',
  `select ${fields} from contacts where archived_at is null and (created_at, id) < ($1, $2) ${order} limit $3`,
);
const oneContact = row<Contact, [string]>(
  'contact',
  `select ${fields} from contacts where id = $1 and archived_at is null`,
);

/** The newest `count` contacts that the calling API key sees, or those that come after a place in that list. */
export function contactsPage(count: number, after: Position | null): Statement<Contact[]> {
  return after === null ? firstContacts(count) : contactsAfter(after.createdAt, after.id, count);
}

/** The contact, or null when it does not exist, is archived or is not visible to the caller. `id` is a UUID. */
export function contactById(id: string): Statement<Contact | null> {
  return oneContact(id);
}

/** What was made; `repeated` when an earlier request with the same idempotency key had made it. */
export interface CreatedContact {
  id: string;
  created_at: string;
  repeated: boolean;
}

const create = row<CreatedContact>(
  'create_contact',
  'select id, created_at, repeated from app.create_contact($1, $2, $3, $4, $5, $6, $7, $8)',
);

/**
 * Adds a contact to the brokerage of the calling API key and leaves an audit record; null when the key may not. Refused
 * with `idempotency_key_reused` when the idempotency key stands for another body.
 */
export function createContact(
  contact: NewContact,
  idempotencyKey: string | null,
  from: Origin,
): Statement<CreatedContact | null> {
  const { type, displayName, email, phone } = contact;
  const digest = idempotencyKey === null ? null : canonicalDigest({ type, displayName, email, phone });
  return create(type, displayName, email, phone, idempotencyKey, digest, from.address, from.requestId);
}

const record = row('contact_create_not_done', `select app.audit('contact.create', null, $1, null, null, $2, $3, $4)`);

/** Leaves a record of a contact that the caller wanted to add and did not: refused by us, or failed on our side. */
export function recordNotCreated(
  outcome: 'refused' | 'failed',
  why: { status: number; code: string },
  from: Origin,
): Statement<unknown> {
  return record(outcome, from.address, from.requestId, why);
}
