/** Makes scheduled backups, each in a separate process, so that requests are not slowed down. */

import { spawn } from 'node:child_process';
import { backupsIn, wholeByAge } from '../backup/backups.ts';
import { openDestination } from '../backup/destination.ts';
import { isFromFuture, madeAt } from '../backup/names.ts';
import type { Config } from '../config/config.ts';
import { backupJob, noteJobRun } from '../domain/service/status.ts';
import type { CoreServices } from '../services.ts';
import type { Summary } from './backup.ts';

const minute = 60_000;
/** Milliseconds to wait after a failed backup, and at most before checking again. */
const afterFailure = 5 * minute;
const longest = 60 * minute;

/** When the latest complete backup was made; null when there is none, or when it is dated in the future. */
async function latestBackup(config: Config): Promise<Date | null> {
  if (!config.backup.to) return null;
  const destination = await openDestination(config.backup.to);
  const found = await backupsIn(destination).finally(() => destination.close());
  const latest = wholeByAge(found).at(-1);
  return latest === undefined || isFromFuture(latest) ? null : madeAt(latest);
}

/** Resolves with the command's output; rejects with its error output. Aborting `signal` ends the command. */
async function runBackup(signal: AbortSignal): Promise<string> {
  const args = [...process.execArgv, process.argv[1] ?? '', 'backup', '--json', '--scheduled'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
  let output = '';
  let complaint = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString().slice(0, 100_000)));
  child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-4_000)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (output === '' || code === null) throw new Error(complaint.trim() || `it ended with code ${code}`);
  return output;
}

/**
 * Makes a backup whenever the latest one in the destination is older than BACKUP_EVERY; the returned function stops it.
 * Every node checks; if several find a backup due at the same time, the database lets one of them make it.
 */
export function startScheduledBackups({ config, log, database }: CoreServices): () => void {
  const every = config.backup.everyMillis;
  if (every === undefined) return () => {};
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Only the command can tell that the place has the backups of another database or copy, and then says so.
  let isOurs = false;
  // While a recent backup is there, only the check of the place can fail, which is no failed backup.
  let isDue = true;

  async function look(): Promise<number> {
    isDue = true;
    const latest = await latestBackup(config);
    const due = latest === null ? 0 : latest.getTime() + (every ?? 0) - Date.now();
    isDue = due <= 0;
    if (isOurs && !isDue) return Math.min(due, longest);
    const made = JSON.parse(await runBackup(stopping.signal)) as Summary | null;
    isOurs = true;
    if (made === null) return minute;
    if (made.missing_documents.length > 0) log.warn({ backup: made }, 'made a backup that lacks documents');
    else log.info({ backup: made }, 'made a backup');
    if (made.not_deleted !== null) log.warn({ reason: made.not_deleted }, 'older backups could not be deleted');
    return minute;
  }
  const again = (millis: number) => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => {
      look().then(again, (error: unknown) => {
        if (stopping.signal.aborted) return;
        log.error({ err: error }, 'no backup was made');
        // The command records a failure itself if it has reached the database.
        if (isDue)
          database
            .run(noteJobRun(backupJob, false))
            .catch((failure: unknown) => log.warn({ err: failure }, 'the failure of the backup could not be recorded'));
        again(afterFailure);
      });
    }, millis).unref();
  };
  again(0);
  return () => {
    stopping.abort();
    clearTimeout(timer);
  };
}
