/** Switching triggers off, for rows that tests write as they could only come about with time. */

import type pg from 'pg';

/**
 * Switches the triggers of these tables off, for rows that only time or many requests bring about. Those stay on without which rows contradict each other: that which writes whose
 * brokerage a row is, and those which keep what lists are read from.
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
