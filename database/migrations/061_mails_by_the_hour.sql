-- compatible: more is refused, in the words and by the code that there were; mails of notifications beyond a number come later.
-- What somebody can cause in mails is bounded by the hour too, for all nodes together: of a sender, to a mailbox, of notifications
-- by who caused them and by who gets them.

-- How many were counted of this subject in this hour.
create function app.mails_this_hour(subject text) returns int
language sql stable security definer set search_path = '' as $$
  select coalesce((select m.sent from vault.mail_counts m
    where m.subject = 'hour ' || mails_this_hour.subject and m.since = date_trunc('hour', app.now(), 'UTC')), 0)
$$;

-- As it was, and sixty an hour of a sender, ten an hour to a mailbox, whoever sends them.
create or replace function app.count_mail_to(sender uuid, brokerage uuid, mailbox text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse_mail('minute', 'You have sent 20 mails within a minute: go on in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'hour', 60) then
    perform app.refuse_mail('hour', 'You have sent 60 mails within this hour: go on in the next one, or make a link and hand it on.');
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse_mail('day', 'You have sent 100 mails today: go on tomorrow, or make a link and hand it on.');
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse_mail('day', 'Your brokerage has sent 500 mails today: go on tomorrow, or make a link and hand it on.');
  end if;
  if not app.count_mail('to ' || mailbox, 'hour', 10) then
    perform app.refuse_mail('hour',
      'This address was sent many mails within this hour: go on in the next one, or make a link and hand it on.');
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || mailbox, 'day', 5)
    or not app.count_mail('to ' || mailbox, 'day', 20)
  then
    perform app.refuse_mail('day',
      'This address was sent many mails today: go on tomorrow, or make a link and hand it on.');
  end if;
end
$$;

-- As it was, and ten an hour to a person, sixty an hour from an address.
create or replace function app.ask_reset(given_email text, token bytea, address inet, request_id text) returns table (email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
  asker constant text := case family(address) when 6 then host(network(set_masklen(address, 64))) else coalesce(host(address), '') end;
begin
  select u.* into person from public.users u
    where u.email = lower(given_email) and u.suspended_at is null
      and 5 > (select count(*) from vault.password_resets r where r.user_id = u.id and r.expires_at > app.now());
  if not found then
    return;
  end if;
  -- Nobody is told: it would show that there is an account.
  if not app.count_mail('reset by ' || asker, 'hour', 60) or not app.count_mail('reset by ' || asker, 'day', 200)
    or not app.count_mail('reset to ' || person.id, 'hour', 10) or not app.count_mail('reset to ' || person.id, 'day', 20)
  then
    return;
  end if;
  delete from vault.password_resets r where r.user_id = person.id and r.expires_at <= app.now();
  insert into vault.password_resets (digest, user_id) values (token, person.id);
  perform app.record(person.id, 'password.reset_ask', 'done', null, address, request_id);
  return query select person.email, person.name;
end
$$;

-- As it was, but beyond thirty mails an hour to somebody, and beyond three hundred caused by somebody, what happened on a deal is told by mail
-- at the beginning of the next hour, several together; in the application it is at once. What concerns the security of an account waits for
-- nobody; what nobody caused, such as a deadline, counts for its reader alone.
create or replace function app.queue_notification_mails(most int) returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  due record;
  ids uuid[];
  actors uuid[];
  is_by_clock boolean;
  actor uuid;
  written int := 0;
begin
  for due in
    select n.user_id, n.mail, case when n.mail = 'at_once' then n.deal_id end as deal_id
    from (select * from vault.notifications n where n.mail_due_at <= app.now() order by n.mail_due_at limit 2000) n
    group by 1, 2, 3 limit least(most, 200)
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('notification mails ' || due.user_id, 0));
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
