-- compatible: the function does the same, for one node at a time.
--
-- Two nodes that wrote notification mails each had one person's, and counted mails by the same people in the order of their readers: each could wait for the other, and PostgreSQL took back what one
-- of both had written. While one writes, the others find nothing to do.

create or replace function app.queue_notification_mails(most integer)
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  due record;
  ids uuid[];
  actors uuid[];
  is_by_clock boolean;
  actor uuid;
  written int := 0;
begin
  -- One node at a time: two would count mails by the same people in different orders, and wait for each other.
  if not pg_try_advisory_xact_lock(hashtextextended('notification mails', 0)) then
    return 0;
  end if;
  for due in
    select n.user_id, n.mail, case when n.mail = 'at_once' then n.deal_id end as deal_id
    from (select * from vault.notifications n where n.mail_due_at <= app.now() order by n.mail_due_at limit 2000) n
    group by 1, 2, 3 limit least(most, 200)
  loop
    select array_agg(d.id), array_agg(distinct d.actor_id) filter (where d.actor_id is not null), coalesce(bool_or(d.actor_id is null), false)
      into ids, actors, is_by_clock
      from (
        select o.id, o.actor_id from vault.notifications o
        where o.user_id = due.user_id and o.mail = due.mail and o.mail_due_at <= app.now()
          and (due.mail = 'daily' or o.deal_id is not distinct from due.deal_id)
        order by o.at desc limit 500) d;
    continue when ids is null;
    if due.mail = 'at_once' and due.deal_id is not null then
      if app.mails_this_hour('news to ' || due.user_id) >= 30
        or not (is_by_clock or exists (select from unnest(actors) a where app.mails_this_hour('news by ' || a) < 300))
      then
        update vault.notifications n set mail_due_at = date_trunc('hour', app.now(), 'UTC') + interval '1 hour' where n.id = any (ids);
        written := written + 1;
        continue;
      end if;
      perform app.count_mail('news to ' || due.user_id, 'hour', 30);
      foreach actor in array coalesce(actors, '{}') loop
        perform app.count_mail('news by ' || actor, 'hour', 300);
      end loop;
    end if;
    update vault.notifications n set mail_due_at = null, mailed_at = app.now() where n.id = any (ids);
    select array_agg(n.id order by n.at, n.id) into ids from vault.notifications n where n.id = any (ids);
    perform app.queue_mail('notifications', u.email, u.id,
        (select min(d.organization_id::text)::uuid from vault.notifications n join public.deals d on d.id = n.deal_id
          where n.id = any (ids) having count(distinct d.organization_id) = 1),
        due.deal_id, due.mail = 'at_once' and due.deal_id is null, jsonb_build_object('daily', due.mail = 'daily', 'notifications', ids), null, null)
      from public.users u where u.id = due.user_id and u.suspended_at is null;
    written := written + 1;
  end loop;
  return written;
end
$$;
