/**
 * Records which functions and tables each test file reaches: PostgreSQL counts the calls, and each service appends them
 * to a file when it closes.
 */

import { appendFile, readFile } from 'node:fs/promises';
import pg from 'pg';

interface Called {
  readonly file: string;
  readonly functions: readonly string[];
  readonly tables: readonly string[];
}

/**
 * Appends the functions and tables reached in this database to the notes. First waits for its other connections to end,
 * because they report their counts as they do.
 */
export async function noteCalls(notes: string, file: string, owner: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(owner);
  await client.connect();
  try {
    for (let tries = 0; tries < 100; tries += 1) {
      const { rows } = await client.query<{ others: number }>(
        `select count(*)::int as others from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      );
      if (rows[0]!.others === 0) break;
      await client.query('select pg_sleep(0.02)');
    }
    const functions = await client.query<{ name: string }>(
      `select distinct case schemaname when 'app' then '' else schemaname || '.' end || funcname as name
       from pg_stat_user_functions where calls > 0 and schemaname in ('app', 'vault')`,
    );
    const tables = await client.query<{ name: string }>(
      `select relname as name from pg_stat_user_tables where n_tup_ins + n_tup_upd + n_tup_del > 0`,
    );
    const called: Called = {
      file,
      functions: functions.rows.map(({ name }) => name),
      tables: tables.rows.map(({ name }) => name),
    };
    await appendFile(notes, `${JSON.stringify(called)}\n`);
  } finally {
    await client.end();
  }
}

/** The functions and tables that each test file reached, over all its services. */
export async function readCalls(notes: string): Promise<Map<string, { functions: Set<string>; tables: Set<string> }>> {
  const byFile = new Map<string, { functions: Set<string>; tables: Set<string> }>();
  for (const line of (await readFile(notes, 'utf8')).split('\n').filter(Boolean)) {
    const { file, functions, tables } = JSON.parse(line) as Called;
    const reached = byFile.get(file) ?? { functions: new Set<string>(), tables: new Set<string>() };
    for (const name of functions) reached.functions.add(name);
    for (const name of tables) reached.tables.add(name);
    byFile.set(file, reached);
  }
  return byFile;
}
