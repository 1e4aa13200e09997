/**
 * Rules for the names of people and brokerages, which appear in mails, on consent pages and in other people's lists.
 */

import { charactersIn } from '../characters.ts';
import { lengths } from '../lengths.ts';

const controls = String.raw`\u0000-\u001f\u007f-\u009f`;
const directions = String.raw`\u202a-\u202e\u2066-\u2069`;

/** Marks of the direction of the text around them, which names in Arabic and Hebrew may have. */
const marks = String.raw`\u061c\u200e\u200f`;

const oneLine = new RegExp(`^[^${controls}]*$`);

/** Matches a name without characters that change the direction of writing, also of the text next to the name. */
export const keepsDirection = new RegExp(`^[^${directions}]*$`);

/** The text without the characters that change the direction of writing, also that of the sentence around it. */
export const withoutDirections = (text: string): string =>
  text.replaceAll(new RegExp(`[${directions}${marks}]`, 'g'), '');

/**
 * The fault of a trimmed name of a person or a brokerage, as a sentence for the person who entered it; null when there
 * is none.
 */
export function faultOfName(name: string): string | null {
  if (name === '') return 'Enter a name.';
  const most = lengths.users.name;
  if (charactersIn(name) > most) return `A name must have at most ${most} characters.`;
  if (!oneLine.test(name)) return 'A name must not contain line breaks.';
  if (!keepsDirection.test(name)) return 'A name must not contain characters that change the direction of writing.';
  return name.isWellFormed() ? null : 'A name must not contain characters that cannot be stored.';
}
