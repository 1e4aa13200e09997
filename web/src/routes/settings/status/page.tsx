import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useBrokerage } from '../../../api/me.ts';
import { statusQuery } from '../../../api/settings.ts';
import type { JobName, ServiceStatus } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { formatWaiting } from '../../../lib/format.ts';
import { paths } from '../../../paths.ts';
import { NoBrokerage } from '../no-brokerage.tsx';
import { SettingsPage } from '../settings-page.tsx';

/** Descriptions of the scheduled jobs, by their names in the log. */
const jobLabels: Readonly<Record<JobName, string>> = {
  sweep: 'Process expirations',
  queue_reminders: 'Send deadline reminders',
  purge_notifications: 'Clear old notifications',
  purge_changes: 'Clear old events of connected systems',
  purge_webhooks: 'Clear old webhook deliveries',
  purge_sign_in: 'Clear ended sessions and used links',
  clear_addresses: 'Clear the addresses of erased people',
  purge_authorization: 'Clear expired client tokens',
  purge_mails: 'Clear old e-mails',
  clear_mail_files: 'Clear old e-mails in files',
  fail_abandoned_snapshots: 'Mark interrupted imports as failed',
  keep_audit_months: 'Keep the audit trail by month',
  purge_limits: 'Clear old request counts',
  purge_idempotency_keys: 'Clear old idempotency keys',
  delete_brokerages: 'Delete brokerages scheduled for deletion',
  clear_store: 'Clear documents removed long ago',
};

/** A job of another release on the same database is shown by its name. */
const labelOf = (job: string): string => (Object.hasOwn(jobLabels, job) ? jobLabels[job as JobName] : job);

type Job = ServiceStatus['jobs'][number];

const hasFailed = ({ last_failure_at: failed, last_run_at: ran }: Job): boolean => failed !== null && failed === ran;

function JobRow({ job }: { job: Job }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3.5 gap-y-1 px-4 py-2.5 sm:px-5">
      <span className="min-w-0 flex-1 basis-56 break-words">{labelOf(job.job)}</span>
      {hasFailed(job) && <Badge tone="bad">Failed</Badge>}
      <span className="text-sm text-faint">
        {job.last_success_at ? (
          <>
            Succeeded <Time at={job.last_success_at} />
          </>
        ) : (
          <>
            Tried <Time at={job.last_run_at} />
          </>
        )}
      </span>
    </li>
  );
}

type Queue = ServiceStatus['notifications'];

/** The number of waiting entries, since when the oldest one waits, and how many have failed so far, if any. */
function QueueFacts({ queue: { waiting, failing, oldest_at } }: { queue: Queue }) {
  return (
    <>
      <Fact label="Waiting">{formatWaiting(waiting)}</Fact>
      {oldest_at !== null && (
        <Fact label="Oldest waiting since">
          <Time at={oldest_at} />
        </Fact>
      )}
      {failing > 0 && <Fact label="Failed so far">{failing}</Fact>}
    </>
  );
}

const hours = (seconds: number): string => {
  const whole = Math.round(seconds / 3600);
  if (seconds < 5400) return `${Math.round(seconds / 60)} minutes`;
  return whole % 24 === 0 ? `${whole / 24 === 1 ? 'day' : `${whole / 24} days`}` : `${whole} hours`;
};

function Backups({ backup: { every_seconds, last_success_at, last_failure_at } }: { backup: ServiceStatus['backup'] }) {
  const failed = last_failure_at !== null && (last_success_at === null || last_failure_at > last_success_at);
  return (
    <Card title="Backups">
      <Facts>
        <Fact label="Last made">{last_success_at ? <Time at={last_success_at} /> : 'Never'}</Fact>
        <Fact label="Schedule">
          {every_seconds === null ? 'Not made by this service' : `Every ${hours(every_seconds)}`}
        </Fact>
        {failed && (
          <Fact label="Last attempt">
            <Badge tone="bad">Failed</Badge> <Time at={last_failure_at} />
          </Fact>
        )}
      </Facts>
    </Card>
  );
}

/** The settings page “Status”: the state of the service, for admins. */
export default function StatusSettings() {
  const brokerage = useBrokerage();
  const id = brokerage?.role === 'admin' ? brokerage.brokerage_id : null;
  const query = useQuery({ ...statusQuery(id ?? ''), enabled: id !== null });
  return (
    <SettingsPage title="Status" description="How the service that your brokerage uses is running.">
      {brokerage === null && <NoBrokerage />}
      {brokerage !== null && id === null && (
        <Card>
          <p className="text-soft">An admin of the brokerage can see this.</p>
        </Card>
      )}
      {id !== null && (
        <Loaded query={query} skeleton={<SkeletonText lines={8} />}>
          {({ versions, mail, notifications, webhooks, backup, jobs, store }) => (
            <>
              <Card title="The brokerage’s e-mail">
                <Facts>
                  <QueueFacts queue={mail} />
                  <Fact label="Not delivered">
                    {mail.given_up}
                    {mail.given_up > 0 && (
                      <>
                        {' · '}
                        <Link to={paths.members} className="text-accent hover:underline">
                          Send them again
                        </Link>
                      </>
                    )}
                  </Fact>
                </Facts>
              </Card>
              <Card title="Notifications of the brokerage’s deals">
                <Facts>
                  <QueueFacts queue={notifications} />
                </Facts>
              </Card>
              <Card title="Webhooks of the brokerage">
                <Facts>
                  <QueueFacts queue={webhooks} />
                  <Fact label="Turned off: not answering">
                    {webhooks.switched_off}
                    {webhooks.switched_off + webhooks.failing > 0 && (
                      <>
                        {' · '}
                        <Link to={paths.webhooks} className="text-accent hover:underline">
                          View the webhooks
                        </Link>
                      </>
                    )}
                  </Fact>
                </Facts>
              </Card>
              <Backups backup={backup} />
              <Card
                title="Scheduled work"
                description="What the service does automatically, and when it last ran."
                flush={jobs.length > 0}
              >
                {jobs.length === 0 ? (
                  <p className="text-soft">Nothing has run yet.</p>
                ) : (
                  <ul className="divide-y divide-line">
                    {jobs.map((job) => (
                      <JobRow key={job.job} job={job} />
                    ))}
                  </ul>
                )}
              </Card>
              <Card title="Versions">
                <Facts>
                  <Fact label="Dealkeep">{versions.product}</Fact>
                  <Fact label="Node.js">{versions.node}</Fact>
                  <Fact label="PostgreSQL">{versions.postgres}</Fact>
                  <Fact label="Schema">{versions.schema.split('_')[0]}</Fact>
                  <Fact label="Documents">{store === 'bucket' ? 'In an object store' : 'In a directory'}</Fact>
                </Facts>
              </Card>
            </>
          )}
        </Loaded>
      )}
    </SettingsPage>
  );
}
