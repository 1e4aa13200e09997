/** The addresses of erased people in the audit trail, where there are more than an erasure clears itself. */

import { mapped, row, type Statement } from '../../database/statement.ts';

const clear = row<{ cleared: number }, []>('clear_addresses', 'select app.clear_addresses() as cleared');

/** Clears the next 10,000 of one person; of how many people it did, 1 or 0. */
export const clearAddresses = (): Statement<number> => mapped(clear(), (found) => found?.cleared ?? 0);
