-- compatible: the content of a function.
--
-- Whoever had more than 500 notifications to be mailed got several mails in the same minute that said the same.

create or replace function app.queue_notification_mails(most integer)
  returns integer
  language plpgsql security definer set search_path = '' as $$
declare
  -- A statement that runs into its limit takes back what it has written, and would be given the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  due record;
  ids uuid[];
  actors uuid[];
  is_by_clock boolean;
  reader_has_enough boolean;
  actor uuid;
  written int := 0;
  goes_on boolean := false;
  -- Each is looked at again when the mail is made, in one statement.
  most_of_mail constant int := 1000;
  next_hour constant timestamptz := date_trunc('hour', app.now(), 'UTC') + interval '1 hour';
begin
  -- One node at a time: two would count mails by the same people in different orders, and wait for each other.
  if not pg_try_advisory_xact_lock(hashtextextended('notification mails', 0)) then
    return 0;
  end if;
  for due in
    -- Mails about an account never wait: not behind those about deals either.
    select n.user_id, n.mail, case when n.mail = 'at_once' then n.deal_id end as deal_id,
      sum(count(*)) over () >= 2000 or count(*) over () > least(most, 200) as are_more
    from (
      (select a.user_id, a.mail, a.deal_id, a.mail_due_at, true as first from vault.notifications a
        where a.mail_due_at <= app.now() and a.mail = 'at_once' and a.deal_id is null order by a.mail_due_at limit 2000)
      union all
      (select d.user_id, d.mail, d.deal_id, d.mail_due_at, false from vault.notifications d
        where d.mail_due_at <= app.now() and (d.mail = 'daily' or d.deal_id is not null) order by d.mail_due_at limit 2000)) n
    group by 1, 2, 3, n.first order by n.first desc, min(n.mail_due_at) limit least(most, 200)
  loop
    goes_on := goes_on or due.are_more or written > 0 and clock_timestamp() > until;
    exit when written > 0 and clock_timestamp() > until;
    execute format('select array_agg(d.id), array_agg(distinct d.actor_id) filter (where d.actor_id is not null), coalesce(bool_or(d.actor_id is null), false)
        from (
          select o.id, o.actor_id from vault.notifications o
          where o.user_id = $1 and o.mail = $2 and o.mail_due_at <= app.now() and %s
          order by o.mail_due_at limit $4) d',
        case when due.mail = 'daily' then 'true' when due.deal_id is null then 'o.deal_id is null' else 'o.deal_id = $3' end)
      into ids, actors, is_by_clock using due.user_id, due.mail, due.deal_id, most_of_mail;
    continue when ids is null;
    goes_on := goes_on or cardinality(ids) = most_of_mail;
    if due.mail = 'at_once' and due.deal_id is not null then
      reader_has_enough := app.mails_this_hour('news to ' || due.user_id) >= 30;
      if reader_has_enough or not (is_by_clock or exists (select from unnest(actors) a where app.mails_this_hour('news by ' || a) < 300)) then
        -- With whatever else is due of the same, or it would be looked at again and again within the hour.
        update vault.notifications n set mail_due_at = next_hour
          where n.id in (
            select o.id from vault.notifications o
            where o.user_id = due.user_id and o.mail = 'at_once' and o.deal_id is not null and o.mail_due_at <= app.now()
              and (reader_has_enough or o.deal_id = due.deal_id and o.actor_id = any (actors))
            order by o.mail_due_at limit 2000);
        written := written + 1;
        continue;
      end if;
      perform app.count_mail('news to ' || due.user_id, 'hour', 30);
      foreach actor in array coalesce(actors, '{}') loop
        perform app.count_mail('news by ' || actor, 'hour', 300);
      end loop;
    end if;
    update vault.notifications n set mail_due_at = null, mailed_at = app.now() where n.id = any (ids);
    -- The rest comes with the next daily mail, or in the next hour, rather than in mails of the same minute that say the same, except what concerns the account.
    if cardinality(ids) = most_of_mail then
      update vault.notifications n set mail_due_at = case due.mail when 'daily' then app.next_digest(due.user_id) else next_hour end
        where n.id = any (array(select o.id from vault.notifications o
          where o.user_id = due.user_id and o.mail = due.mail and o.mail_due_at <= app.now() and o.deal_id is not null
            and (due.mail = 'daily' or o.deal_id = due.deal_id)
          order by o.mail_due_at limit 20000));
    end if;
    select array_agg(n.id order by n.at, n.id) into ids from vault.notifications n where n.id = any (ids);
    perform app.queue_mail('notifications', u.email, u.id,
        (select min(d.organization_id::text)::uuid from vault.notifications n join public.deals d on d.id = n.deal_id
          where n.id = any (ids) having count(distinct d.organization_id) = 1),
        due.deal_id, due.mail = 'at_once' and due.deal_id is null, jsonb_build_object('daily', due.mail = 'daily', 'notifications', ids), null, null)
      from public.users u where u.id = due.user_id and u.suspended_at is null;
    written := written + 1;
  end loop;
  return case when goes_on then most else written end;
end
$$;
