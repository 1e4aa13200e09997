/** The list of contacts: its filters, its order, and positions in it. */

import type { Context } from 'hono';
import type { Place } from '../database/paging.ts';
import { mapped } from '../database/statement.ts';
import { mappedQuestion } from '../domain/clients/api-keys.ts';
import { contactsPage, contactTypes, type Contact } from '../domain/contacts/contacts.ts';
import {
  contactsThatFit,
  recordSorts,
  type PlacedRecord,
  type RecordFilter,
  type RecordSort,
} from '../domain/contacts/records.ts';
import { isEmailAddress, longestEmailAddress } from '../lib/email-address.ts';
import { uuidAt, uuidBytes } from '../lib/uuid.ts';
import { placeOf, positionOf } from './cursor.ts';
import { invalid } from './envelope.ts';
import { queryParameter } from './operation.ts';
import type { List } from './pages.ts';
import { oneOfParameter, searchParameter, timeParameter } from './parameters.ts';

const archivedOf = <const Words extends readonly [string, ...string[]]>(words: Words, description: string) =>
  oneOfParameter('archived', words, description, { default: 'false' });

/** `archived` for the list of contacts. */
const archived = archivedOf(
  ['false', 'only', 'true'],
  'Which contacts to list: active (false), archived (only) or both (true).',
);

/** `archived` for one contact. */
export const archivedToo = archivedOf(['false', 'true'], 'Whether to return the contact even if it is archived.');

/** `expand=record`: contacts with `externalId`, `archivedAt`, `mergedInto`, `erasedAt` and `etag`. */
export const expand = oneOfParameter(
  'expand',
  ['record'],
  'record: include externalId, archivedAt, mergedInto, erasedAt and etag.',
);

const type = oneOfParameter('type', contactTypes, 'Contacts of this type.');

const email = queryParameter(
  'email',
  {
    description: 'Contacts with this address, ignoring case.',
    schema: { type: 'string', format: 'email', maxLength: longestEmailAddress },
    message: 'It is not an e-mail address.',
  },
  (value) => (value.length <= longestEmailAddress && isEmailAddress(value) ? value : undefined),
  null,
);

const search = searchParameter(
  'Contacts whose name, e-mail address or phone number contains each of these words, ignoring case.',
);

const updatedSince = timeParameter('updatedSince', 'Contacts changed at or after this time, earliest change first.');

const sortMessage = 'With updatedSince, the list is sorted by updatedAt: leave sort out.';
const sort = oneOfParameter(
  'sort',
  recordSorts,
  'Newest first, by name, or earliest change first. Defaults to updatedAt with updatedSince, otherwise to -createdAt.',
);

/** The parameters of the list of contacts, besides `cursor` and `limit`. */
export const listParameters = [archived, type, email, search, updatedSince, sort, expand];

function filterOf(c: Context): RecordFilter {
  const since = updatedSince.read(c);
  const order = sort.read(c);
  if (since !== null && order !== null && order !== 'updatedAt')
    throw invalid([{ in: 'query', path: 'sort', message: sortMessage }]);
  return {
    archived: archived.read(c) ?? 'false',
    type: type.read(c),
    email: email.read(c)?.toLowerCase() ?? null,
    words: search.read(c) ?? [],
    updatedSince: since,
    sort: order ?? (since === null ? '-createdAt' : 'updatedAt'),
  };
}

/** A contact as returned, with its position in the list: its sort key and id. */
export interface Listed extends Place {
  readonly shown: Contact;
}

/** Positions as bytes, and back. */
type Places = List<Listed, Place>['place'];

const byTime: Places = {
  write: ({ key, id }) => placeOf({ createdAt: key, id }),
  read(bytes) {
    const position = positionOf(bytes);
    return position && { key: position.createdAt, id: position.id };
  },
};

const idBytes = 16;

const byName: Places = {
  write: ({ key, id }) => Buffer.concat([uuidBytes(id), Buffer.from(key)]),
  read(bytes) {
    const key = bytes.toString('utf8', idBytes);
    // A key that PostgreSQL does not accept as text was not issued by this service.
    const isText = Buffer.from(key).equals(bytes.subarray(idBytes)) && !key.includes('\0');
    if (bytes.length < idBytes || !isText) return null;
    return { key, id: uuidAt(bytes, 0) };
  },
};

/** The contact with only the properties that the first operations have always returned. */
export const plain = (contact: Contact): Contact => {
  const { id, type: own, displayName, email: address, phone, createdAt, updatedAt } = contact;
  return { id, type: own, displayName, email: address, phone, createdAt, updatedAt };
};

/** Newest first, without archived contacts: the default list. */
const newest: List<Listed, Place> = {
  name: 'contacts',
  rows: (count, after) =>
    mappedQuestion(contactsPage(count, after && { createdAt: after.key, id: after.id }), (found) =>
      found.map((contact) => ({ key: contact.createdAt, id: contact.id, shown: contact })),
    ),
  place: byTime,
};

const keyOf = (sorted: RecordSort, { createdAt, updatedAt, place }: PlacedRecord): string =>
  ({ '-createdAt': createdAt, updatedAt, displayName: place })[sorted];

/** The requested list. Its cursors are valid only with the same filters and order. */
export function listOf(c: Context): List<Listed, Place> {
  const filter = filterOf(c);
  const isWhole = expand.read(c) !== null;
  const { words, sort: sorted, archived: which, ...others } = filter;
  const isFiltered = words.length > 0 || which !== 'false' || Object.values(others).some((value) => value !== null);
  const isAsEver = !isFiltered && sorted === '-createdAt';
  if (isAsEver && !isWhole) return newest;
  return {
    name: isAsEver
      ? newest.name
      : `${newest.name} ${JSON.stringify([{ ...filter, words: words.map((word) => word.toLowerCase()) }])}`,
    rows: (count, after) =>
      mapped(contactsThatFit(filter, count, after && { place: after.key, id: after.id }), (found) =>
        found.map((row) => {
          const { place: _, ...record } = row;
          return { key: keyOf(sorted, row), id: row.id, shown: isWhole ? record : plain(record) };
        }),
      ),
    place: sorted === 'displayName' ? byName : byTime,
  };
}
