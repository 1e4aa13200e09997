/** Reading the people that are pasted to be invited. */

export interface TypedPerson {
  name: string;
  email: string;
}

const address = /[^\s<>,;:"()[\]]+@[^\s<>,;:"()[\]]+/g;

const tidied = (text: string): string => text.replaceAll(/[\s"<>()]+/g, ' ').replaceAll(/^[\s,]+|[\s,]+$/g, '');

/** A name for somebody who was given by the address alone: "Ann Lee" for ann.lee@example.com. */
function nameIn(email: string): string {
  const [local = email] = email.split(/[@+]/);
  const words = local.split(/[._-]+/).filter(Boolean);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ') || email;
}

/**
 * Returns the people in a text that was typed, or pasted from a mail or a spreadsheet: addresses with or without names,
 * on lines or between commas and semicolons, each address once; and the lines without an address.
 */
export function readPeople(text: string): { people: TypedPerson[]; unread: string[] } {
  const people = new Map<string, TypedPerson>();
  const unread: string[] = [];
  for (const line of text.split(/[\n;]/)) {
    const found = [...line.matchAll(address)];
    if (found.length === 0 && line.trim() !== '') unread.push(line.trim());
    let end = 0;
    for (const { 0: email, index } of found) {
      const before = tidied(line.slice(end, index));
      end = index + email.length;
      const after = found.length === 1 ? tidied(line.slice(end)) : '';
      if (!people.has(email.toLowerCase()))
        people.set(email.toLowerCase(), { name: before || after || nameIn(email), email });
    }
  }
  return { people: [...people.values()], unread };
}

/** Writes people so that {@link readPeople} reads them. */
export const writePeople = (people: readonly TypedPerson[]): string =>
  people.map(({ name, email }) => `${name} <${email}>`).join('\n');
