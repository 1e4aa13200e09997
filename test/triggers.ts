import type pg from 'pg';

/** Switches the triggers of these tables off, for rows that only time or many requests bring about. That which writes whose brokerage a row is stays on: none is without. */
export async function withoutTriggers(owner: pg.ClientBase, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await owner.query(`alter table ${table} disable trigger user`);
    const { rows } = await owner.query(
      `select from pg_trigger where tgrelid = $1::regclass and tgname = 'set_tenant'`,
      [table],
    );
    if (rows.length > 0) await owner.query(`alter table ${table} enable trigger set_tenant`);
  }
}
