/** A connection of its own, for a command or a start. What requests do runs in database.ts. */

import pg from 'pg';
import { reasonOf } from '../lib/reason.ts';
import type { Statement } from './statement.ts';

/** The database is there but cannot be used as it is; the message says what to change. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
}

/** What a command that works as the owner says where the variable that names their connection is not set. */
export const needsOwner = (): UnusableDatabase =>
  new UnusableDatabase('This needs the connection of the owner: set MIGRATE_DATABASE_URL.');

/**
 * Connects for `work`, and ends the connection after it. Rejects with {@link UnusableDatabase}, which names the `variable` that says
 * where it leads, when there is no connection within 10 s, and as `work` does.
 */
export async function withClient<T>(
  connection: pg.ClientConfig,
  name: string,
  work: (client: pg.Client) => Promise<T>,
  variable = 'The database',
): Promise<T> {
  const client = new pg.Client({
    connectionTimeoutMillis: 10_000,
    application_name: `dealkeep ${name}`,
    ...connection,
  });
  // A statement under way fails when its connection breaks.
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw new UnusableDatabase(
      `${variable} cannot be connected to: ${reasonOf(error)}. Check host, port, user and password.`,
      { cause: error },
    );
  });
  return work(client).finally(() => client.end());
}

/** Runs a statement of the domain on a connection of a command. */
export async function runOn<T>(client: pg.ClientBase, { text, values, read }: Statement<T>): Promise<T> {
  return read((await client.query(text, [...values])).rows);
}
