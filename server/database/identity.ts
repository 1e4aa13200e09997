/** Which database this is, among all that there are. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from './database.ts';
import { Unavailable } from './errors.ts';
import { row } from './statement.ts';

// As app.publish_changes() has it, and its name: a copy of the files has the same numbers.
const identity = row<{ identity: string }, []>(
  'database_identity',
  `select concat_ws('/', (select c.system_identifier from pg_control_system() c),
     (select d.oid from pg_database d where d.datname = current_database()), current_database()) as identity`,
);

/**
 * The number of its PostgreSQL, its own in it, and its name: two installations may give their databases the same name. Asks until it is
 * answered, since a process that takes the place of another may start while the database is away.
 */
export async function databaseIdentity(database: Database): Promise<string> {
  for (;;) {
    const found = await database.run(identity()).catch((error: unknown) => {
      if (error instanceof Unavailable) return null;
      throw error;
    });
    if (found) return found.identity;
    await wait(1_000);
  }
}
