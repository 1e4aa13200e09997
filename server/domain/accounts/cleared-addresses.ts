/**
 * Clears the IP addresses of erased people from the audit trail, when there are more than the erasure itself clears.
 */

import { mapped, row, type Statement } from '../../database/statement.ts';

const clear = row<{ cleared: number }, []>('clear_addresses', 'select app.clear_addresses() as cleared');

/** Clears the next 10,000 of one person; returns the number of people processed, 1 or 0. */
export const clearAddresses = (): Statement<number> => mapped(clear(), (found) => found?.cleared ?? 0);
