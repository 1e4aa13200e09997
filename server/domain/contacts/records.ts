/**
 * Contacts for integrations that synchronize them with another system: external ids, archived contacts, merges, and the
 * time of each change.
 */

import { anywhere } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { Contact, ContactType } from './contacts.ts';

export interface ContactRecord extends Contact {
  /** The contact's id in another system, unique in the brokerage. */
  externalId: string | null;
  archivedAt: string | null;
  /** The contact into which this archived duplicate was merged. */
  mergedInto: string | null;
  /** When what it said was erased for good; it is archived, too. */
  erasedAt: string | null;
  /** The entity tag, in quotes; it changes with every update. */
  etag: string;
}

const fields = `id, type, display_name as "displayName", email, phone, external_id as "externalId", archived_at as "archivedAt",
  merged_into as "mergedInto", erased_at as "erasedAt", created_at as "createdAt", updated_at as "updatedAt"`;
const tag = 'app.contact_tag(id, version, updated_at) as tag';

type Tagged = Omit<ContactRecord, 'etag'> & { tag: string };

function recordOf<Found extends Tagged>({ tag: own, ...record }: Found) {
  return { ...record, etag: `"${own}"` };
}

const orNone = (found: Tagged | null): ContactRecord | null => found && recordOf(found);

const byId = row<Tagged, [string, boolean]>(
  'contact_record',
  `select ${fields}, ${tag} from contacts where id = $1 and (archived_at is null or $2)`,
);
const byExternalId = row<Tagged, [string, boolean]>(
  'contact_by_external_id',
  `select ${fields}, ${tag} from contacts
   where id = (select coalesce(e.merged_into, e.id) from contacts e where e.external_id = $1
       and e.brokerage_id = any ((select app.brokerages_for('contacts:read'))::uuid[]))
     and (archived_at is null or $2)`,
);

const byIds = rows<Tagged, [ids: readonly string[]]>(
  'contacts_by_ids',
  `select ${fields}, ${tag} from contacts where id = any ($1)`,
);

/** The contacts with these ids that the calling API key sees, including archived ones. */
export const contactsByIds = (ids: readonly string[]): Statement<ContactRecord[]> =>
  mapped(byIds(ids), (found) => found.map(recordOf));

/** The contact; an archived one only when `archived`. Null when the caller does not see it. `id` is a UUID. */
export const contactRecord = (id: string, archived: boolean): Statement<ContactRecord | null> =>
  mapped(byId(id, archived), orNone);

/**
 * The contact with this id in another system, or the contact that it was merged into; otherwise like
 * {@link contactRecord}.
 */
export const contactByExternalId = (externalId: string, archived: boolean): Statement<ContactRecord | null> =>
  mapped(byExternalId(externalId, archived), orNone);

/** Sort orders of contact lists. */
export const recordSorts = ['-createdAt', 'displayName', 'updatedAt'] as const;
export type RecordSort = (typeof recordSorts)[number];

export interface RecordFilter {
  /** Excludes archived contacts, returns only those, or returns all. */
  readonly archived: 'false' | 'only' | 'true';
  readonly type: ContactType | null;
  /** The whole address, case-insensitive. */
  readonly email: string | null;
  /** Words that must all occur in name, e-mail or phone. */
  readonly words: readonly string[];
  /** RFC 3339. */
  readonly updatedSince: string | null;
  readonly sort: RecordSort;
}

/** A row of a list with its sort key as text. */
export type PlacedRecord = ContactRecord & { readonly place: string };

const thatFit = rows<Tagged & { place: string }>(
  'contacts_that_fit',
  `select ${fields}, tag, place from app.contacts_that_fit($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

/**
 * The first `count` matching contacts of the calling API key's brokerage, or those after a position (sort key and id).
 */
export const contactsThatFit = (
  { archived, type, email, words, updatedSince, sort }: RecordFilter,
  count: number,
  after: { readonly place: string; readonly id: string } | null,
): Statement<PlacedRecord[]> =>
  mapped(
    thatFit(archived, type, email, words.map(anywhere), updatedSince, sort, after?.place, after?.id, count),
    (found) => found.map(recordOf),
  );

/** Fields to write to a contact. An omitted field is unchanged, or empty in a new contact. */
export interface GivenContact {
  readonly type?: ContactType | undefined;
  readonly displayName?: string | undefined;
  readonly email?: string | null | undefined;
  readonly phone?: string | null | undefined;
  readonly externalId?: string | null | undefined;
}

/**
 * One change of a contact. `create` adds one; `change` and `put` write the given fields, and `put` adds the contact
 * when none has that external id.
 */
export interface ContactChange {
  readonly act: 'create' | 'change' | 'put' | 'archive' | 'restore';
  readonly id?: string;
  readonly externalId?: string;
  readonly given?: GivenContact;
  /** The entity tags that the contact may have, '*' for any; without them every tag is accepted. */
  readonly tags?: readonly string[] | undefined;
}

type ContactOutcome =
  | 'created'
  | 'done'
  | 'unchanged'
  | 'not_found'
  | 'stale'
  | 'archived'
  | 'erased'
  | 'taken'
  | 'other_not_found'
  | 'of_another_type';

/** The result of a change, with the current contact, if there is one; if `taken`, the one that has the external id. */
export interface ChangedContact {
  readonly outcome: ContactOutcome;
  readonly contact: ContactRecord | null;
}

type Changed = Tagged & { outcome: ContactOutcome };

function changedOf({ outcome, ...found }: Changed): ChangedContact {
  return { outcome, contact: found.id === null ? null : recordOf(found) };
}

const write = row<Changed>(
  'write_contact',
  `select outcome, ${fields}, tag from app.write_contact($1, $2, $3, $4, $5, $6, $7)`,
);
const writeMany = rows<Changed>('write_contacts', `select outcome, ${fields}, tag from app.write_contacts($1, $2, $3)`);
const merge = row<Changed>(
  'merge_contacts',
  `select outcome, ${fields}, tag from app.merge_contacts($1, $2, $3, $4, $5)`,
);

/** Makes a change on behalf of the calling API key and writes an audit record; null without an API key. */
export const writeContact = (
  { act, id, externalId, given = {}, tags }: ContactChange,
  { address, requestId }: Origin,
): Statement<ChangedContact | null> =>
  mapped(write(act, id, externalId, { ...given }, tags, address, requestId), (found) => found && changedOf(found));

/**
 * Makes changes in order, each as if it were the only one. Returns their results in the same order; none without an API
 * key.
 */
export const writeContacts = (
  changes: readonly ContactChange[],
  { address, requestId }: Origin,
): Statement<ChangedContact[]> =>
  mapped(writeMany(JSON.stringify(changes), address, requestId), (found) => found.map(changedOf));

/** Merges two contacts and archives `other`; null without an API key that may do so. */
export const mergeContacts = (
  kept: string,
  other: string,
  tags: readonly string[] | undefined,
  { address, requestId }: Origin,
): Statement<ChangedContact | null> =>
  mapped(merge(kept, other, tags, address, requestId), (found) => found && changedOf(found));
