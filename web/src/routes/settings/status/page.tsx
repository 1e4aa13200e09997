import { useQuery } from '@tanstack/react-query';
import { useBrokerage } from '../../../api/me.ts';
import { statusQuery } from '../../../api/settings.ts';
import type { ServiceStatus } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { NoBrokerage } from '../no-brokerage.tsx';
import { SettingsPage } from '../settings-page.tsx';

/** What the jobs do, by their names in the log; one that is not here is shown by its name. */
const jobLabels: Readonly<Record<string, string>> = {
  sweep: 'End what has expired',
  queue_reminders: 'Remind of deadlines',
  purge_notifications: 'Clear old notifications',
  purge_sign_in: 'Clear ended sessions and used links',
  purge_authorization: 'Clear expired tokens of clients',
  purge_mails: 'Clear old mails',
  fail_abandoned_snapshots: 'Give up imports that broke off',
  keep_audit_months: 'Keep the audit trail by month',
  purge_limits: 'Clear counts of requests',
  clear_store: 'Clear documents taken out long ago',
};

type Job = ServiceStatus['jobs'][number];

const hasFailed = ({ last_failure_at: failed, last_run_at: ran }: Job): boolean => failed !== null && failed === ran;

function JobRow({ job }: { job: Job }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3.5 gap-y-1 px-4 py-2.5 sm:px-5">
      <span className="min-w-0 flex-1 basis-56 break-words">{jobLabels[job.job] ?? job.job}</span>
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

/** The settings page “Status”: how the service is doing, for admins. */
export default function StatusSettings() {
  const brokerage = useBrokerage();
  const id = brokerage?.role === 'admin' ? brokerage.brokerage_id : null;
  const query = useQuery({ ...statusQuery(id ?? ''), enabled: id !== null });
  return (
    <SettingsPage title="Status" description="How the service that your brokerage works with is doing.">
      {brokerage === null && <NoBrokerage />}
      {brokerage !== null && id === null && (
        <Card>
          <p className="text-soft">An admin of the brokerage can see this.</p>
        </Card>
      )}
      {id !== null && (
        <Loaded query={query} skeleton={<SkeletonText lines={8} />}>
          {({ versions, mail, jobs, store }) => (
            <>
              <Card title="Mail of the brokerage">
                <Facts>
                  <Fact label="Waiting">{mail.waiting}</Fact>
                  <Fact label="Given up">{mail.given_up}</Fact>
                </Facts>
              </Card>
              <Card
                title="Scheduled work"
                description="What the service does by itself, and when it last did."
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
                  <Fact label="Schema">{versions.schema}</Fact>
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
