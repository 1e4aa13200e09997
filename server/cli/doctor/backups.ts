/** Checks backups: whether a complete and recent one is at their destination, and whether the last attempt failed. */

import type pg from 'pg';
import { backupsIn, keyIdOf, readManifest, wholeByAge, type Manifest } from '../../backup/backups.ts';
import { isStore, openDestination, type BackupDestination } from '../../backup/destination.ts';
import { foreignBackup, seriesIn } from '../../backup/make.ts';
import { isFromFuture, madeAt } from '../../backup/names.ts';
import type { Config } from '../../config/config.ts';
import type { Findings } from './finding.ts';
import { storeOf } from './store.ts';

const hour = 3_600_000;
/** How much older than BACKUP_EVERY the latest backup may be, and how old without BACKUP_EVERY, in milliseconds. */
const most = { late: hour, withoutEvery: 7 * 24 * hour } as const;

/** Formats a duration in words: 50 minutes, 30 hours, 3 days. */
function span(millis: number): string {
  const [unit, size] =
    millis < 2 * hour ? ['minutes', hour / 60] : millis < 48 * hour ? ['hours', hour] : ['days', 24 * hour];
  return `${Math.round(millis / Number(size))} ${unit}`;
}

interface Looked {
  readonly latest?: string;
  /** Undefined when the latest backup is encrypted with another key. */
  readonly manifest?: Manifest;
  /** A backup that is dated in the future. */
  readonly early: string | undefined;
  /** A backup of another database. */
  readonly foreign: string | undefined;
}

/** Finds the latest complete backup, and what it contains. */
async function latestIn(destination: BackupDestination, { backup: { key } }: Config, series: string): Promise<Looked> {
  const foreign = await foreignBackup(destination, series);
  if (foreign !== undefined) return { early: undefined, foreign };
  const whole = wholeByAge(await backupsIn(destination));
  const early = whole.find((name) => isFromFuture(name));
  const latest = whole.at(-1);
  if (latest === undefined) return { early, foreign };
  if ((await keyIdOf(destination, latest)) !== (key?.id ?? null)) return { latest, early, foreign };
  return { latest, manifest: await readManifest(destination, latest, key), early, foreign };
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
  if (await isStore(to, config)) {
    findings.fault(
      'BACKUP_TO is where documents are kept, so no backups are made there.',
      'Set it to another folder, or to a folder in the bucket.',
    );
    return;
  }
  const destination = await openDestination(to);
  const series = await seriesIn(server);
  const looked = await latestIn(destination, config, series).finally(() => destination.close());
  const { latest, manifest, early, foreign } = looked;
  if (foreign !== undefined) {
    findings.fault(
      `${destination.label} has backups of another database, such as ${foreign}: none of this one are made there.`,
      'Set BACKUP_TO to a place that only this database uses.',
    );
    return;
  }
  const { store_id: store, is_marked: isMarked } = await storeOf(server);
  if (latest !== undefined && isMarked && manifest?.store !== undefined && manifest.store !== store) {
    findings.fault(
      `${latest}, the latest backup in ${destination.label}, was made from a copy of this database, or before its documents were adopted: none of this one are made there.`,
      'If this database replaces that one, run: dealkeep backup --continue. If both are in use, set BACKUP_TO to a place that only this one uses.',
    );
    return;
  }
  const { rows } = await server.query<{ failed_last: boolean }>(
    `select coalesce(last_backup_failure_at > coalesce(last_backup_at, '-infinity'), false) as failed_last from app.service_state()`,
  );
  const why =
    'Run dealkeep backup with the configuration of the service to see why, or look for "no backup was made" in the log.';
  if (latest === undefined) {
    findings.fault(`There is no backup in ${destination.label}.`, why);
    return;
  }
  if (early !== undefined)
    findings.fault(
      `${early} in ${destination.label} is dated in the future: the clock was wrong when it was made, or is wrong on this machine.`,
      'Correct the clock. If it is right, delete the folder of that backup, unless it is the one that you need.',
    );
  // Its age is not known.
  if (isFromFuture(latest)) return;
  const documents = manifest?.documents;
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
