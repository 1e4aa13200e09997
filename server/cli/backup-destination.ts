/**
 * Shared parts of the commands backup, restore and verify: where backups are, with which key, and of which database.
 */

import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { openDestination, type BackupDestination } from '../backup/destination.ts';
import { NotRestored } from '../backup/restore.ts';
import { backupKey, type BackupKey } from '../lib/backup-key.ts';
import { ConfigError, readConfig, type Config } from '../config/config.ts';
import { needsOwner, withClient } from '../database/client.ts';
import { DirectoryInUse } from '../database/data-directory.ts';
import { refuseMissing, runningOwner, startEmbedded } from '../database/embedded.ts';
import { withOwner, type Needed } from '../database/owner.ts';
import { codeOf, UnusableOption } from './new-file.ts';

export interface DestinationOptions {
  readonly json?: boolean;
  /** Replaces BACKUP_TO. */
  readonly place?: string;
  /** A file whose key replaces BACKUP_KEY. */
  readonly keyFile?: string;
}

function keyIn(file: string): BackupKey {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    throw new UnusableOption(
      `--key-file: ${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}.`,
      { cause: error },
    );
  }
  const key = backupKey(text);
  if (key) return key;
  throw new UnusableOption(
    `--key-file: ${file} must hold 32 random bytes in base64 or hexadecimal, such as: openssl rand -base64 32`,
  );
}

export interface BackupContext {
  readonly config: Config;
  readonly destination: BackupDestination;
  readonly key: BackupKey | null;
}

/** The configuration with `place` as its BACKUP_TO; errors about it name the option. */
function configWith(place: string): Config {
  try {
    return readConfig({ ...process.env, BACKUP_TO: place });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.faults.map((fault) => fault.replace(/^BACKUP_TO holds/, '--place holds')));
  }
}

/** Runs `work` with the destination and the key given by variables and options. */
export async function withDestination<T>(
  { place, keyFile }: DestinationOptions,
  work: (context: BackupContext) => Promise<T>,
): Promise<T> {
  const config = place === undefined ? readConfig() : configWith(place);
  if (!config.backup.to)
    throw new UnusableOption(
      'Say where backups are: set BACKUP_TO, or add --place with a folder or s3://bucket/folder.',
    );
  const key = keyFile === undefined ? config.backup.key : keyIn(keyFile);
  const destination = await openDestination(config.backup.to);
  return work({ config, destination, key }).finally(() => destination.close());
}

/** Writes a line to standard output. */
export const say = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Runs `work` on the owner's connection to an existing database: a running one, or one that is started for this;
 * nothing is migrated.
 */
export async function withExistingDatabase<T>(
  { databaseUrl, migrateDatabaseUrl, dataDir }: Config,
  work: (client: pg.Client) => Promise<T>,
  needed: Needed = 'any',
): Promise<T> {
  if (databaseUrl !== undefined)
    return withOwner({ databaseUrl, migrateDatabaseUrl }, { name: 'backup', needed }, work);
  refuseMissing(dataDir);
  const running = await runningOwner(dataDir);
  if (running) return withClient(running, 'backup', work);
  const started = await startEmbedded({ dataDir }).catch(async (error: unknown) => {
    // A database that started at the same time could not be joined before.
    const joined = error instanceof DirectoryInUse ? await runningOwner(dataDir) : null;
    if (joined) return { owner: joined, stop: async () => {} };
    throw error;
  });
  return withClient(started.owner, 'backup', work).finally(() => started.stop());
}

/** Runs `work` on the database to restore into, which nothing else may use. */
export async function withNewDatabase<T>(
  { databaseUrl, migrateDatabaseUrl, dataDir }: Config,
  work: (owner: pg.ClientConfig) => Promise<T>,
): Promise<T> {
  if (databaseUrl !== undefined) {
    if (migrateDatabaseUrl === undefined) throw needsOwner();
    return work({ connectionString: migrateDatabaseUrl });
  }
  if (await runningOwner(dataDir))
    throw new NotRestored(`Dealkeep is running on ${dataDir}: stop it, and restore into a new DATA_DIR.`);
  const started = await startEmbedded({ dataDir });
  return work(started.owner).finally(() => started.stop());
}
