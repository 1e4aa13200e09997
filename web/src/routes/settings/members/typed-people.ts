/** Reading the people that are pasted to be invited. */

export interface TypedPerson {
  name: string;
  email: string;
}

const address = /[^\s<>,;:"()[\]]+@[^\s<>,;:"()[\]]*[^\s<>,;:"()[\].]/g;

/** The punctuation of other scripts that separates people, and its counterpart in ASCII. */
const marks: Readonly<Record<string, string>> = {
  '，': ',',
  '、': ',',
  '،': ',',
  '；': ';',
  '؛': ';',
  '＜': '<',
  '＞': '>',
  '＠': '@',
};

/** The name in a text beside an address, without marks of a list; empty when there is none. */
function tidied(text: string): string {
  const words = text.replaceAll(/[\s"<>()]+/g, ' ').replaceAll(/^[\s,.]+|[\s,]+$/g, '');
  const name = words.replace(/^(?:\d+[.)]|[-–—*•])\s+/, '');
  return /\p{L}/u.test(name) ? name : '';
}

/** The parts of a text between commas, which names in quotation marks may contain. */
const partsOf = (text: string): string[] => text.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/);

/** The name of an address in a line, which has `texts` between its addresses: `place` is before it. */
function nameAt(texts: readonly string[], place: number): string {
  const [before = '', after = ''] = texts.slice(place);
  const isLast = place === texts.length - 2;
  if (place === 0 && isLast) return tidied(before) || tidied(after);
  const namesFirst = tidied(texts[0] ?? '') !== '';
  const [parts, next] = [partsOf(before), partsOf(after)];
  // What follows an address before the comma is about that one.
  const own = place === 0 || (namesFirst && parts.length === 1) ? parts : parts.slice(1);
  const isOwn = namesFirst || tidied(own.at(-1) ?? '') !== '';
  return (isOwn && tidied(own.join(','))) || (next.length > 1 || isLast ? tidied(next[0] ?? '') : '');
}

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
  const plain = text.replaceAll(/[，、،；؛＜＞＠]/g, (mark) => marks[mark] ?? mark).replaceAll(/mailto:/gi, ' ');
  for (const line of plain.split(/[\n;]/)) {
    const found = line.match(address) ?? [];
    if (found.length === 0 && line.trim() !== '') unread.push(line.trim());
    const texts = line.split(address);
    for (const [place, email] of found.entries())
      if (!people.has(email.toLowerCase()))
        people.set(email.toLowerCase(), { name: nameAt(texts, place) || nameIn(email), email });
  }
  return { people: [...people.values()], unread };
}

/** Writes people so that {@link readPeople} reads them. */
export const writePeople = (people: readonly TypedPerson[]): string =>
  people.map(({ name, email }) => `${name} <${email}>`).join('\n');
