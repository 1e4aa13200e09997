/** A transaction on a connection of the owner: commands, migrations, backups. What requests do runs in database.ts. */

import type pg from 'pg';

/** Begins a transaction that reads what there is at one moment. */
export const snapshot = 'begin transaction isolation level repeatable read, read only';

/** Runs `work` between `begin`, which may name an isolation level, and commit. Rejects as `work` does, with everything taken back. */
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
