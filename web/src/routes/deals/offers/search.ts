/**
 * The search parameters of the offers page: the two offers side by side, the offer assessed as if accepted, and the
 * terms to compute with.
 */
import { getRouteApi } from '@tanstack/react-router';
import type { TypedTerms } from '../../../api/shapes.ts';
import { lengths } from '../../../lib/lengths.ts';
import { isUuid } from '../../../lib/uuid.ts';

/** The route of the offers page, to read and change its search parameters. */
export const offersRoute = getRouteApi('/app/deals/$dealId/offers');

/** In the order of the form's fields. */
export const termNames = ['rate', 'years', 'note_rate', 'note_years', 'note_standby', 'equity'] as const;
export type TermName = (typeof termNames)[number];

export interface OffersSearch extends TypedTerms {
  /** Ids of the two compared revisions; missing for the default comparison. */
  first?: string;
  second?: string;
  /** The id of the offer whose acceptance is assessed. */
  accepted?: string;
}

const longestLabel = lengths.normalizations.period_label;
const term = /^\d{1,20}(\.\d{1,10})?$/;

/** A term as typed; the router parses a value of only digits as a number. */
const termOf = (value: unknown): string | null => {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && term.test(text) ? text : null;
};

/** Reads the search parameters; invalid ones are left out. */
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

/** The typed-in terms among the search parameters. */
export function typedIn(search: OffersSearch): TypedTerms {
  const names = [...termNames, 'period_label'] as const;
  return Object.fromEntries(names.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])));
}
