/** What the list of contacts keeps in its address: search, archived or not, order, and what is open over it. */
import type { ContactSort } from '../../api/shapes.ts';

export interface ContactsSearch {
  search?: string;
  archived?: true;
  sort?: ContactSort;
  /** The dialog for a new contact, for an import, or for the contact with this id. */
  open?: string;
}

const sorts: Record<ContactSort, true> = {
  created_at: true,
  '-created_at': true,
  display_name: true,
  '-display_name': true,
};
const isSort = (value: unknown): value is ContactSort => typeof value === 'string' && Object.hasOwn(sorts, value);

/** Reads the address's query; what makes no sense is left out. */
export function readContactsSearch(query: Record<string, unknown>): ContactsSearch {
  // The router reads a query of digits as a number.
  const search = typeof query.search === 'number' ? String(query.search) : query.search;
  return {
    ...(typeof search === 'string' && search !== '' && { search }),
    ...(query.archived === true && { archived: true as const }),
    ...(isSort(query.sort) && { sort: query.sort }),
    ...(typeof query.open === 'string' && query.open !== '' && { open: query.open }),
  };
}
