-- compatible: a table and functions are added.
--
-- A deal's activity as each may see it, and when somebody looked at a tab of a deal before.

-- What others did on the deal to which the transaction is narrowed, to records that the caller could open: the latest first, at most so many, behind a
-- place. For those who neither run the deal nor administer its brokerage: they read all of it by the policies. A list ends where none of the next
-- 2,000 acts was done to what the caller could open.
create function app.deal_activity_in_sight(deal uuid, after_at timestamptz, after_id uuid, most int)
returns table (id uuid, at timestamptz, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  one public.audit_records;
  shown int := 0;
begin
  if me is null or app.narrowed_to() is distinct from deal or deal = any (app.deals_acting_as('broker'))
    or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
  then
    return;
  end if;
  for one in
    select a.* from public.audit_records a
    where a.deal_id = deal and a.outcome = 'done' and a.action not like 'tool:%'
      and (after_at is null or (a.at, a.id) < (after_at, after_id))
      and a.user_id is distinct from me and app.subject_of(a.action, a.details) is not null
      and a.subject_id ~ '^[0-9a-f-]{36}$'
    order by a.at desc, a.id desc limit 2000
  loop
    if app.could_open(app.subject_of(one.action, one.details), one.subject_id::uuid, deal) then
      id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := one.deal_id;
      action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
      return next;
      shown := shown + 1;
      exit when shown >= least(most, 200);
    end if;
  end loop;
end
$$;
grant execute on function app.deal_activity_in_sight(uuid, timestamptz, uuid, int) to dealkeep_server;

-- When somebody's visit to a tab of a deal began, and the one before. One row for the three of them.
create table vault.visits (
  user_id uuid not null references users,
  deal_id uuid not null references deals,
  brokerage_id uuid not null,
  tab text not null check (tab in ('documents', 'questions', 'offers')),
  began_at timestamptz not null default app.now(),
  before_at timestamptz,
  primary key (user_id, deal_id, tab)
);
create index visits_by_deal on vault.visits (deal_id);
create index visits_by_time on vault.visits (began_at);
select app.protect('vault.visits');
create trigger set_tenant before insert or update of deal_id, brokerage_id on vault.visits for each row execute function app.set_tenant_by_deal();

-- Notes that the caller looks at a tab of a deal that they see; when their visit before began, or null: there was none. Whoever looks again within
-- half an hour of the beginning is on the same visit, and nothing is written.
create function app.visit(deal uuid, of_tab text) returns timestamptz
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  earlier timestamptz;
begin
  if app.user_id() is null or app.client_id() is not null or app.seen_deal(deal) is null then
    return null;
  end if;
  insert into vault.visits as v (user_id, deal_id, tab) values (app.user_id(), deal, of_tab)
    on conflict (user_id, deal_id, tab) do update set before_at = v.began_at, began_at = excluded.began_at
      where v.began_at <= now - interval '30 minutes';
  select v.before_at into earlier from vault.visits v where v.user_id = app.user_id() and v.deal_id = deal and v.tab = of_tab;
  return earlier;
end
$$;
grant execute on function app.visit(uuid, text) to dealkeep_server;

-- Nothing says any more when somebody who is off a deal looked at it, or somebody who is erased.
create function app.forget_visits() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_table_name = 'users' then
    delete from vault.visits v where v.user_id = new.id;
  else
    delete from vault.visits v where v.user_id = new.user_id and v.deal_id = new.deal_id;
  end if;
  return null;
end
$$;
create trigger forget_visits after update of erased_at on users for each row
  when (new.erased_at is not null) execute function app.forget_visits();
create trigger forget_visits after update of status on participants for each row
  when (new.status = 'removed') execute function app.forget_visits();

-- As it was, and visits half a year old.
create or replace function app.purge_notifications() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  purged int;
begin
  delete from vault.visits v where v.ctid = any (array(
    select o.ctid from vault.visits o where o.began_at < app.now() - interval '180 days' order by o.began_at limit 10000));
  delete from vault.sent_reminders s where s.ctid = any (array(
    select o.ctid from vault.sent_reminders o where o.sent_at < app.now() - interval '2 days' order by o.sent_at limit 10000));
  delete from vault.notifications n where n.id in (
    select o.id from vault.notifications o where o.at < app.now() - interval '180 days' order by o.at limit 10000);
  get diagnostics purged = row_count;
  return purged;
end
$$;

create or replace function app.notification_data(person uuid) returns jsonb
language sql stable security definer set search_path = '' as $$
  select jsonb_build_object(
    'calendar_link', (select jsonb_build_object('created_at', l.created_at) from vault.calendar_links l where l.user_id = person),
    'reminders', (select coalesce(jsonb_agg(jsonb_build_object('about', s.subject, 'deal_id', s.deal_id, 'sent_at', s.sent_at) order by s.sent_at), '[]')
      from vault.sent_reminders s where s.recipient_id = person or s.sent_by = person),
    'visits', (select coalesce(jsonb_agg(to_jsonb(v) - 'user_id' order by v.began_at), '[]') from vault.visits v where v.user_id = person))
$$;
