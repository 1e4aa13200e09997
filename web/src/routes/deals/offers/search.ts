/** What the page of offers keeps in its address: which two are side by side. */

export interface OffersSearch {
  /** Ids of revisions; those that are compared by default where they are missing. */
  first?: string;
  second?: string;
}

const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const isId = (value: unknown): value is string => typeof value === 'string' && id.test(value);

/** Reads the address's query; what makes no sense is left out. */
export function readOffersSearch(query: Record<string, unknown>): OffersSearch {
  return {
    ...(isId(query.first) && { first: query.first }),
    ...(isId(query.second) && { second: query.second }),
  };
}
