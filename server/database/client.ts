/** A dedicated connection for a command or a start. Statements of requests run in database.ts. */

import pg from 'pg';
import { reasonOf } from '../lib/reason.ts';
import type { Statement } from './statement.ts';

/** The database exists but cannot be used as it is; the message says what to change. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
}

/** Returns the error of a command that works as the owner when MIGRATE_DATABASE_URL is not set. */
export const needsOwner = (): UnusableDatabase =>
  new UnusableDatabase('This needs the connection of the owner: set MIGRATE_DATABASE_URL.');

/**
 * Connects, runs `work`, and ends the connection. Rejects with {@link UnusableDatabase}, which names the `variable`
 * that holds the address, when it cannot connect within 10 s, and as `work` does.
 */
export async function withClient<T>(
  connection: pg.ClientConfig,
  name: string,
  work: (client: pg.Client) => Promise<T>,
  variable = 'the database',
): Promise<T> {
  const client = new pg.Client({
    connectionTimeoutMillis: 10_000,
    application_name: `dealkeep ${name}`,
    ...connection,
  });
  // A statement in progress fails when its connection breaks.
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw new UnusableDatabase(
      `Cannot connect to ${variable}: ${reasonOf(error)}. Check host, port, user and password.`,
      { cause: error },
    );
  });
  return work(client).finally(() => client.end());
}

/** Runs a statement of the domain on the connection of a command. */
export async function runOn<T>(client: pg.ClientBase, { text, values, read }: Statement<T>): Promise<T> {
  return read((await client.query(text, [...values])).rows);
}
