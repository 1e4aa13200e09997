/** What waits in the database of a service. */

import type { TestService } from './harness.ts';

/** How many locks are waited for. */
export const locksWaited = async ({ sql }: TestService): Promise<number> =>
  (
    await sql(
      'select from pg_locks l join pg_stat_activity a on a.pid = l.pid where a.datname = current_database() and not l.granted',
    )
  ).length;
