/**
 * `npm run schema`: creates a database with the migrations, and writes its schema to schema.sql with the digests of the
 * migrations, which freezes them. Refuses when a frozen migration was changed.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../server/database/embedded.ts';
import { migrate, migrationFiles, pending } from '../server/database/migrate.ts';
import { dumpSchema, schemaFile } from './dump-schema.ts';
import { frozenMigrations, schemaText } from './frozen.ts';

const migrations = await migrationFiles();
const added = pending(migrations, await frozenMigrations());
const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-schema-'));
try {
  const postgres = await startEmbedded({ dataDir: directory, settings: { fsync: 'off' } });
  try {
    await migrate(postgres.owner);
    const client = new pg.Client(postgres.owner);
    await client.connect();
    const dump = await dumpSchema(client).finally(() => client.end());
    await writeFile(schemaFile, schemaText(dump, migrations));
  } finally {
    await postgres.stop();
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.stdout.write(`Wrote schema.sql${added.map(({ name }) => `, and froze ${name}`).join('')}.\n`);
