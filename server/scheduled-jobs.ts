/** What the service does by the clock: writes down what time has done, and clears away what can never be used again. */

import type { CoreServices } from './services.ts';
import { row } from './database/statement.ts';
import { clearBodies } from './documents/clearing.ts';
import { purgeNotifications, queueReminders } from './domain/notifications/events.ts';

const minute = 60_000;

/** What is done how often, in milliseconds. */
export const scheduledJobs = [
  { every: minute, job: row('sweep', 'select app.sweep()') },
  { every: minute, job: queueReminders },
  { every: 10 * minute, job: purgeNotifications },
  { every: 10 * minute, job: row('purge_sign_in', 'select app.purge_sign_in()') },
  { every: 10 * minute, job: row('purge_authorization', 'select app.purge_authorization()') },
  { every: 60 * minute, job: row('purge_mails', 'select app.purge_mails()') },
  { every: 10 * minute, job: row('fail_abandoned_snapshots', 'select app.fail_abandoned_snapshots()') },
  { every: 60 * minute, job: row('keep_audit_months', 'select app.keep_audit_months()') },
  {
    every: 10 * minute,
    job: row('purge_limits', 'delete from limits.counters where expire < extract(epoch from now()) * 1000'),
  },
];

/** Starts it; the function returned stops it. Every node does it, once for all of its processes: what one has done, the next finds done. */
export function startScheduledJobs(services: CoreServices): () => void {
  const { database, log } = services;
  const timers = scheduledJobs.map(({ every, job }) => {
    const statement = job();
    const work = () => {
      database
        .run(statement)
        .catch((error: unknown) => log.warn({ err: error, job: statement.name }, 'a scheduled job failed'));
    };
    work();
    return setInterval(work, every).unref();
  });
  const clear = () => {
    clearBodies(services).catch((error: unknown) => log.warn({ err: error }, 'clearing the store away failed'));
  };
  clear();
  timers.push(setInterval(clear, 60 * minute).unref());
  return () => timers.forEach(clearInterval);
}
