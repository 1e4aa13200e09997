/** The state of the service itself, for its operators and for the admins of a brokerage. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';

/** Scheduled jobs, by their names in the log, the metrics and the Status page. */
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
  | 'clear_mail_files'
  | 'delete_brokerages';

/** The job name under which successful and failed backups are recorded. */
export const backupJob = 'backup';

const note = row<unknown, [job: string, succeeded: boolean]>('note_job_run', 'select app.note_job_run($1, $2)');

/** Records that a scheduled job has run. */
export const noteJobRun = (job: JobName | typeof backupJob, succeeded: boolean): Statement<unknown> =>
  note(job, succeeded);

export interface MailCounts {
  waiting: number;
  given_up: number;
  /** Seconds that the oldest waiting mail has waited; 0 when there is none. */
  oldest_seconds: number;
}

const counts = row<MailCounts, []>(
  'mail_counts',
  'select waiting::float8, given_up::float8, oldest_seconds from app.mail_counts()',
);

/** How many mails of all brokerages are waiting and how many were given up: for operators only. */
export const mailCounts = (): Statement<MailCounts> =>
  mapped(counts(), (found) => found ?? { waiting: 0, given_up: 0, oldest_seconds: 0 });

export interface ServiceState {
  /** Events whose notifications have not been created yet, and how many of them have failed so far. */
  events_waiting: number;
  events_failing: number;
  oldest_event_at: string | null;
  last_backup_at: string | null;
  last_backup_failure_at: string | null;
  /** How many documents the last backup lacks. */
  last_backup_missing: number;
}

const state = row<ServiceState, []>(
  'service_state',
  `select events_waiting::float8, events_failing::float8, oldest_event_at, last_backup_at, last_backup_failure_at, last_backup_missing
   from app.service_state()`,
);

/** The state of the event queue and of the backups, for all brokerages and nodes: for operators only. */
export const serviceState = (): Statement<ServiceState | null> => state();

export interface DeliveryState {
  /**
   * Changes not yet published to other systems, and since when some of them have waited for transactions in progress.
   */
  changes_waiting: number;
  changes_since: string | null;
  /** Waiting deliveries of webhooks that are on, and how many of them have failed so far. */
  deliveries_waiting: number;
  deliveries_failing: number;
  oldest_delivery_at: string | null;
  webhooks_on: number;
  /** Webhooks turned off because no delivery succeeded for three days. */
  webhooks_failed: number;
}

const deliveries = row<DeliveryState, []>(
  'delivery_state',
  `select changes_waiting::float8, changes_since, deliveries_waiting::float8, deliveries_failing::float8, oldest_delivery_at,
     webhooks_on::float8, webhooks_failed::float8
   from app.delivery_state()`,
);

/** The state of changes and webhooks, for all brokerages and nodes: for operators only. */
export const deliveryState = (): Statement<DeliveryState | null> => deliveries();

interface WebhookStatus {
  waiting: number;
  /** How many of the waiting deliveries have failed so far. */
  failing: number;
  oldest_at: string | null;
  switched_off: number;
}

/**
 * The state of the brokerage's webhooks, from at most 1,000 waiting deliveries: zeros unless the caller is one of its
 * admins.
 */
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
  /** A {@link JobName}, or the name of a job of another release that works on this database. */
  job: string;
  last_run_at: string;
  last_success_at: string | null;
  last_failure_at: string | null;
}

/** When each scheduled job last ran, on any node; no rows unless the caller is an admin of the brokerage. */
export const jobStatus = rows<JobStatus, [brokerageId: string]>(
  'job_status',
  'select job, last_run_at, last_success_at, last_failure_at from app.job_status($1)',
);

interface QueueStatus {
  mails_waiting: number;
  /** How many of the waiting mails have failed so far. */
  mails_failing: number;
  mails_given_up: number;
  oldest_mail_at: string | null;
  events_waiting: number;
  events_failing: number;
  oldest_event_at: string | null;
}

/**
 * The state of the brokerage's mails and of the events of its deals: at most 1,000 of each, and only events among the
 * oldest 10,000 of all brokerages. Null unless the caller is an admin of the brokerage.
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

/** When a backup last succeeded and last failed, on any node; null unless the caller is an admin of the brokerage. */
export const backupStatus = row<BackupStatus, [brokerageId: string]>(
  'backup_status',
  'select last_success_at, last_failure_at from app.backup_status($1)',
);

interface DatabaseVersions {
  postgres: string;
  /** The name of the newest applied migration. */
  schema: string;
}

/** The versions of PostgreSQL and of the schema. */
export const databaseVersions = row<DatabaseVersions, []>(
  'database_versions',
  `select current_setting('server_version') as postgres, (select max(name) from app.migrations) as schema`,
);
