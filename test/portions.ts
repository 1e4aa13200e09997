/**
 * Statements that would take too long on a large platform: tests assert how many rows one statement changes, not how
 * fast it is.
 */

import { onTestFinished } from 'vitest';
import type { TestService } from './harness.ts';

/**
 * Until the test has finished, cancels every statement that updates more than `rows` rows of the table, as the
 * statement timeout would on a large table.
 */
export async function atMostAtOnce({ sql }: TestService, table: string, rows: number): Promise<void> {
  await sql(
    `create function public.stop_of_test() returns trigger language plpgsql as $$
     begin
       if (select count(*) from changed) > tg_argv[0]::int then
         raise query_canceled using message = 'canceling statement due to statement timeout';
       end if;
       return null;
     end $$`,
  );
  await sql(
    `create trigger stop_of_test after update on ${table} referencing new table as changed
     for each statement execute function public.stop_of_test(${rows})`,
  );
  onTestFinished(async () => void (await sql('drop function public.stop_of_test() cascade')));
}
