/**
 * Contacts as CSV: reads files that were exported from other programs and reports each error, and writes files that any
 * program opens.
 */

import { z } from 'zod';
import { contactTypes, type ContactInput, type ListedContact } from '../../domain/contacts/contacts.ts';
import {
  beyond,
  csvText,
  headingsAt,
  isBeyond,
  isFilled,
  isWorkbook,
  parseCsv,
  unreadable,
  writeCsv,
  type RowError,
} from './csv.ts';
import { headingIn, meaningsOf, type Column, type Field } from './contact-headings.ts';
import { inPortions } from './portions.ts';
import { readCell } from '../../lib/csv.ts';
import { isEmailAddress } from '../../lib/email-address.ts';
import { emailAddress, line, optional } from './input.ts';

/** Maximum number of rows in one import. The page states it, too. */
export const mostContactRows = 5_000;
/** Maximum characters of a name or phone number, enough for any that fits the body of a REST request. */
const longest = 65_536;

export const contactInput = {
  type: z.enum(contactTypes, { error: 'Choose person or company.' }),
  display_name: line(longest, 'Enter a name.'),
  email: optional(emailAddress),
  phone: optional(line(longest)),
};
const Row = z.object(contactInput);

const tooLong = 'A cell can have at most 1,000 characters: shorten it, or add this contact by hand.';

/** What other programs call the two types. Their other types, such as "Buyer", say nothing about this. */
const typeWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    person: ['person', 'individual', 'privatperson'],
    company: ['company', 'organization', 'organisation', 'business', 'firm', 'firma', 'unternehmen'],
  }).flatMap(([type, words]) => words.map((word) => [word, type] as const)),
);

