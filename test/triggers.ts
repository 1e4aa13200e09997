/** Disables triggers, for rows that tests insert although they would only come about with time. */

import type pg from 'pg';

/**
 * Disables the triggers of these tables, for rows that only time or many requests bring about. Triggers stay enabled
 * without which rows would contradict each other: the one that sets a row's brokerage, and those that maintain the rows
 * from which lists are read.
 */
export async function withoutTriggers(owner: pg.ClientBase, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await owner.query(`alter table ${table} disable trigger user`);
    const { rows } = await owner.query<{ tgname: string }>(
      `select tgname from pg_trigger where tgrelid = $1::regclass
         and tgname in ('set_tenant', 'keep_deals_of_people', 'change_deals_of_people', 'keep_answers_of_people', 'note_answer', 'note_answer_later',
           'keep_ndas_of_people', 'add_ndas_of_people', 'change_ndas_of_people', 'remove_ndas_of_people')`,
      [table],
    );
    for (const { tgname } of rows) await owner.query(`alter table ${table} enable trigger ${tgname}`);
  }
}
