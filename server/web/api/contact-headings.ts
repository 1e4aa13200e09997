/** Finds the heading of a file of contacts, and what each of its columns means. */

import type { ContactInput } from '../../domain/contacts/contacts.ts';
import { columnsNamed, headingName, isFilled, unreadable } from './csv.ts';

export type Field = keyof ContactInput;
/** The meaning of a column: a field, or a part of the name. */
export type Column = Field | 'company' | 'first_name' | 'last_name';

/**
 * The headings that other programs and people use, in lower case, letters only, without accents. A column `contact` has
 * names, or says whether somebody is one.
 */
const names: Record<Column | 'contact', string[]> = {
  type: ['type', 'kind', 'typ', 'art'],
  display_name: ['name', 'displayname', 'fullname', 'vollstandigername', 'anzeigename'],
  contact: ['contact', 'ansprechpartner'],
  // "Account Name" is from Salesforce and Zoho, "Associated Company" from HubSpot.
  company: [
    'company',
    'companyname',
    'organization',
    'organizationname',
    'organisation',
    'organisationname',
    'accountname',
    'associatedcompany',
    'businessname',
    'firma',
    'firmenname',
    'unternehmen',
  ],
  first_name: ['firstname', 'first', 'givenname', 'forename', 'vorname'],
  last_name: ['lastname', 'last', 'familyname', 'surname', 'nachname', 'familienname'],
  // "E-mail 1 - Value" and "Phone 1 - Value" are from Google, "E-mail Address" and "Business Phone" from Outlook,
  // "Person - Email - Work" and "Person - Phone - Work" from Pipedrive.
  email: [
    'email',
    'emails',
    'mail',
    'emailaddress',
    'emailvalue',
    'primaryemail',
    'workemail',
    'emailwork',
    'emailhome',
    'emailother',
    'emailadresse',
    'mailadresse',
  ],
  phone: [
    'phone',
    'phonenumber',
    'phonevalue',
    'telephone',
    'tel',
    'businessphone',
    'workphone',
    'officephone',
    'directphone',
    'mobile',
    'mobilephone',
    'mobilephonenumber',
    'mobilenumber',
    'cell',
    'cellphone',
    'primaryphone',
    'homephone',
    'phonework',
    'phonemobile',
    'phonehome',
    'phoneother',
    'telefon',
    'telefonnummer',
    'telefongeschaftlich',
    'telefonprivat',
    'handy',
    'handynummer',
    'mobil',
    'mobiltelefon',
  ],
};

const known = columnsNamed(names);

/** Whose name or address a heading says that it is: "Person - Name", "Contact Name", "Buyer 2 Email". */
const owner = /^(?:person|contact|buyer|seller|client|customer|lead|prospect|investor|kontakt)\d*/;

/** The meaning of a heading, and whose it is where the heading says so. */
function columnNamed(heading: string): { column: Column | 'contact' | undefined; whose: string } {
  const letters = heading
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
  const column = known(letters);
  if (column !== undefined) return { column, whose: '' };
  const [whose = ''] = owner.exec(letters) ?? [];
  return { column: known(letters.slice(whose.length)), whose };
}

const nameColumns: readonly unknown[] = ['display_name', 'first_name', 'last_name'] satisfies Column[];

/**
 * The meaning of each column. Columns that say whose they are have none if they are of several people, as of a seller
 * and a buyer, or stand beside the name of somebody else: a row could get the name of one and the address of another.
 */
export function meaningsOf(heading: readonly string[]): (Column | undefined)[] {
  const columns = heading.map(columnNamed);
  const hasNames = columns.some(({ column }) => column === 'first_name' || column === 'last_name');
  const meanings = columns.map(({ column, whose }) => ({
    column: column !== 'contact' ? column : hasNames ? undefined : ('display_name' as const),
    whose,
  }));
  const named = new Set(meanings.filter(({ column }) => nameColumns.includes(column)).map(({ whose }) => whose));
  const owned = meanings.filter(({ column, whose }) => whose !== '' && column !== undefined && column !== 'type');
  const isUnclear = named.size > 1 || new Set(owned.map(({ whose }) => whose)).size > 1;
  return meanings.map(({ column, whose }) => (whose !== '' && isUnclear ? undefined : column));
}

/** Lines above the heading, such as a title, are skipped up to this number. */
const mostTitles = 30;

const filledIn = (cells: readonly string[]): number => cells.filter(isFilled).length;

/**
 * The index of the row that names the columns: the first that has a name among them. Rows above it must be shorter, as
 * titles are, and it then names two columns or more: one such word may be somebody's name. Throws 400, with the
 * headings that were found, when there is none.
 */
export function headingIn(rows: readonly (readonly string[])[]): number {
  const first = rows.slice(0, mostTitles);
  const isHeading = (cells: readonly string[], index: number) => {
    const meanings = meaningsOf(cells).filter((meaning) => meaning !== undefined);
    const above = first.slice(0, index).map(filledIn);
    return (
      meanings.some((meaning) => meaning === 'company' || nameColumns.includes(meaning)) &&
      !cells.some((cell) => cell.includes('@')) &&
      (Math.max(0, ...above) === 0 || (meanings.length > 1 && above.every((count) => count < filledIn(cells))))
    );
  };
  const index = first.findIndex(isHeading);
  if (index !== -1) return index;
  const advice =
    'Call one “Name” (or two of them “First name” and “Last name”, or one “Company”), and if you have them others “Email”, “Phone” and “Type”.';
  const found = (first.find((cells) => filledIn(cells) > 1) ?? first[0] ?? []).filter(isFilled);
  if (found.length === 0) throw unreadable(`The first line must name the columns. ${advice}`);
  const quoted = found.slice(0, 20).map((name) => `“${headingName(name)}”`);
  throw unreadable(
    `The first line must name the columns, and none of these is known to be a name: ${quoted.join(', ')}${found.length > quoted.length ? ' …' : ''}. ${advice}`,
  );
}
