/** The rules for names of documents. */

import { charactersIn } from '../domain/characters.ts';
import { lengths } from '../domain/lengths.ts';

// Characters that change the text direction can make a name appear to have another extension.
const misleading = /[/\\\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Returns the error of a name (in NFC), as a sentence for the person who gave it; null when it is valid. */
export function faultOfFilename(name: string): string | null {
  if (misleading.test(name)) return 'A name must not contain slashes or invisible characters. Rename the file.';
  if (/^\.|\.$/.test(name)) return 'A name must not begin or end with a dot. Rename the file.';
  const most = lengths.documents.filename;
  return charactersIn(name) > most ? `At most ${most} characters.` : null;
}
