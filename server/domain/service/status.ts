/** How the service itself is doing, for its operators and for the admins of a brokerage. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';

const note = row<unknown, [job: string, succeeded: boolean]>('note_job_run', 'select app.note_job_run($1, $2)');

/** Notes that a scheduled job has run. */
export const noteJobRun = (job: string, succeeded: boolean): Statement<unknown> => note(job, succeeded);

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

export interface JobStatus {
  /** Its name, as in the log and the metrics. */
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

export interface MailStatus {
  waiting: number;
  given_up: number;
}

/** How many mails of the brokerage wait and were given up, 1,000 at most; null but for an admin of it. */
export const mailStatus = row<MailStatus, [brokerageId: string]>(
  'mail_status',
  'select waiting, given_up from app.mail_status($1)',
);

export interface DatabaseVersions {
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
