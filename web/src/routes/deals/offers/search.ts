/** What the page of offers keeps in its address: which two are side by side, which would be accepted, and the terms that it is computed with. */
import { getRouteApi } from '@tanstack/react-router';
import type { TypedTerms } from '../../../api/shapes.ts';
import { lengths } from '../../../lib/lengths.ts';
import { isUuid } from '../../../lib/uuid.ts';

/** Of the page of offers: how its address is read and changed. */
export const offersRoute = getRouteApi('/app/deals/$dealId/offers');

/** In the order of the form. */
export const termNames = ['rate', 'years', 'note_rate', 'note_years', 'note_standby', 'equity'] as const;
export type TermName = (typeof termNames)[number];

export interface OffersSearch extends TypedTerms {
  /** Ids of revisions; those that are compared by default where they are missing. */
  first?: string;
  second?: string;
  /** The id of the offer of which it is said what an acceptance would mean. */
  accepted?: string;
}

const longestLabel = lengths.normalizations.period_label;
const term = /^\d{1,20}(\.\d{1,10})?$/;

/** A term as it was typed; the router reads what is nothing but digits as a number. */
const termOf = (value: unknown): string | null => {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && term.test(text) ? text : null;
};

/** Reads the address's query; what makes no sense is left out. */
export function readOffersSearch(query: Record<string, unknown>): OffersSearch {
  const terms = termNames.flatMap((name) => {
    const value = termOf(query[name]);
    return value === null ? [] : [[name, value] as const];
  });
  const { period_label: label } = query;
  return {
    ...(isUuid(query.first) && { first: query.first }),
    ...(isUuid(query.second) && { second: query.second }),
    ...(isUuid(query.accepted) && { accepted: query.accepted }),
    ...(typeof label === 'string' && label !== '' && label.length <= longestLabel && { period_label: label }),
    ...Object.fromEntries(terms),
  };
}

/** The terms among what the address keeps. */
export function typedIn(search: OffersSearch): TypedTerms {
  const names = [...termNames, 'period_label'] as const;
  return Object.fromEntries(names.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])));
}
