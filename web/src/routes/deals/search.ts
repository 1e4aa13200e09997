/** The search parameters of the list of deals: search text, filters, order, and the open dialog. */
import type { CallerRole, DealSort, DealState } from '../../api/shapes.ts';
import { callerRoles, dealStates } from '../../lib/states.ts';
import { isUuid } from '../../lib/uuid.ts';

export interface DealsSearch {
  search?: string;
  state?: DealState[];
  role?: CallerRole;
  /** The id of a broker, or 'none' for deals without one. */
  broker?: string;
  sort?: DealSort;
  /** Whether the dialog for a new deal is open. */
  new?: true;
}

const sorts: Record<DealSort, true> = {
  updated_at: true,
  '-updated_at': true,
  created_at: true,
  '-created_at': true,
  title: true,
  '-title': true,
  asking_price: true,
  '-asking_price': true,
  state: true,
  '-state': true,
};

const isState = (value: unknown): value is DealState => typeof value === 'string' && Object.hasOwn(dealStates, value);
const isRole = (value: unknown): value is CallerRole => typeof value === 'string' && Object.hasOwn(callerRoles, value);
const isSort = (value: unknown): value is DealSort => typeof value === 'string' && Object.hasOwn(sorts, value);

const isBroker = (value: unknown): value is string => typeof value === 'string' && (value === 'none' || isUuid(value));

/** Reads the search parameters; invalid ones are left out. */
export function readDealsSearch(query: Record<string, unknown>): DealsSearch {
  // The router parses a query of only digits as a number.
  const search = typeof query.search === 'number' ? String(query.search) : query.search;
  const states = (Array.isArray(query.state) ? query.state : [query.state]).filter(isState);
  return {
    ...(typeof search === 'string' && search !== '' && { search }),
    ...(states.length > 0 && { state: states }),
    ...(isRole(query.role) && { role: query.role }),
    ...(isBroker(query.broker) && { broker: query.broker }),
    ...(isSort(query.sort) && { sort: query.sort }),
    ...(query.new === true && { new: true as const }),
  };
}
