-- compatible: a table and functions are added.
-- What operators and the admins of a brokerage see of the service itself: its scheduled jobs and how its mails fare.

-- When each scheduled job last ran, on any node; a row for each name in server/scheduled-jobs.ts, now or in an earlier release.
create table app.job_runs (
  job text primary key check (job ~ '^[a-z][a-z0-9_]{0,62}$'),
  last_run_at timestamptz not null,
  last_success_at timestamptz,
  last_failure_at timestamptz
);
select app.protect('app.job_runs');

-- Notes that a job has run, in a transaction of its own: how it ended is kept although what it did was rolled back.
create function app.note_job_run(of_job text, succeeded boolean) returns void
language sql security definer set search_path = '' as $$
  insert into app.job_runs as j (job, last_run_at, last_success_at, last_failure_at)
    values (of_job, app.now(), case when succeeded then app.now() end, case when not succeeded then app.now() end)
    on conflict (job) do update set last_run_at = excluded.last_run_at,
      last_success_at = coalesce(excluded.last_success_at, j.last_success_at),
      last_failure_at = coalesce(excluded.last_failure_at, j.last_failure_at)
$$;

-- How many mails of everybody wait and were given up, and for how many seconds the oldest has waited: for the metrics.
create function app.mail_counts() returns table (waiting bigint, given_up bigint, oldest_seconds float8)
language sql stable security definer set search_path = '' as $$
  select count(*) filter (where o.given_up_at is null), count(*) filter (where o.given_up_at is not null),
    coalesce(extract(epoch from app.now() - min(o.created_at) filter (where o.given_up_at is null)), 0)::float8
  from vault.outbox o where o.sent_at is null
$$;

-- For the admins of a brokerage: the scheduled jobs, which are of no brokerage. No row for anybody else.
create function app.job_status(of_brokerage uuid)
returns table (job text, last_run_at timestamptz, last_success_at timestamptz, last_failure_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query select j.job, j.last_run_at, j.last_success_at, j.last_failure_at from app.job_runs j order by j.job;
end
$$;

-- The same of the mails sent in the name of that brokerage, and of no others: how many wait and were given up, 1,000 at most.
-- No row for anybody else.
create function app.mail_status(of_brokerage uuid) returns table (waiting int, given_up int)
language plpgsql stable security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select count(*) filter (where u.given_up_at is null)::int, count(*) filter (where u.given_up_at is not null)::int
    from (
      select o.given_up_at from vault.outbox o
      where o.brokerage_id = of_brokerage and o.sent_at is null and (o.link is null or app.is_live_link(o.link))
      order by o.created_at desc limit 1000) u;
end
$$;

grant execute on function app.note_job_run(text, boolean), app.mail_counts(), app.job_status(uuid), app.mail_status(uuid)
  to dealkeep_server;
