-- compatible: functions that nodes do not call, and triggers.
--
-- Who joined a brokerage, or a deal of it, after its deletion was announced was not told of it.

set lock_timeout = '5s';

drop function app.mail_deletion(uuid, uuid, timestamptz, boolean);

create function app.mail_deletion(of_brokerage uuid, by_whom uuid, due timestamptz, cancelled boolean, only_to uuid default null) returns void
  language plpgsql set search_path = ''
as $$
declare
  facts constant jsonb := jsonb_build_object('brokerage', (select b.name from public.brokerages b where b.id = of_brokerage), 'due_at', due, 'cancelled', cancelled);
  author constant jsonb := jsonb_build_object('by', (select w.name from public.users w where w.id = by_whom));
begin
  perform app.queue_mail(case when p.administers then 'brokerage_deletion' else 'deletion_of_deals' end, u.email, u.id, of_brokerage, null, false,
      facts || jsonb_build_object('name', u.name) || case when p.administers then author else '{}' end, null, null)
    from (
      select a.user_id, bool_or(a.administers) as administers
      from (
        select m.user_id, m.role = 'admin' as administers from public.members m where m.brokerage_id = of_brokerage and m.status = 'active'
        union all
        select p.user_id, false from public.deals d join public.participants p on p.deal_id = d.id
          where d.organization_id = of_brokerage and p.status = 'active') a
      where only_to is null or a.user_id = only_to
      group by a.user_id) p
    join public.users u on u.id = p.user_id and u.suspended_at is null
    order by p.administers desc, u.id;
end
$$;

create function app.tell_who_joins() returns trigger
  language plpgsql security definer set search_path = ''
as $$
declare
  asked vault.brokerage_deletions;
begin
  -- Whoever announces the deletion meanwhile is waited for, or waits and tells this person, too.
  perform from public.brokerages b where b.id = new.brokerage_id for key share;
  select d.* into asked from vault.brokerage_deletions d
    where d.brokerage_id = new.brokerage_id and d.begun_at is null and d.due_at > app.now();
  -- Whoever had a part there already was told; of several deals joined at once the first one tells.
  if found
    and not exists (select from public.members m
      where m.brokerage_id = new.brokerage_id and m.user_id = new.user_id and m.status = 'active' and tg_table_name <> 'members')
    and not exists (select from public.participants p
      where p.user_id = new.user_id and p.brokerage_id = new.brokerage_id and p.status = 'active'
        and (p.joined_at < new.joined_at or p.joined_at = new.joined_at and p.deal_id < (to_jsonb(new) ->> 'deal_id')::uuid))
  then
    perform app.mail_deletion(new.brokerage_id, asked.asked_by, asked.due_at, false, new.user_id);
  end if;
  return null;
end
$$;

create trigger tell_new after insert on public.members
  for each row when (new.status = 'active') execute function app.tell_who_joins();
create trigger tell_joined after update of status on public.members
  for each row when (new.status = 'active' and old.status <> 'active') execute function app.tell_who_joins();
create trigger tell_new after insert on public.participants
  for each row when (new.status = 'active') execute function app.tell_who_joins();
create trigger tell_joined after update of status on public.participants
  for each row when (new.status = 'active' and old.status <> 'active') execute function app.tell_who_joins();
