/** Checks backups: whether a complete and recent one is at their destination, and whether the last attempt failed. */

import type pg from 'pg';
import { backupsIn, keyIdOf, readManifest, type Manifest } from '../../backup/backups.ts';
import { isStore, openDestination, type BackupDestination } from '../../backup/destination.ts';
import { madeAt } from '../../backup/names.ts';
import type { Config } from '../../config/config.ts';
import type { Findings } from './finding.ts';

const hour = 3_600_000;
/** How much older than BACKUP_EVERY the latest backup may be, and how old without BACKUP_EVERY, in milliseconds. */
const most = { late: hour, withoutEvery: 7 * 24 * hour } as const;

/** Formats a duration in words: 50 minutes, 30 hours, 3 days. */
function span(millis: number): string {
  const [unit, size] =
    millis < 2 * hour ? ['minutes', hour / 60] : millis < 48 * hour ? ['hours', hour] : ['days', 24 * hour];
  return `${Math.round(millis / Number(size))} ${unit}`;
}

/**
 * Returns the latest complete backup and what it contains of documents; undefined when that is encrypted with another
 * key.
 */
async function latestIn(
  destination: BackupDestination,
  { backup: { key } }: Config,
): Promise<{ latest?: string; documents?: Manifest['documents'] }> {
  const latest = (await backupsIn(destination)).findLast(({ isWhole }) => isWhole)?.name;
  if (latest === undefined) return {};
  if ((await keyIdOf(destination, latest)) !== (key?.id ?? null)) return { latest };
  return { latest, documents: (await readManifest(destination, latest, key)).documents };
}

/** Checks that backups are made, and how old the latest is. */
export async function checkBackups(server: pg.Client, config: Config, findings: Findings): Promise<void> {
  const { to, everyMillis } = config.backup;
  if (to === undefined) {
    if (config.databaseUrl !== undefined)
      findings.ok('BACKUP_TO is not set: unless something other than dealkeep backup makes backups, there are none.');
    else
      findings.warning(
        'BACKUP_TO is not set: the embedded PostgreSQL and the documents are not backed up.',
        'Set BACKUP_TO to a folder on another disk or to s3://bucket/folder, and BACKUP_EVERY to 1d.',
      );
    return;
  }
  if (isStore(to, config)) {
    findings.fault(
      'BACKUP_TO is where documents are kept, so no backups are made there.',
      'Set it to another folder, or to a folder in the bucket.',
    );
    return;
  }
  const destination = await openDestination(to);
  const { latest, documents } = await latestIn(destination, config).finally(() => destination.close());
  const { rows } = await server.query<{ failed_last: boolean }>(
    `select coalesce(last_backup_failure_at > coalesce(last_backup_at, '-infinity'), false) as failed_last from app.service_state()`,
  );
  const why =
    'Run dealkeep backup with the configuration of the service to see why, or look for "no backup was made" in the log.';
  if (latest === undefined) {
    findings.fault(`There is no backup in ${destination.label}.`, why);
    return;
  }
  const age = Date.now() - madeAt(latest).getTime();
  const said = `The latest backup in ${destination.label} is ${span(age)} old`;
  if (age > (everyMillis === undefined ? most.withoutEvery : everyMillis + most.late))
    findings.fault(everyMillis === undefined ? `${said}.` : `${said}, and one is due every ${span(everyMillis)}.`, why);
  else if (rows[0]?.failed_last) findings.warning(`${said}; the last attempt failed.`, why);
  else if (documents && documents.missing.length > 0)
    findings.warning(
      `${said}, and lacks ${documents.missing.length} of ${documents.count} documents.`,
      'They were missing from the store or had been changed: run dealkeep doctor --documents.',
    );
  else findings.ok(`${said}.`);
}
