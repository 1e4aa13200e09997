-- compatible: a node of the release before does not know these mails, and leaves them to the others.
--
-- What people heard of, as mails: at once, several of a deal together, or those of the day. The outbox keeps which
-- notifications a mail is of; what it says is made when it is sent, of those that its reader may still open and has not read.

-- With this secret the links are sealed by which somebody takes a kind out of their mails.
create table vault.unsubscribe_secret (
  only_row boolean primary key default true check (only_row),
  secret bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
select app.protect('vault.unsubscribe_secret');
insert into vault.unsubscribe_secret default values;

-- The seal of a person and kinds; the secret at the end, so that nothing can be appended.
create function app.unsubscribe_seal(person uuid, kinds text) returns text
language sql stable set search_path = '' as $$
  select encode(substring(sha256(convert_to('unsubscribe ' || person || ' ' || kinds, 'UTF8') || s.secret) for 16), 'hex')
  from vault.unsubscribe_secret s
$$;

-- What takes these kinds out of somebody's mails; the kind `daily` is the mail of the day.
create function app.unsubscribe_token(person uuid, kinds text[]) returns text
language sql stable set search_path = '' as $$
  select concat_ws('.', person, array_to_string(kinds, '+'), app.unsubscribe_seal(person, array_to_string(kinds, '+')))
$$;

-- The person and kinds of such a token; no row when it is none of ours.
create function app.unsubscription(token text) returns table (person uuid, kinds text[])
language plpgsql stable set search_path = '' as $$
begin
  if length(token) > 800 or token !~ '^[0-9a-f-]{36}\.[a-z_+]+\.[0-9a-f]{32}$' then
    return;
  end if;
  if app.unsubscribe_seal(split_part(token, '.', 1)::uuid, split_part(token, '.', 2)) is distinct from split_part(token, '.', 3) then
    return;
  end if;
  return query select split_part(token, '.', 1)::uuid, string_to_array(split_part(token, '.', 2), '+');
exception when data_exception then
  return;
end
$$;

-- The kinds that a token takes out of the mails of its person; null when it is none of ours.
create function app.unsubscribe_kinds(token text) returns text[]
language sql stable security definer set search_path = '' as $$ select u.kinds from app.unsubscription(token) u $$;

-- Takes them out: they stay in the application. Their kinds; null when the token is none of ours.
create function app.unsubscribe(token text) returns text[]
language plpgsql volatile security definer set search_path = '' as $$
declare
  chosen record;
  of_day boolean;
begin
  select u.* into chosen from app.unsubscription(token) u;
  if not found then
    return null;
  end if;
  of_day := 'daily' = any (chosen.kinds);
  insert into vault.notification_choices as c (user_id, kind, delivery)
    select chosen.person, k.kind, 'app' from app.notification_kinds k
      left join vault.notification_choices own on own.user_id = chosen.person and own.kind = k.kind
      where (k.kind = any (chosen.kinds) and coalesce(own.delivery, k.delivery) in ('daily', 'at_once'))
        or (of_day and coalesce(own.delivery, k.delivery) = 'daily')
    on conflict (user_id, kind) do update set delivery = excluded.delivery;
  if of_day then
    update vault.deal_notification_choices c set delivery = 'app' where c.user_id = chosen.person and c.delivery = 'daily';
  end if;
  update vault.notifications n set mail_due_at = null
    where n.user_id = chosen.person and n.mail_due_at is not null and (n.kind = any (chosen.kinds) or (of_day and n.mail = 'daily'));
  return chosen.kinds;
end
$$;

-- Puts the mails that are due into the outbox, of at most so many people and deals; how many were written. One transaction marks what a mail is
-- of and writes it, and a person's mails are written by one node at a time: none is twice, and of a day there is one.
create function app.queue_notification_mails(most int) returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  due record;
  ids uuid[];
  written int := 0;
begin
  for due in
    select n.user_id, n.mail, case when n.mail = 'at_once' then n.deal_id end as deal_id
    from (select * from vault.notifications n where n.mail_due_at <= app.now() order by n.mail_due_at limit 2000) n
    group by 1, 2, 3 limit least(most, 200)
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('notification mails ' || due.user_id, 0));
    with marked as (
      update vault.notifications n set mail_due_at = null, mailed_at = app.now()
      where n.id in (
        select o.id from vault.notifications o
        where o.user_id = due.user_id and o.mail = due.mail and o.mail_due_at <= app.now()
          and (due.mail = 'daily' or o.deal_id is not distinct from due.deal_id)
        order by o.at desc limit 500)
      returning n.id, n.at)
    select array_agg(m.id order by m.at, m.id) into ids from marked m;
    continue when ids is null;
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

-- What a mail that is about to be sent tells its reader: what happened how often on which deal, of what they have not read since, still
-- want by mail and could open at this moment. No row: there is nothing left to send. For those who deliver; nobody has entered.
create function app.notification_mail(mail uuid)
returns table (name text, daily boolean, kind text, deal_id uuid, deal_title text, count int, token text)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  sent vault.outbox;
  reader public.users;
  of_day boolean;
  one vault.notifications;
  left_over uuid[] := '{}';
  kinds text[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  select o.* into sent from vault.outbox o where o.id = mail and o.kind = 'notifications' and o.sent_at is null;
  select u.* into reader from public.users u where u.id = sent.recipient_id and u.email = sent.recipient;
  if reader.id is null then
    return;
  end if;
  of_day := (sent.facts ->> 'daily')::boolean;
  for one in
    select n.* from vault.notifications n
    where n.id in (select i::uuid from jsonb_array_elements_text(sent.facts -> 'notifications') i)
      and n.user_id = reader.id and n.read_at is null
  loop
    if app.delivery_of(reader.id, one.kind, one.deal_id) in ('daily', 'at_once')
      and app.person_could_open(reader.id, one.subject, one.subject_id, one.deal_id)
    then
      left_over := left_over || one.id;
    end if;
  end loop;
  select array_agg(distinct n.kind) into kinds from vault.notifications n where n.id = any (left_over);
  return query
    select reader.name, of_day, n.kind, n.deal_id, d.title, count(*)::int,
      app.unsubscribe_token(reader.id, case when of_day then '{daily}' else kinds end)
    from vault.notifications n
    join app.notification_kinds k on k.kind = n.kind
    left join public.deals d on d.id = n.deal_id
    where n.id = any (left_over)
    group by n.kind, n.deal_id, d.title, k.place
    order by n.deal_id is null, max(max(n.at)) over (partition by n.deal_id) desc, n.deal_id, k.place;
end
$$;
grant execute on function app.unsubscribe_kinds(text), app.unsubscribe(text), app.queue_notification_mails(int), app.notification_mail(uuid)
  to dealkeep_server;
