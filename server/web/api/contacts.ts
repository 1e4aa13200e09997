/** The contacts of a brokerage: listing, changing, archiving, importing and exporting them. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { requestIdOf } from '../../http/request-id.ts';
import type { Services } from '../../services.ts';
import { searchWords, type Place } from '../../database/paging.ts';
import {
  addContact,
  archiveContact,
  archiveContacts,
  changeContact,
  contactList,
  contactSorts,
  contactWithId,
  eraseContact,
  importContacts,
  knownContacts,
  restoreContact,
} from '../../domain/contacts/contacts.ts';
import { contactRecord } from '../../domain/contacts/records.ts';
import { listMemberships } from '../../domain/people/people.ts';
import { boundedBytes } from '../../http/bounded-body.ts';
import { recordExport } from '../../domain/audit/audited.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson, withPerson } from '../../http/person.ts';
import { notAllowed, nothingThere, Problem, tooLarge } from '../../http/problem.ts';
import {
  contactCells,
  contactHeading,
  contactInput,
  contactText,
  faultWords,
  readContactCsv,
  writeLeftOut,
} from './contact-csv.ts';
import { csvExport } from './csv.ts';
import { listPages } from './list-pages.ts';
import { body, id, pageCursor, pageSize, pathId, query, searchText } from './input.ts';
import { orNotFound } from './problems.ts';

/** Maximum size of a file of contacts, in bytes and in words. The page states it, too. */
export const largestContactFile = { bytes: 2_097_152, words: '2 MB' } as const;
/** Maximum number of contacts that are archived or restored together. The page states it, too. */
export const mostContactsAtOnce = 1_000;

const List = z.object({
  brokerage_id: id,
  search: searchText,
  archived: z.enum(['true', 'false'], 'Send true or false.').default('false'),
  sort: z.enum(contactSorts, `Choose among ${contactSorts.join(', ')}.`).default('-created_at'),
  cursor: pageCursor,
  limit: pageSize,
});
const New = z.strictObject({ brokerage_id: id, ...contactInput });
const Change = z.strictObject(contactInput).partial();
const Archived = z.strictObject({
  brokerage_id: id,
  ids: z.array(id).min(1, 'Choose at least one.').max(mostContactsAtOnce, `Choose at most ${mostContactsAtOnce}.`),
  archived: z.boolean(),
});
const Brokerage = z.object({ brokerage_id: id });
const Import = z.object({
  brokerage_id: id,
  /** Whether rows with errors are left out; otherwise nothing is imported if there are any. */
  skip_faults: z.enum(['true', 'false'], 'Send true or false.').default('false'),
});
const Exported = List.pick({ brokerage_id: true, search: true, archived: true });

/** Throws 404 unless the person is a member of the brokerage, as if it did not exist. */
function checkMember(memberships: readonly { readonly brokerage_id: string }[], brokerageId: string): void {
  if (!memberships.some(({ brokerage_id }) => brokerage_id === brokerageId)) throw nothingThere();
}

