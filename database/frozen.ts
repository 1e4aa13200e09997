/** The frozen migrations with their digests, as listed at the end of `database/schema.sql`. */

import { readFile } from 'node:fs/promises';
import type { Applied, Migration } from '../server/database/migrate.ts';
import { schemaFile } from './dump-schema.ts';

const heading = `
-- Frozen migrations: the SHA-256 and the name of each file that makes what is above
`;

/** The frozen migrations, in their order. */
export async function frozenMigrations(): Promise<Applied[]> {
  const [, listed = ''] = (await readFile(schemaFile, 'utf8')).replaceAll('\r\n', '\n').split(heading);
  return [...listed.matchAll(/^-- ([0-9a-f]{64}) {2}(\S+)$/gm)].map(([, digest = '', name = '']) => ({ digest, name }));
}

/** The text of schema.sql: the dump of the schema that these migrations make, and the list of them. */
export const schemaText = (dump: string, migrations: readonly Migration[]): string =>
  `${dump}${heading}\n${migrations.map(({ digest, name }) => `-- ${digest}  ${name}\n`).join('')}`;
