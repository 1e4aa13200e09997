-- compatible: functions and columns are added; what is replaced answers as before.
-- Operators and the admins of a brokerage see how backups and queues fare; what has run out is cleared by the clock alone; the
-- secret of links that stop mails can be renewed.

create index events_by_deal on vault.events (deal_id);

-- For the metrics and dealkeep doctor: how many events of everybody wait to be told and have failed so far, since when the oldest waits,
-- and when a backup was last made and last failed, on any node.
create function app.service_state() returns table (events_waiting bigint, events_failing bigint, oldest_event_at timestamptz,
  last_backup_at timestamptz, last_backup_failure_at timestamptz)
language sql stable security definer set search_path = '' as $$
  select count(*), count(*) filter (where e.last_error is not null), min(e.at), max(b.last_success_at), max(b.last_failure_at)
  from (select) one
  left join app.job_runs b on b.job = 'backup'
  left join vault.events e on true
$$;

-- For the admins of a brokerage: its mails that wait, of them those that have failed so far, and those that were given up; and the events of
-- its deals that wait to be told. 1,000 of each at most. No row for anybody else.
create function app.queue_status(of_brokerage uuid) returns table (mails_waiting int, mails_failing int, mails_given_up int,
  oldest_mail_at timestamptz, events_waiting int, events_failing int, oldest_event_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select m.waiting, m.failing, m.given_up, m.oldest, e.waiting, e.failing, e.oldest
    from (
      select count(*) filter (where u.given_up_at is null)::int as waiting,
        count(*) filter (where u.given_up_at is null and u.last_error is not null)::int as failing,
        count(*) filter (where u.given_up_at is not null)::int as given_up,
        min(u.created_at) filter (where u.given_up_at is null) as oldest
      from (
        select o.given_up_at, o.last_error, o.created_at from vault.outbox o
        where o.brokerage_id = of_brokerage and o.sent_at is null and (o.link is null or app.is_live_link(o.link))
        order by o.created_at desc limit 1000) u) m
    cross join (
      select count(*)::int as waiting, count(*) filter (where w.last_error is not null)::int as failing, min(w.at) as oldest
      from (
        select v.last_error, v.at from vault.events v join public.deals d on d.id = v.deal_id
        where d.organization_id = of_brokerage order by v.at desc limit 1000) w) e;
end
$$;

-- No release has asked this one, which told less of the same.
drop function app.mail_status(uuid);

-- When backups were last made and failed: for the admins of a brokerage. No row for anybody else.
create function app.backup_status(of_brokerage uuid) returns table (last_success_at timestamptz, last_failure_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select b.last_success_at, b.last_failure_at from (select) one left join app.job_runs b on b.job = 'backup';
end
$$;

-- Clearing ----------------------------------------------------------------------------------------------------------------

-- As it was, and the links that create the first brokerage.
create or replace function app.purge_sign_in() returns int
language plpgsql security definer set search_path = '' as $$
declare
  purged int := 0;
  part int;
begin
  delete from vault.sessions s
    where s.ended_at < app.now() - interval '1 day' or s.created_at < app.now() - interval '31 days'
      or s.last_seen_at < app.now() - interval '2 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.sign_in_steps s where s.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.known_devices k where k.used_at <= app.now() - interval '180 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.challenges c where c.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.password_resets r where r.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.address_changes a where a.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.set_up_links l where l.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.mail_counts m where m.since < app.now() - interval '2 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.invitations i where i.expires_at < app.now() - interval '30 days';
  get diagnostics part = row_count;
  return purged + part;
end
$$;

-- Deletes what was kept of repeatable creations of contacts more than a day ago, 10,000 at most at a time; how many. For the scheduled jobs.
create function app.purge_idempotency_keys() returns int
language plpgsql security definer set search_path = '' as $$
declare
  purged int;
begin
  delete from vault.idempotency_keys k using (
    select o.key_id, o.idempotency_key from vault.idempotency_keys o
    where o.made_at <= app.now() - interval '24 hours' order by o.made_at limit 10000 for update skip locked) o
  where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  get diagnostics purged = row_count;
  return purged;
end
$$;

-- Links that stop mails ---------------------------------------------------------------------------------------------------

-- The secret before this one seals no new links, and is good for those in mails that were sent, until then.
alter table vault.unsubscribe_secret add column previous bytea, add column previous_until timestamptz,
  add check ((previous is null) = (previous_until is null));

-- The seals of a person and kinds that hold: first the one that new links get.
create function app.unsubscribe_seals(person uuid, kinds text) returns text[]
language sql stable set search_path = '' as $$
  select array_agg(encode(substring(sha256(convert_to('unsubscribe ' || person || ' ' || kinds, 'UTF8') || k.secret) for 16), 'hex')
    order by k.place)
  from vault.unsubscribe_secret s
  cross join lateral (values (1, s.secret), (2, case when s.previous_until > app.now() then s.previous end)) k (place, secret)
  where k.secret is not null
$$;

create or replace function app.unsubscription(token text) returns table (person uuid, kinds text[])
language plpgsql stable set search_path = '' as $$
begin
  if length(token) > 800 or token !~ '^[0-9a-f-]{36}\.[a-z_+]+\.[0-9a-f]{32}$' then
    return;
  end if;
  if (split_part(token, '.', 3) = any (app.unsubscribe_seals(split_part(token, '.', 1)::uuid, split_part(token, '.', 2)))) is not true then
    return;
  end if;
  return query select split_part(token, '.', 1)::uuid, string_to_array(split_part(token, '.', 2), '+');
exception when data_exception then
  return;
end
$$;

grant execute on function app.service_state(), app.queue_status(uuid), app.backup_status(uuid), app.purge_idempotency_keys()
  to dealkeep_server;
