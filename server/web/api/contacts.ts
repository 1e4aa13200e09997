/** The contacts of a brokerage: listed, changed, archived, imported and exported. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import {
  addContact,
  archiveContact,
  changeContact,
  contactList,
  contactsForExport,
  contactSorts,
  contactsWithEmails,
  importContacts,
  restoreContact,
} from '../../domain/contacts/contacts.ts';
import { listMemberships } from '../../domain/people/people.ts';
import { boundedText } from '../../http/bounded-body.ts';
import { contactCsv, contactInput, readContactCsv } from './contact-csv.ts';
import { csvHeaders } from './csv.ts';
import { deploymentCursors } from './cursor.ts';
import { id, pageSize, pathId, readBody, readQuery, searchWords } from './input.ts';
import { asPerson, originOf, withPerson } from './person.ts';
import { nothingThere, Problem } from './problems.ts';

const largestFile = 2_097_152;

const List = z.object({
  brokerage_id: id,
  search: z.string().max(200, 'At most 200 characters.').default(''),
  archived: z.enum(['true', 'false'], 'Say true or false.').default('false'),
  sort: z
    .enum(contactSorts as [string, ...string[]], `Choose among ${contactSorts.join(', ')}.`)
    .default('-created_at'),
  cursor: z.string().max(2000).optional(),
  limit: pageSize,
});
const New = z.strictObject({ brokerage_id: id, ...contactInput });
const Change = z.strictObject(contactInput).partial();
const Brokerage = z.object({ brokerage_id: id });

export function contactRoutes(services: Services): Hono {
  const app = new Hono();
  const cursors = deploymentCursors(services);

  app.get('/contacts', async (c) => {
    const { brokerage_id, search, archived, sort, cursor, limit } = readQuery(c, List);
    const { seal, unseal } = await cursors();
    const place = cursor === undefined ? null : unseal(cursor);
    const order = contactSorts.find((one) => one === sort) ?? '-created_at';
    const [person, found] = await withPerson(
      services,
      c,
      contactList(order, {
        brokerageId: brokerage_id,
        words: searchWords(search),
        archived: archived === 'true',
        after: place?.place ?? null,
        limit,
      }),
    );
    const list = `contacts ${brokerage_id} ${order}`;
    place?.check(list, person.user_id);
    return c.json({ items: found.items, next_cursor: found.next && seal(list, person.user_id, found.next) });
  });

  app.post('/contacts', async (c) => {
    const { brokerage_id, ...contact } = await readBody(c, New);
    const [added] = await asPerson(services, c, addContact(brokerage_id, contact, originOf(c)));
    return c.json(added, 201);
  });

  app.patch('/contacts/:id', async (c) => {
    const given = await readBody(c, Change);
    const [changed] = await asPerson(services, c, changeContact(pathId(c), given, originOf(c)));
    if (!changed) throw nothingThere();
    return c.json(changed);
  });

  app.post('/contacts/:id/archive', async (c) => {
    const [archived] = await asPerson(services, c, archiveContact(pathId(c), originOf(c)));
    if (!archived) throw nothingThere();
    return c.json(archived);
  });

  app.post('/contacts/:id/restore', async (c) => {
    const [restored] = await asPerson(services, c, restoreContact(pathId(c), originOf(c)));
    if (!restored) throw nothingThere();
    return c.json(restored);
  });

  /** What the file in the body holds, with what the brokerage has already. */
  const read = async (c: Context) => {
    const { brokerage_id } = readQuery(c, Brokerage);
    const body = await boundedText(c, largestFile);
    if (body === 'too_large') throw new Problem(413, 'validation_error', 'The file is larger than 2 MB: split it.');
    if (body === 'not_text') throw new Problem(400, 'validation_error', 'Save the file as CSV in UTF-8 and try again.');
    const { rows, faults, count } = await readContactCsv(body.text);
    const emails = rows.flatMap(({ contact }) => (contact.email === null ? [] : [contact.email.toLowerCase()]));
    const [memberships, known] = await asPerson(
      services,
      c,
      listMemberships(),
      contactsWithEmails(brokerage_id, emails),
    );
    if (!memberships.some((membership) => membership.brokerage_id === brokerage_id)) throw nothingThere();
    const byEmail = new Map(known.map((contact) => [contact.email, contact.id]));
    const marked = rows.map(({ contact, ...rest }) => ({
      ...rest,
      contact,
      duplicate_of: contact.email === null ? null : (byEmail.get(contact.email.toLowerCase()) ?? null),
    }));
    return { brokerageId: brokerage_id, rows: marked, faults, count };
  };

  app.post('/contacts/import/preview', async (c) => {
    const { rows, faults, count } = await read(c);
    return c.json({ row_count: count, rows, faults, imported: 0 });
  });

  app.post('/contacts/import', async (c) => {
    const { brokerageId, rows, faults, count } = await read(c);
    if (faults.length > 0)
      throw new Problem(
        409,
        'faults_in_file',
        'Nothing was imported: mend the rows with faults, or take them out of the file.',
      );
    const fresh = rows
      .filter(({ duplicate_of, same_as }) => duplicate_of === null && same_as === null)
      .map(({ contact }) => contact);
    const [imported] = await asPerson(services, c, importContacts(brokerageId, fresh, originOf(c)));
    return c.json({ row_count: count, rows, faults, imported });
  });

  app.get('/contacts/export', async (c) => {
    const { brokerage_id } = readQuery(c, Brokerage);
    const [memberships, contacts] = await asPerson(services, c, listMemberships(), contactsForExport(brokerage_id));
    if (!memberships.some((membership) => membership.brokerage_id === brokerage_id)) throw nothingThere();
    return c.body(contactCsv(contacts), 200, csvHeaders('contacts'));
  });
  return app;
}
