/** Identifies this database among all others. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from './database.ts';
import { Unavailable } from './errors.ts';
import { row } from './statement.ts';

// The identity used by app.publish_changes(), with the database's name: a copy of the files has the same numbers.
const identity = row<{ identity: string }, []>(
  'database_identity',
  `select concat_ws('/', (select c.system_identifier from pg_control_system() c),
     (select d.oid from pg_database d where d.datname = current_database()), current_database()) as identity`,
);

/**
 * Returns the system identifier of the PostgreSQL server, the oid of the database and its name: two installations may
 * give their databases the same name. Retries until the database responds, since a process that replaces another may
 * start while the database is away.
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