/** What people write into a cell for an address or a number that they do not have. */
const nothing = /^(?:[^\p{L}\p{N}]*|n\/?a|n\.a\.|#n\/a|none|null|nil|unknown)$/iu;

/** The text of a cell in a column with this meaning; empty when the cell says that there is none. */
function textOf(meaning: Column | undefined, cell = ''): string {
  const text = readCell(cell.trim());
  return (meaning === 'email' || meaning === 'phone') && nothing.test(text) ? '' : text;
}

/** The e-mail addresses in a part of a cell: one alone or in angle brackets after a name, or several between spaces. */
function addressesIn(part: string): string[] {
  const bare = (/<([^<>]*)>$/.exec(part)?.[1] ?? part).replace(/^mailto:/i, '').trim();
  const words = isEmailAddress(bare) ? [bare] : bare.split(/\s+/);
  return words.every(isEmailAddress) ? words : [];
}

/**
 * The first of several addresses or phone numbers in a cell, as address books write them, and whether there are more.
 * The cell itself when it has no valid address, or is one.
 */
function firstIn(field: 'email' | 'phone', cell: string): { first: string; more: boolean } {
  if (field === 'phone') {
    const [first = '', ...others] = cell.split(/\s:::\s/).map((part) => part.trim());
    return { first, more: others.length > 0 };
  }
  const parts = isEmailAddress(cell) ? [cell] : cell.split(/[;,|\r\n]|:::|\s\/\s/).filter((part) => part.trim() !== '');
  const [first = cell, ...others] = parts.flatMap((part) => addressesIn(part.trim()));
  return { first, more: first !== cell && (parts.length > 1 || others.length > 0) };
}

/** An error in a row, with what a person recognizes it by: the name, and the value of the cell. */
interface ContactError extends RowError {
  readonly name: string;
  readonly value: string;
}

interface ReadRow {
  /** The row number in the file, whose first line is row 1. */
  readonly row: number;
  readonly contact: ContactInput;
  /** The earlier row with the same e-mail address, or of those without one with the same type, name and phone number. */
  readonly same_as: number | null;
}

/**
 * The cells of a row that hold each field of its contact; of several columns with one meaning, the first non-empty one.
 */
function placesOf(meanings: readonly (Column | undefined)[], cells: readonly string[]): Record<Field, number[]> {
  const filled = (column: Column): number[] => {
    const place = meanings.findIndex((one, index) => one === column && textOf(one, cells[index]) !== '');
    return place === -1 ? [] : [place];
  };
  const name = [filled('display_name'), [...filled('first_name'), ...filled('last_name')], filled('company')];
  return {
    type: filled('type'),
    display_name: name.find((places) => places.length > 0) ?? [],
    email: filled('email'),
    phone: filled('phone'),
  };
}

/** The fields of the contact. A contact without a known type and with only the name of a company is a company. */
function valuesOf(
  meanings: readonly (Column | undefined)[],
  places: Record<Field, number[]>,
  cells: readonly string[],
): Record<Field, string> {
  const text = (field: Field) => places[field].map((place) => textOf(meanings[place], cells[place])).join(' ');
  const isCompany = places.display_name.some((place) => meanings[place] === 'company');
  return {
    type: typeWords.get(text('type').toLowerCase()) ?? (isCompany ? 'company' : 'person'),
    display_name: text('display_name'),
    email: text('email'),
    phone: text('phone'),
  };
}

/** What a phone number is compared by: its digits, or where there are none from 0 to 9, all of it. */
const numberIn = (phone: string): string => phone.replace(/[^0-9]/g, '') || phone.toLowerCase();

/** What a name is compared by; normalizing takes time that grows with the square of the number of marks. */
const nameIn = (name: string): string => (name.length <= 200 ? name.normalize() : name).toLowerCase();

/** What two rows for one contact have in common (`app.known_contacts` compares in the same way). */
const whoIs = ({ type, display_name, email, phone }: ContactInput): string =>
  email?.toLowerCase() ?? JSON.stringify([type, nameIn(display_name), numberIn(phone ?? '')]);

const tooMany = beyond('put quotation marks around a cell that contains a comma or semicolon.');

interface ContactFile {
  readonly rows: ReadRow[];
  readonly faults: ContactError[];
  readonly count: number;
  /** The headings of columns that contain ignored cells. */
  readonly leftOut: string[];
  /** The heading and its row number, and the rows as they are in the file, by row number. */
  readonly heading: readonly string[];
  readonly headingRow: number;
  readonly cells: ReadonlyMap<number, readonly string[]>;
}

/** The beginning of a text, to be recognized by. */
const beginning = (text: string): string => text.slice(0, 100).toWellFormed();

/** The text of an uploaded file of contacts. Throws 400 when it is not a text. */
export function contactText(file: Uint8Array): string {
  if (isWorkbook(file))
    throw unreadable(
      'This is a workbook. Save it as CSV, in Excel with “Save as” and “CSV UTF-8”, and choose that file.',
    );
  return csvText(file, 'Save the file as CSV in UTF-8 and try again.');
}

/**
 * Reads the file: returns the rows that can be stored, and every error of the other rows. Throws 400 when it is not
 * such a file.
 */
export async function readContactCsv(csv: string): Promise<ContactFile> {
  const cut: { row: number; column: number; whole: string }[] = [];
  const records = await parseCsv(csv, {
    cut: (index, column, whole) => cut.push({ row: index + 1, column, whole }),
    mostRows: mostContactRows,
  });
  const cutIn = Map.groupBy(cut, ({ row }) => row);
  const headingAt = headingIn(records);
  const heading = records[headingAt] ?? [];
  const meanings = meaningsOf(heading);
  // Rows are numbered as in the spreadsheet, before empty ones are left out.
  const filled = records
    .map((cells, index) => ({ row: index + 1, cells }))
    .filter(({ row, cells }) => row > headingAt + 1 && cells.some(isFilled));
  if (filled.length === 0) throw unreadable('There are no rows below the heading.');
  if (filled.length > mostContactRows)
    throw unreadable(`This file has ${filled.length} rows; the limit is ${mostContactRows}: split it.`);

  const rows: ReadRow[] = [];
  const faults: ContactError[] = [];
  const unread = new Set<number>();
  const shared = new Set<number>();
  const untyped = new Set<number>();
  const rowOf = new Map<string, number>();
  for await (const { row, cells } of inPortions(filled)) {
    if (isBeyond(heading, cells)) {
      faults.push({
        row,
        column: null,
        message: tooMany,
        name: beginning(cells.map((cell) => cell.trim()).join(', ')),
        value: '',
      });
      continue;
    }
    const places = placesOf(meanings, cells);
    const read = new Set(Object.values(places).flat());
    for (const [place, cell] of cells.entries())
      if (textOf(meanings[place], cell) !== '' && !read.has(place)) unread.add(place);
    for (const place of places.type) if (!typeWords.has(textOf('type', cells[place]).toLowerCase())) untyped.add(place);
    const values = valuesOf(meanings, places, cells);
    const fault = (column: Field, message: string): ContactError => ({
      row,
      column,
      message,
      name: beginning(values.display_name),
      value: column === 'display_name' ? '' : beginning(values[column]),
    });
    const cutPlaces = new Set(cutIn.get(row)?.map(({ column }) => column));
    const fields = Object.keys(places) as Field[];
    const shortened = new Set(fields.filter((field) => places[field].some((place) => cutPlaces.has(place))));
    for (const column of shortened) faults.push(fault(column, tooLong));
    for (const field of ['email', 'phone'] as const) {
      const { first, more } = firstIn(field, values[field]);
      values[field] = first;
      if (more) for (const place of places[field]) shared.add(place);
    }
    const parsed = Row.safeParse(values);
    if (parsed.success && shortened.size === 0) {
      const who = whoIs(parsed.data);
      const same_as = rowOf.get(who) ?? null;
      if (same_as === null) rowOf.set(who, row);
      rows.push({ row, contact: parsed.data, same_as });
    }
    for (const { path, message } of parsed.error?.issues ?? []) {
      // For a cell that was cut, only its length is reported.
      const column = path[0] as Field;
      if (!shortened.has(column)) faults.push(fault(column, message));
    }
  }
  const named = heading.map((name, place) =>
    meanings[place] === 'company' ? `${name} (where there is a name)` : name,
  );
  const leftOut = [
    ...headingsAt(named, unread),
    ...headingsAt(heading, untyped).map((name) => `${name} (where it is neither person nor company)`),
    ...headingsAt(heading, shared).map((name) => `${name} (all but the first)`),
  ];
  const whole = new Map(filled.map(({ row, cells }) => [row, cells]));
  for (const { row, column, whole: text } of cut) whole.get(row)?.splice(column, 1, text);
  return { rows, faults, count: filled.length, leftOut, heading, headingRow: headingAt + 1, cells: whole };
}

/** The columns that {@link writeLeftOut} adds to a file. */
const added: readonly string[] = ['Row', 'Why it was left out'];
const columnNames: Record<string, string> = { type: 'Type', display_name: 'Name', email: 'E-mail', phone: 'Phone' };

/** A sentence for an error in a row, where its column is not shown beside it. */
export const faultWords = ({ column, message }: RowError): string =>
  column === null ? message : `${columnNames[column] ?? column}: ${message}`;

/**
 * The rows of a file that were left out, as a file that can be corrected and imported: each as it was, after its number
 * and the reason. `reasons`: by row number.
 */
export function writeLeftOut(
  { heading, cells }: Pick<ContactFile, 'heading' | 'cells'>,
  reasons: ReadonlyMap<number, string>,
): string {
  // If the file is such a file itself, its numbers and reasons are replaced.
  const old = added.every((name, place) => heading[place]?.trim() === name) ? added.length : 0;
  const kept = (all: readonly string[]) => all.slice(old).map(readCell);
  return writeCsv(
    [...added, ...kept(heading)],
    [...reasons]
      .toSorted(([one], [other]) => one - other)
      .map(([row, reason]) => [`${row}`, reason, ...kept(cells.get(row) ?? [])]),
  );
}

/** The heading of a CSV file of contacts, which {@link readContactCsv} can read. */
export const contactHeading: readonly string[] = ['type', 'name', 'email', 'phone', 'created'];
/** A contact as a row of the export. */
export const contactCells = ({ type, display_name, email, phone, created_at }: ListedContact) => [
  type,
  display_name,
  email,
  phone,
  created_at,
];