/** The contact routes, below /api/web. */
export function contactRoutes(services: Services) {
  const pages = listPages(services);

  /**
   * Reads the file in the body and marks the contacts that the brokerage already has. Throws 404 unless the person is a
   * member, before the file is read.
   */
  const read = async (c: Context, brokerageId: string) => {
    const [before] = await asPerson(services, c, listMemberships());
    checkMember(before, brokerageId);
    const file = await boundedBytes(c, largestContactFile.bytes);
    if (file === null)
      throw tooLarge(
        `The file is larger than ${largestContactFile.words}. Only name, type, e-mail and phone are read: remove other columns, such as notes, or split it.`,
      );
    const contents = await readContactCsv(contactText(file));
    const { rows, faults, count, leftOut } = contents;
    const [memberships, known] = await asPerson(
      services,
      c,
      listMemberships(),
      knownContacts(
        brokerageId,
        rows.map(({ contact }) => contact),
      ),
    );
    checkMember(memberships, brokerageId);
    const byPlace = new Map(known.map((one) => [one.place, one]));
    const marked = rows.map((row, place) => ({
      ...row,
      duplicate_of: byPlace.get(place)?.id ?? null,
      /** Whether the contact that it duplicates is archived. */
      duplicate_archived: byPlace.get(place)?.archived ?? false,
    }));
    return { contents, rows: marked, faults, count, left_out: leftOut };
  };

  /** The rows that would not be imported, as a file with the reasons; null when there are none. */
  const leftOutOf = ({ contents, rows, faults }: Awaited<ReturnType<typeof read>>): string | null => {
    const reasons = new Map<number, string>();
    for (const { row, contact, duplicate_of, duplicate_archived, same_as } of rows)
      if (duplicate_of !== null)
        reasons.set(row, duplicate_archived ? 'Already in contacts, archived.' : 'Already in contacts.');
      else if (same_as !== null) reasons.set(row, `Same${contact.email === null ? '' : ' address'} as row ${same_as}.`);
    for (const fault of faults) {
      const before = reasons.get(fault.row);
      reasons.set(fault.row, `${before === undefined ? '' : `${before} `}${faultWords(fault)}`);
    }
    return reasons.size === 0 ? null : writeLeftOut(contents, reasons);
  };

  return (
    new Hono()
      .get('/contacts', query(List), async (c) => {
        const { brokerage_id, search, archived, sort, cursor, limit } = c.req.valid('query');
        const order = contactSorts.find((one) => one === sort) ?? '-created_at';
        const page = await pages(`contacts ${brokerage_id} ${order}`, cursor);
        const [person, found] = await withPerson(
          services,
          c,
          contactList(order, {
            brokerageId: brokerage_id,
            words: searchWords(search),
            archived: archived === 'true',
            after: page.after,
            limit,
          }),
        );
        return c.json(page.answer(person, found));
      })

      .post('/contacts', body(New), async (c) => {
        const { brokerage_id, ...contact } = c.req.valid('json');
        const [added] = await asPerson(services, c, addContact(brokerage_id, contact, originOf(c)));
        return c.json(orNotFound(added), 201);
      })

      .patch('/contacts/:id', body(Change), async (c) => {
        const given = c.req.valid('json');
        const [changed] = await asPerson(services, c, changeContact(pathId(c), given, originOf(c)));
        return c.json(orNotFound(changed));
      })

      .post('/contacts/archived', body(Archived), async (c) => {
        const { brokerage_id, ids, archived } = c.req.valid('json');
        const [memberships, , changed] = await asPerson(
          services,
          c,
          listMemberships(),
          ...archiveContacts(brokerage_id, ids, archived, originOf(c)),
        );
        checkMember(memberships, brokerage_id);
        return c.json({ ids: changed });
      })

      .post('/contacts/:id/archive', async (c) => {
        const [archived] = await asPerson(services, c, archiveContact(pathId(c), originOf(c)));
        return c.json(orNotFound(archived));
      })

      .post('/contacts/:id/restore', async (c) => {
        const [restored] = await asPerson(services, c, restoreContact(pathId(c), originOf(c)));
        return c.json(orNotFound(restored));
      })

      .post('/contacts/:id/erase', async (c) => {
        const [erased, seen] = await asPerson(
          services,
          c,
          eraseContact(pathId(c), originOf(c)),
          contactRecord(pathId(c), true),
        );
        if (!erased) throw seen === null ? nothingThere() : notAllowed();
        // After restoring an older backup, the operator erases the contact again by this id.
        services.log.info({ contact: pathId(c), requestId: requestIdOf(c) }, 'erased a contact');
        return c.body(null, 204);
      })

      .post('/contacts/import/preview', query(Brokerage), async (c) => {
        const file = await read(c, c.req.valid('query').brokerage_id);
        const { rows, faults, count, left_out } = file;
        return c.json({
          row_count: count,
          rows,
          faults,
          left_out,
          imported: 0,
          /** The row that names the columns; what is above it is ignored. */
          heading_row: file.contents.headingRow,
          rows_left_out: leftOutOf(file),
        });
      })

      .post('/contacts/import', query(Import), async (c) => {
        const { brokerage_id, skip_faults } = c.req.valid('query');
        const { rows, faults, count, left_out } = await read(c, brokerage_id);
        if (faults.length > 0 && skip_faults === 'false')
          throw new Problem(
            409,
            'faults_in_file',
            'Nothing was imported: fix the rows with errors, or remove them from the file.',
          );
        const fresh = rows
          .filter(({ duplicate_of, same_as }) => duplicate_of === null && same_as === null)
          .map(({ contact }) => contact);
        const [, imported] = await asPerson(services, c, ...importContacts(brokerage_id, fresh, originOf(c)));
        return c.json({ row_count: count, rows, faults, left_out, imported });
      })

      .get('/contacts/export', query(Exported), async (c) => {
        const { brokerage_id, search, archived } = c.req.valid('query');
        // Each portion authenticates the reader again, so that the export ends with their session or membership.
        const portion = async (after: Place | null, limit: number) => {
          const [memberships, found] = await asPerson(
            services,
            c,
            listMemberships(),
            contactList('display_name', {
              brokerageId: brokerage_id,
              words: searchWords(search),
              archived: archived === 'true',
              after,
              limit,
            }),
            ...(after === null ? [recordExport('contact.export', brokerage_id, {}, originOf(c))] : []),
          );
          checkMember(memberships, brokerage_id);
          return found;
        };
        return csvExport(c, { name: 'contacts', heading: contactHeading, cells: contactCells, read: portion });
      })

      // After the path of the export, which would be taken for an id.
      .get('/contacts/:id', async (c) => {
        const [contact] = await asPerson(services, c, contactWithId(pathId(c)));
        return c.json(orNotFound(contact));
      })
  );
}
