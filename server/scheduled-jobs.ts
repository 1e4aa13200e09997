/** The scheduled jobs: record what has expired, and delete what can never be used again. */

import type { CoreServices } from './services.ts';
import { mapped, row, type Statement } from './database/statement.ts';
import { traced } from './telemetry/tracing.ts';
import { deleteBrokerages } from './documents/brokerage-deletion.ts';
import { deleteUnusedBodies } from './documents/deletion.ts';
import { failAbandonedSnapshots } from './domain/diligence/snapshots.ts';
import { noteJobRun, type JobName } from './domain/service/status.ts';
import { mailDirectory, mailsIn, removeMails, removeOldMails } from './mail/files.ts';
import { clearAddresses } from './domain/accounts/cleared-addresses.ts';
import { purgeChanges } from './domain/events/changes.ts';
import { purgeWebhooks } from './domain/webhooks/deliveries.ts';
import { purgeNotifications, queueReminders } from './domain/notifications/events.ts';

const minute = 60_000;

const byStatement = (every: number, name: JobName, text: string) => ({ every, name, job: row(name, text) });

/** A job whose statement processes at most `most` rows and selects as `rows` how many it processed. */
function inParts(every: number, name: JobName, most: number, text: string): ScheduledJob {
  const part = row<{ rows: number }, []>(name, text);
  return { every, name, most, job: () => mapped(part(), (found) => found?.rows ?? 0) };
}

interface ScheduledJob {
  /** Milliseconds between two runs. */
  readonly every: number;
  readonly name: JobName;
  readonly job: () => Statement<unknown>;
  /**
   * Maximum rows per run, for jobs that return how many they processed: the job runs again at once while there may be
   * more.
   */
  readonly most?: number;
}

/** The jobs that run in the database, and how often. */
export const scheduledJobs: readonly ScheduledJob[] = [
  inParts(minute, 'sweep', 1_000, 'select app.sweep() as rows'),
  { every: minute, name: 'queue_reminders', job: queueReminders, most: 500 },
  { every: 10 * minute, name: 'purge_notifications', job: purgeNotifications, most: 10_000 },
  { every: 10 * minute, name: 'purge_changes', job: purgeChanges, most: 100_000 },
  { every: 10 * minute, name: 'purge_webhooks', job: purgeWebhooks, most: 10_000 },
  inParts(10 * minute, 'purge_sign_in', 10_000, 'select app.purge_sign_in() as rows'),
  { every: 10 * minute, name: 'clear_addresses', job: clearAddresses, most: 1 },
  inParts(10 * minute, 'purge_authorization', 10_000, 'select app.purge_authorization() as rows'),
  inParts(60 * minute, 'purge_mails', 10_000, 'select app.purge_mails() as rows'),
  inParts(10 * minute, 'purge_idempotency_keys', 10_000, 'select app.purge_idempotency_keys() as rows'),
  { every: 10 * minute, name: 'fail_abandoned_snapshots', job: failAbandonedSnapshots },
  byStatement(60 * minute, 'keep_audit_months', 'select app.keep_audit_months()'),
  inParts(
    10 * minute,
    'purge_limits',
    10_000,
    `with gone as (
       delete from limits.counters c where c.ctid = any (array(
         select o.ctid from limits.counters o where o.expire < extract(epoch from now()) * 1000 order by o.expire limit 10000 for update skip locked))
       returning 1)
     select count(*)::int as rows from gone`,
  ),
];

/**
 * Deletes the brokerages whose deletion is due, and their mails in files. Rejects when the store, the database or files
 * fail.
 */
export function deleteDueBrokerages(services: CoreServices): Promise<void> {
  const directory = mailDirectory(services.config.dataDir);
  return deleteBrokerages(services, {
    inFiles: () => mailsIn(directory),
    async remove(ids) {
      if (ids.length > 0) await removeMails(directory, ids);
    },
  });
}

/** How long mails in files are kept: as long as a sent mail in the outbox. */
const mailFileDays = 30;

/**
 * Deletes this machine's mails in files that are older than thirty days, in portions of `most` files. Rejects when a
 * file cannot be removed.
 */
export async function clearMailFiles({ config, clock }: CoreServices, most = 10_000): Promise<void> {
  const before = new Date(clock().getTime() - mailFileDays * 86_400_000);
  while ((await removeOldMails(mailDirectory(config.dataDir), before, most)) >= most);
}

/**
 * Starts the scheduled jobs; the returned function stops them. Every node runs them, in one of its processes: work that
 * one node has done, the next finds done.
 */
export function startScheduledJobs(services: CoreServices): () => void {
  const { database, log, clock, metrics, tracing } = services;
  async function run(job: JobName, work: () => Promise<unknown>): Promise<void> {
    const began = performance.now();
    let succeeded = true;
    try {
      await traced(tracing, { name: `job ${job}`, kind: 'internal', below: 'nothing' }, work);
    } catch (error) {
      succeeded = false;
      log.warn({ err: error, job }, 'a scheduled job failed');
    }
    metrics.jobRan(job, succeeded, (performance.now() - began) / 1000, clock());
    await database
      .run(noteJobRun(job, succeeded))
      .catch((error: unknown) => log.warn({ err: error, job }, 'the run of a scheduled job could not be recorded'));
  }
  let isStopped = false;
  /** Jobs that wait for their turn or are running. */
  const unfinished = new Set<JobName>();
  /** Runs the job unless its last run has not finished: the next run does the remaining work. */
  async function unlessUnfinished(job: JobName, work: () => Promise<unknown>): Promise<void> {
    if (unfinished.has(job)) return;
    unfinished.add(job);
    await work().finally(() => unfinished.delete(job));
  }
  let turn = Promise.resolve();
  /**
   * Runs one portion at a time, in turn with other jobs: all at once would use every connection to the database, and a
   * job with much work does not delay the others.
   */
  async function runToTheEnd(scheduled: ScheduledJob): Promise<void> {
    const { name, job, most = Infinity } = scheduled;
    let more = false;
    turn = turn.then(async () => {
      if (isStopped) return;
      await run(name, async () => {
        more = Number(await database.run(job())) >= most;
      });
    });
    await turn;
    if (more) await runToTheEnd(scheduled);
  }
  const runInTurn = (scheduled: ScheduledJob) => void unlessUnfinished(scheduled.name, () => runToTheEnd(scheduled));
  const alone = (name: JobName, work: () => Promise<unknown>) => void unlessUnfinished(name, () => run(name, work));
  const start = (every: number, work: () => void) => {
    work();
    return setInterval(work, every).unref();
  };
  const timers = [
    ...scheduledJobs.map((scheduled) => start(scheduled.every, () => runInTurn(scheduled))),
    start(60 * minute, () => alone('clear_store', () => deleteUnusedBodies(services))),
    start(60 * minute, () => alone('clear_mail_files', () => clearMailFiles(services))),
    start(10 * minute, () => alone('delete_brokerages', () => deleteDueBrokerages(services))),
  ];
  return () => {
    isStopped = true;
    timers.forEach(clearInterval);
  };
}
