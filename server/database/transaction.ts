/**
 * A transaction on a connection of the owner: commands, migrations, backups. Statements of requests run in database.ts.
 */

import type pg from 'pg';

/** Begins a read-only transaction that sees one snapshot of the database. */
export const snapshot = 'begin transaction isolation level repeatable read, read only';

/**
 * Runs `work` between `begin`, which may name an isolation level, and commit. Rolls back and rejects as `work` does.
 */
export async function inTransaction<T>(client: pg.ClientBase, work: () => Promise<T>, begin = 'begin'): Promise<T> {
  await client.query(begin);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
