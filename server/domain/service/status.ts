/** How the service itself is doing, for its operators and for the admins of a brokerage. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';

/** What the service does by the clock, by the names in the log, the metrics and the page Status. */
export type JobName =
  | 'sweep'
  | 'queue_reminders'
  | 'purge_notifications'
  | 'purge_changes'
  | 'purge_webhooks'
  | 'purge_sign_in'
  | 'clear_addresses'
  | 'purge_authorization'
  | 'purge_mails'
  | 'purge_idempotency_keys'
  | 'fail_abandoned_snapshots'
  | 'keep_audit_months'
  | 'purge_limits'
  | 'clear_store'
  | 'delete_brokerages';

/** The name under which it is noted that a backup was made, or failed. */
export const backupJob = 'backup';

const note = row<unknown, [job: string, succeeded: boolean]>('note_job_run', 'select app.note_job_run($1, $2)');

/** Notes that a scheduled job has run. */
export const noteJobRun = (job: JobName | typeof backupJob, succeeded: boolean): Statement<unknown> =>
  note(job, succeeded);

export interface MailCounts {
  waiting: number;
  given_up: number;
  /** How long the oldest that waits has waited; 0 when none does. */
  oldest_seconds: number;
}

const counts = row<MailCounts, []>(
  'mail_counts',
  'select waiting::float8, given_up::float8, oldest_seconds from app.mail_counts()',
);

/** How many mails of all brokerages wait and were given up: for operators alone. */
export const mailCounts = (): Statement<MailCounts> =>
  mapped(counts(), (found) => found ?? { waiting: 0, given_up: 0, oldest_seconds: 0 });

export interface ServiceState {
  /** Events that wait for their notifications to be made, and those of them that have failed so far. */
  events_waiting: number;
  events_failing: number;
  oldest_event_at: string | null;
  last_backup_at: string | null;
  last_backup_failure_at: string | null;
}

const state = row<ServiceState, []>(
  'service_state',
  `select events_waiting::float8, events_failing::float8, oldest_event_at, last_backup_at, last_backup_failure_at
   from app.service_state()`,
);

/** How the queue of events and backups fare, of all brokerages and nodes: for operators alone. */
export const serviceState = (): Statement<ServiceState | null> => state();

export interface DeliveryState {
  /** Changes that are not published to other systems yet, and since when some of them wait for transactions that are under way. */
  changes_waiting: number;
  changes_since: string | null;
  /** Deliveries that wait for webhooks that are on, and those of them that have failed so far. */
  deliveries_waiting: number;
  deliveries_failing: number;
  oldest_delivery_at: string | null;
  webhooks_on: number;
  /** Turned off because nothing was taken for three days. */
  webhooks_failed: number;
}

const deliveries = row<DeliveryState, []>(
  'delivery_state',
  `select changes_waiting::float8, changes_since, deliveries_waiting::float8, deliveries_failing::float8, oldest_delivery_at,
     webhooks_on::float8, webhooks_failed::float8
   from app.delivery_state()`,
);

/** How changes and webhooks fare, of all brokerages and nodes: for operators alone. */
export const deliveryState = (): Statement<DeliveryState | null> => deliveries();

interface WebhookStatus {
  waiting: number;
  /** Of those that wait, how many have failed so far. */
  failing: number;
  oldest_at: string | null;
  switched_off: number;
}

/** How the webhooks of the brokerage fare, by 1,000 deliveries that wait at most: zeros for everybody but its admins. */
export const webhookStatus = (brokerageId: string): Statement<WebhookStatus> =>
  mapped(ofWebhooks(brokerageId), (found) => found ?? { waiting: 0, failing: 0, oldest_at: null, switched_off: 0 });

const ofWebhooks = row<WebhookStatus, [brokerageId: string]>(
  'webhook_status',
  `select count(*)::float8 as waiting, count(*) filter (where w.attempts > 0)::float8 as failing, min(w.created_at) as oldest_at,
     (select count(*) from webhook_endpoints f where f.brokerage_id = $1 and f.off_reason = 'failing')::float8 as switched_off
   from (
     select d.attempts, d.created_at
     from webhook_endpoints e
     cross join lateral (
       select w.attempts, w.created_at from webhook_deliveries w where w.endpoint_id = e.id and w.state = 'waiting' limit 1000) d
     where e.brokerage_id = $1 and e.state = 'on' and app.is_key_in_force(e.key_id) limit 1000) w`,
);

interface JobStatus {
  /** A {@link JobName}, or what another release that works on this database calls a job of its own. */
  job: string;
  last_run_at: string;
  last_success_at: string | null;
  last_failure_at: string | null;
}

/** When each scheduled job last ran, on any node; none but for an admin of the brokerage. */
export const jobStatus = rows<JobStatus, [brokerageId: string]>(
  'job_status',
  'select job, last_run_at, last_success_at, last_failure_at from app.job_status($1)',
);

interface QueueStatus {
  mails_waiting: number;
  /** Of those that wait, how many have failed so far. */
  mails_failing: number;
  mails_given_up: number;
  oldest_mail_at: string | null;
  events_waiting: number;
  events_failing: number;
  oldest_event_at: string | null;
}

/**
 * How the mails of the brokerage and the events of its deals fare, 1,000 of each at most, and of events those among the oldest 10,000
 * of all brokerages; null but for an admin of it.
 */
export const queueStatus = row<QueueStatus, [brokerageId: string]>(
  'queue_status',
  `select mails_waiting, mails_failing, mails_given_up, oldest_mail_at, events_waiting, events_failing, oldest_event_at
   from app.queue_status($1)`,
);

interface BackupStatus {
  last_success_at: string | null;
  last_failure_at: string | null;
}

/** When backups were last made and failed, on any node; null but for an admin of the brokerage. */
export const backupStatus = row<BackupStatus, [brokerageId: string]>(
  'backup_status',
  'select last_success_at, last_failure_at from app.backup_status($1)',
);

interface DatabaseVersions {
  /** The release of PostgreSQL. */
  postgres: string;
  /** The newest migration that was applied. */
  schema: string;
}

/** What the database is. */
export const databaseVersions = row<DatabaseVersions, []>(
  'database_versions',
  `select current_setting('server_version') as postgres, (select max(name) from app.migrations) as schema`,
);
