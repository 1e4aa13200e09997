/**
 * Contradictions within and between uploaded books, each a sentence with its amounts, its rows and what to ask
 * (docs/books.md). The consequences of one contradiction are not reported as others.
 */

import type { Books } from './books.ts';
import {
  adjustmentsAgain,
  adjustmentsBeyond,
  adjustmentsInOtherCurrency,
  oneTimeAgain,
  ownerPayOff,
  periodsUnmatched,
} from './contradictions/adjustments.ts';
import { withKey, type Contradiction } from './contradictions/contradiction.ts';
import { currenciesOff } from './contradictions/currencies.ts';
import { customersInOtherCurrency, customersOff } from './contradictions/customers.ts';
import { monthsAlike, monthsMissing, monthsTwice } from './contradictions/months.ts';
import { outliers } from './contradictions/outliers.ts';
import { totalsOff, yearUnlikeMonths } from './contradictions/sums.ts';
import { viewOf } from './contradictions/view.ts';
import { resolved } from './earnings.ts';
import { memoized } from './caches.ts';

/** The contradictions in these books, ordered by kind and time; the order of rows and uploads does not matter. */
export const contradictions = memoized(function contradictions(books: Books): Contradiction[] {
  const { found, mended } = outliers(resolved(books).rows);
  const view = viewOf(books, mended);
  return [
    ...monthsMissing(view),
    ...monthsTwice(view),
    ...yearUnlikeMonths(view),
    ...totalsOff(view),
    ...customersOff(view),
    ...ownerPayOff(view),
    ...oneTimeAgain(view),
    ...periodsUnmatched(view),
    ...found,
    ...currenciesOff(view),
    ...customersInOtherCurrency(view),
    ...adjustmentsInOtherCurrency(view),
    ...monthsAlike(view),
    ...adjustmentsAgain(view),
    ...adjustmentsBeyond(view),
  ].map(withKey);
});
