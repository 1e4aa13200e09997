/** The search parameters of the list of contacts: search text, archived or not, order, and the open dialog. */
import type { ContactSort } from '../../api/shapes.ts';

export interface ContactsSearch {
  search?: string;
  archived?: true;
  sort?: ContactSort;
  /** The open dialog: `new`, `import`, or the id of a contact. */
  open?: string;
}

const sorts: Record<ContactSort, true> = {
  created_at: true,
  '-created_at': true,
  display_name: true,
  '-display_name': true,
};
const isSort = (value: unknown): value is ContactSort => typeof value === 'string' && Object.hasOwn(sorts, value);

/** Reads the search parameters; invalid ones are left out. */
export function readContactsSearch(query: Record<string, unknown>): ContactsSearch {
  // The router parses a query of only digits as a number.
  const search = typeof query.search === 'number' ? String(query.search) : query.search;
  return {
    ...(typeof search === 'string' && search !== '' && { search }),
    ...(query.archived === true && { archived: true as const }),
    ...(isSort(query.sort) && { sort: query.sort }),
    ...(typeof query.open === 'string' && query.open !== '' && { open: query.open }),
  };
}
