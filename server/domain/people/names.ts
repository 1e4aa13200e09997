/** What the names of people and brokerages have in common: they stand in mails, on consent pages and in other people's lists. */

import { charactersIn } from '../characters.ts';
import { lengths } from '../lengths.ts';

const controls = String.raw`\u0000-\u001f\u007f-\u009f`;
const directions = String.raw`\u202a-\u202e\u2066-\u2069`;

const oneLine = new RegExp(`^[^${controls}]*$`);

/** A name without signs that turn the direction of writing, and with it what stands beside the name. */
export const keepsDirection = new RegExp(`^[^${directions}]*$`);

/** A text without such signs. */
export const withoutDirections = (text: string): string => text.replaceAll(new RegExp(`[${directions}]`, 'g'), '');

/** What is wrong with the name of a person or a brokerage, without the space around it, as a sentence for whoever gave it; null: nothing is. */
export function faultOfName(name: string): string | null {
  if (name === '') return 'Enter a name.';
  const most = lengths.users.name;
  if (charactersIn(name) > most) return `A name must have at most ${most} characters.`;
  if (!oneLine.test(name)) return 'A name must not contain line breaks.';
  if (!keepsDirection.test(name)) return 'A name must not contain characters that change the direction of writing.';
  return name.isWellFormed() ? null : 'A name must not contain characters that cannot be stored.';
}
