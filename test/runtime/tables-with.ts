/** Looks for words everywhere in the database. */

import { expect } from 'vitest';
import type { TestService } from '../harness.ts';

/**
 * Returns every table with a row that contains one of the words, as text or as the bytes of the text in hexadecimal.
 */
export async function tablesWith(service: TestService, words: readonly string[]): Promise<string[]> {
  const tables = await service.sql<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`,
  );
  expect(tables.length).toBeGreaterThan(60);
  const found: string[] = [];
  const sought = words.flatMap((word) => [word.toLowerCase(), Buffer.from(word).toString('hex')]);
  for (const { name: table } of tables) {
    const text = `select 1 from ${table} t, unnest($1::text[]) w where position(w in lower(t::text)) > 0 limit 1`;
    if ((await service.sql(text, [sought])).length > 0) found.push(table);
  }
  return found;
}
