/** Contacts as CSV: reading what a person exported elsewhere, fault by fault, and writing what opens anywhere. */

import { z } from 'zod';
import { contactTypes, type ContactInput, type ListedContact } from '../../domain/contacts/contacts.ts';
import { parseCsv, unreadable, type RowError } from './csv.ts';
import { inPortions } from './portions.ts';
import { readCell } from '../../csv.ts';
import { emailAddress, line, optional } from './input.ts';

/** The most rows of one import. */
const mostRows = 5000;
/** The most characters of a name or phone number: what fits the body of a REST request fits here. */
const longest = 65_536;

export const contactInput = {
  type: z.enum(contactTypes, { error: 'Choose person or company.' }),
  display_name: line(longest, 'Enter a name.'),
  email: optional(emailAddress),
  phone: optional(line(longest)),
};
const Row = z.object(contactInput);

const tooLong = 'At most 1,000 characters in a file: shorten it, or add this contact by hand.';

/** How columns are called elsewhere, in lower case without marks. */
const columns = new Map<string, keyof ContactInput>(
  Object.entries({
    type: 'type',
    kind: 'type',
    name: 'display_name',
    displayname: 'display_name',
    fullname: 'display_name',
    company: 'display_name',
    email: 'email',
    emailaddress: 'email',
    phone: 'phone',
    phonenumber: 'phone',
    telephone: 'phone',
    mobile: 'phone',
  }),
);

export interface ReadRow {
  /** Its row in the file, the heading being 1. */
  readonly row: number;
  readonly contact: ContactInput;
  /** The row before it with the same e-mail address. */
  readonly same_as: number | null;
}

/** The fields of a contact that a row has: empty cells are left out. */
function valuesOf(names: readonly (keyof ContactInput | undefined)[], cells: readonly string[]) {
  const given: Record<keyof ContactInput, string> = { type: 'person', display_name: '', email: '', phone: '' };
  names.forEach((name, column) => {
    const value = readCell((cells[column] ?? '').trim());
    if (name && value !== '') given[name] = name === 'type' ? value.toLowerCase() : value;
  });
  return given;
}

/** What the file holds: the rows that can be stored, and each fault of the others. Throws 400 when it is no such file. */
export async function readContactCsv(csv: string): Promise<{ rows: ReadRow[]; faults: RowError[]; count: number }> {
  const cut: { row: number; column: number }[] = [];
  const [heading = [], ...records] = await parseCsv(csv, (index, column) => cut.push({ row: index + 1, column }));
  const cutIn = Map.groupBy(cut, ({ row }) => row);
  const names = heading.map((name) => columns.get(name.toLowerCase().replaceAll(/[^a-z]/g, '')));
  if (!names.includes('display_name'))
    throw unreadable('The first line must name the columns: name, and if known type, email, phone.');
  // Counted before the empty ones are left out: the number is that of the row in a spreadsheet.
  const filled = records
    .map((cells, index) => ({ row: index + 2, cells }))
    .filter(({ cells }) => cells.some((value) => value.trim() !== ''));
  if (filled.length === 0) throw unreadable('There are no rows below the heading.');
  if (filled.length > mostRows)
    throw unreadable(`At most ${mostRows} rows at once; this file has ${filled.length}: split it.`);

  const rows: ReadRow[] = [];
  const faults: RowError[] = [];
  const rowOf = new Map<string, number>();
  for await (const { row, cells } of inPortions(filled)) {
    const shortened = new Set((cutIn.get(row) ?? []).flatMap(({ column }) => names[column] ?? []));
    for (const column of shortened) faults.push({ row, column, message: tooLong });
    const parsed = Row.safeParse(valuesOf(names, cells));
    if (parsed.success && shortened.size === 0) {
      const email = parsed.data.email?.toLowerCase();
      const same_as = email === undefined ? null : (rowOf.get(email) ?? null);
      if (email !== undefined && same_as === null) rowOf.set(email, row);
      rows.push({ row, contact: parsed.data, same_as });
    }
    for (const { path, message } of parsed.error?.issues ?? []) {
      // Of what was cut only that is said.
      if (shortened.has(path[0] as keyof ContactInput)) continue;
      faults.push({ row, column: path.length > 0 ? path.join('.') : null, message });
    }
  }
  return { rows, faults, count: filled.length };
}

/** The heading of a CSV file of contacts that {@link readContactCsv} reads again, and the cells of one. */
export const contactHeading: readonly string[] = ['type', 'name', 'email', 'phone', 'created'];
/** A contact as a row of the export. */
export const contactCells = ({ type, display_name, email, phone, created_at }: ListedContact) => [
  type,
  display_name,
  email,
  phone,
  created_at,
];
