/** A connection of the owner, for a command. What requests do runs in database.ts. */

import pg from 'pg';

/** Connects for `work`, and ends the connection after it. Rejects when there is no connection within 10 s, and as `work` does. */
export async function withClient<T>(
  connection: pg.ClientConfig,
  name: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionTimeoutMillis: 10_000,
    application_name: `dealkeep ${name}`,
    ...connection,
  });
  // A statement under way fails when its connection breaks.
  client.on('error', () => {});
  await client.connect();
  return work(client).finally(() => client.end());
}
