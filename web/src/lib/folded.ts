/** Text as searches compare it, like `app.folded` of the database. */

const marks =
  /[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u061C\u0640\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED\u00AD\u200B-\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/gu;
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
  '׳': "'",
  '״': '"',
};

/** Text in lower case, without accents and vowel points, with plain quotation marks. */
export const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replace(marks, '')
    .toLowerCase()
    .replace(/[ßæœøłđıς’‘ʼ“”׳״]/gu, (letter) => letters[letter] ?? letter);

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
