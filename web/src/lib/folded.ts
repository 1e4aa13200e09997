/** Text as searches compare it, like `app.folded` of the database. */

const marks = /[\u0300-\u036F\u00AD\u200B-\u200D\u2060\uFEFF]/gu;
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
  ς: 'σ',
  '’': "'",
  '‘': "'",
  ʼ: "'",
  '“': '"',
  '”': '"',
};

/** Text in lower case, without accents, with plain quotation marks. */
export const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replace(marks, '')
    .toLowerCase()
    .replace(/[ßæœøłđıς’‘ʼ“”]/gu, (letter) => letters[letter] ?? letter);

/** The words of a label, folded, as searches look for them. */
export const wordsOfLabel = (label: string): string[] =>
  folded(label)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** The words of a search, folded, without the punctuation around them. */
export const wordsOfSearch = (search: string): string[] =>
  folded(search)
    .split(/\s+/u)
    .map((word) => word.replace(/^[,;."()]+|[,;."()]+$/gu, '') || word)
    .filter(Boolean);
