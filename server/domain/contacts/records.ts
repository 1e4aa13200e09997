/** Contacts as integrators keep them in step with another system: with its id for them, archived ones, what was merged, and what changed when. */

import { anywhere } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { Contact, ContactType } from './contacts.ts';

export interface ContactRecord extends Contact {
  /** Its id in another system, unique in the brokerage. */
  externalId: string | null;
  archivedAt: string | null;
  /** The contact that this archived duplicate became a part of. */
  mergedInto: string | null;
}

const fields = `id, type, display_name as "displayName", email, phone, external_id as "externalId", archived_at as "archivedAt",
  merged_into as "mergedInto", created_at as "createdAt", updated_at as "updatedAt"`;
const tag = 'app.contact_tag(id, version, updated_at) as tag';

/** A contact and its entity tag, which is another one after every change. */
interface TaggedContact {
  readonly record: ContactRecord;
  readonly tag: string;
}

type Tagged = ContactRecord & { tag: string };

const taggedOf = (found: Tagged | null): TaggedContact | null => {
  if (found === null) return null;
  const { tag: own, ...record } = found;
  return { record, tag: own };
};

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

/** Those of these contacts that the calling API key sees, archived ones among them. */
export const contactsByIds = rows<ContactRecord, [ids: readonly string[]]>(
  'contacts_by_ids',
  `select ${fields} from contacts where id = any ($1)`,
);

/** The contact, also an archived one when `archived`; null when the caller does not see it. `id` is a UUID. */
export const contactRecord = (id: string, archived: boolean): Statement<TaggedContact | null> =>
  mapped(byId(id, archived), taggedOf);

/** The contact with this id in another system, or the one that it was merged into; otherwise as {@link contactRecord}. */
export const contactByExternalId = (externalId: string, archived: boolean): Statement<TaggedContact | null> =>
  mapped(byExternalId(externalId, archived), taggedOf);

/** What lists of contacts can be sorted by. */
export const recordSorts = ['-createdAt', 'displayName', 'updatedAt'] as const;
export type RecordSort = (typeof recordSorts)[number];

export interface RecordFilter {
  /** Which contacts: not those that are archived, only those, or all. */
  readonly archived: 'false' | 'only' | 'true';
  readonly type: ContactType | null;
  /** The whole address, ignoring case. */
  readonly email: string | null;
  /** Words that must all occur in name, e-mail or phone. */
  readonly words: readonly string[];
  /** RFC 3339. */
  readonly updatedSince: string | null;
  readonly sort: RecordSort;
}

/** A row of a list with what it is sorted by, as text. */
export type PlacedRecord = ContactRecord & { readonly place: string };

const thatFit = rows<PlacedRecord>(
  'contacts_that_fit',
  `select ${fields}, place from app.contacts_that_fit($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

/** The first `count` contacts of the calling API key's brokerage that fit, or those after a place: its sort key and id. */
export const contactsThatFit = (
  { archived, type, email, words, updatedSince, sort }: RecordFilter,
  count: number,
  after: { readonly place: string; readonly id: string } | null,
): Statement<PlacedRecord[]> =>
  thatFit(archived, type, email, words.map(anywhere), updatedSince, sort, after?.place, after?.id, count);

/** What may be said of a contact; what is left out stays, or is empty in a new one. */
export interface GivenContact {
  readonly type?: ContactType | undefined;
  readonly displayName?: string | undefined;
  readonly email?: string | null | undefined;
  readonly phone?: string | null | undefined;
  readonly externalId?: string | null | undefined;
}

/**
 * One change of a contact. `create` makes one, `change` and `put` take over what is given, and `put` makes one where there is none
 * with that external id.
 */
export interface ContactChange {
  readonly act: 'create' | 'change' | 'put' | 'archive' | 'restore';
  readonly id?: string;
  readonly externalId?: string;
  readonly given?: GivenContact;
  /** The entity tags that the contact may have, '*' for any; left out: whatever it has. */
  readonly tags?: readonly string[] | undefined;
}

type ContactOutcome =
  | 'created'
  | 'done'
  | 'unchanged'
  | 'not_found'
  | 'stale'
  | 'archived'
  | 'taken'
  | 'other_not_found'
  | 'of_another_type';

/** What came of a change; the contact as it is now, where there is one. */
export interface ChangedContact {
  readonly outcome: ContactOutcome;
  readonly contact: TaggedContact | null;
}

type Changed = Tagged & { outcome: ContactOutcome };

function changedOf({ outcome, ...found }: Changed): ChangedContact {
  return { outcome, contact: found.id === null ? null : taggedOf(found) };
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

/** Makes a change in the name of the calling API key and leaves an audit record; null when there is none. */
export const writeContact = (
  { act, id, externalId, given = {}, tags }: ContactChange,
  { address, requestId }: Origin,
): Statement<ChangedContact | null> =>
  mapped(write(act, id, externalId, { ...given }, tags, address, requestId), (found) => found && changedOf(found));

/** Makes changes in their order, each as if it came alone; what came of each, in the same order, none without an API key. */
export const writeContacts = (
  changes: readonly ContactChange[],
  { address, requestId }: Origin,
): Statement<ChangedContact[]> =>
  mapped(writeMany(JSON.stringify(changes), address, requestId), (found) => found.map(changedOf));

/** Makes one contact of two, `other` being archived; null when there is no API key that may. */
export const mergeContacts = (
  kept: string,
  other: string,
  tags: readonly string[] | undefined,
  { address, requestId }: Origin,
): Statement<ChangedContact | null> =>
  mapped(merge(kept, other, tags, address, requestId), (found) => found && changedOf(found));
