/** The rules for names of documents. */

import { charactersIn } from '../domain/characters.ts';
import { lengths } from '../domain/lengths.ts';

// Characters that reverse the text after them can make a name appear to have another extension.
const misleading = /[/\\\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/**
 * What has no width and says nothing, such as the marks of direction that Hebrew and Arabic systems put into names. The
 * zero-width joiner and non-joiner stay: emoji and Persian words are made with them.
 */
const unseen = /[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]/gu;

/** The name of a file as it is stored: in NFC, without what has no width, and trimmed. */
export const filenameFrom = (given: string): string => given.replaceAll(unseen, '').trim().normalize('NFC');

/** Returns the error of a name that is to be stored, as a sentence for the person who gave it; null when it is valid. */
export function faultOfFilename(name: string): string | null {
  if (name === '') return 'Enter a name.';
  if (misleading.test(name)) return 'A name must not contain slashes or invisible characters. Rename the file.';
  if (/^\.|\.$/.test(name)) return 'A name must not begin or end with a dot. Rename the file.';
  const most = lengths.documents.filename;
  return charactersIn(name) > most ? `At most ${most} characters.` : null;
}
