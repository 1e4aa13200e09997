-- compatible: a column with a default, and a function returns one column more, which old nodes do not ask for.
-- Alerts tell of a backup that was made but lacks documents.

-- Of the job backup only: how many documents the last one that was made lacks.
alter table app.job_runs add missing_documents integer not null default 0;

drop function app.service_state();
create function app.service_state()
  returns table (events_waiting bigint, events_failing bigint, oldest_event_at timestamptz, last_backup_at timestamptz, last_backup_failure_at timestamptz, last_backup_missing integer)
language sql stable security definer set search_path = '' as $$
  select e.waiting, e.failing, e.oldest, b.last_success_at, b.last_failure_at, coalesce(b.missing_documents, 0)
  from (
    select count(*) as waiting, count(*) filter (where e.last_error is not null) as failing, min(e.at) as oldest
    from (select e.at, e.last_error from vault.events e order by e.id limit 10000) e) e
  left join app.job_runs b on b.job = 'backup'
$$;
grant execute on function app.service_state() to dealkeep_server;
