/** Wording shared by the sentences of contradictions. */

import { withoutDirections } from '../../people/names.ts';
import type { BookedPeriod } from '../books.ts';
import { monthOf } from '../calendar.ts';
import { absolute, isNegative, spoken, type Decimal } from '../decimals.ts';
import { isMonthRow } from '../earnings.ts';
import { lineWords, type PlAmount } from '../snapshots.ts';

/** "a", "a and b", "a, b and c", "a, b, c and 4 more". */
export function listed(names: readonly string[], most = 6): string {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** A line's name within a sentence: "owner compensation", "EBITDA". */
export const lineNameOf = (line: PlAmount): string =>
  line === 'ebitda' ? lineWords.ebitda : lineWords[line].toLowerCase();

/**
 * A person's text within a sentence: in quotation marks, without any inside or line breaks, so that it cannot be
 * mistaken for the service's own words.
 */
export const quoted = (text: string): string =>
  `“${withoutDirections(text)
    .replaceAll(/["“”„‟«»]/g, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()}”`;

const months =
  'Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?|Sep(tember)?|Oct(ober)?|Nov(ember)?|Dec(ember)?';

/** Labels that can only be periods, in the service's formats and common ones. */
const plainLabels: readonly RegExp[] = [
  // "FY2025", "CY2025", "2025", "FY2025 (to 2025-06)", "2026, 7 months"
  /^((FY|CY) ?)?\d{4}( \(to \d{4}-\d\d\))?(, \d{1,2} months?)?$/i,
  /^(TTM|LTM)(, \d{1,2} months?)?$/i,
  /^Q[1-4] \d{4}$/i,
  // "2025-01", "2025-01-01 to 2025-01-15"
  /^\d{4}-\d\d(-\d\d to \d{4}-\d\d-\d\d)?$/,
  new RegExp(`^(${months}) \\d{4}$`, 'i'),
];

/**
 * A label within a sentence: unchanged where it can only be a period, otherwise {@link quoted}, since it is text from
 * whoever uploaded the books.
 */
export const labelInWords = (label: string): string =>
  plainLabels.some((plain) => plain.test(label)) ? label : quoted(label);

/** The name of a period in a sentence. */
export const labelOf = (row: BookedPeriod): string => (isMonthRow(row) ? monthOf(row.first) : labelInWords(row.label));

/** A difference in a sentence: "1,250.50 less". */
export const sayDifference = (difference: Decimal): string =>
  `${spoken(absolute(difference))} ${isNegative(difference) ? 'less' : 'more'}`;
