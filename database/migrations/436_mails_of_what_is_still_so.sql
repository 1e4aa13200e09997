-- compatible: the mail that an old node sends has the same columns, and tells of less.
--
-- A mail that waited (for the hour of the daily one, for five minutes, or for the next hour) reminded of what had been done, decided or put off meanwhile: an NDA that its reader had
-- signed, a condition that was met, an offer that was superseded. What reminds is looked at again when the mail is made, as the right to open it is.

-- Without a caller, as for the mail, for everybody.
create or replace function app.awaited(of_table text, record uuid) returns setof uuid
language plpgsql stable set search_path = '' as $$
begin
  case of_table
    when 'ndas' then
      return query
        select p.user_id from public.ndas n join public.participants p on p.id = n.participant_id and p.status = 'active'
        where n.id = record and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
    when 'questions' then
      return query
        select p.user_id from public.questions q
        join public.participants p on p.deal_id = q.deal_id and p.role = 'seller' and p.status = 'active'
        where q.id = record and q.status = 'with_seller' and p.user_id is distinct from app.user_id();
    when 'closing_conditions' then
      return query
        select c.owner_user_id from public.closing_conditions c
        where c.id = record and c.status in ('open', 'in_progress') and c.owner_user_id is distinct from app.user_id();
  end case;
end
$$;

-- Whether what a notification reminds its reader of is so yet; what only says that something happened always is.
create function app.still_holds(told vault.notifications) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return case
    when told.kind in ('nda_reminder', 'question_reminder', 'condition_reminder') then
      app.actual_state(told.deal_id) not in ('closed', 'withdrawn')
      and told.user_id in (select a from app.awaited(told.subject, told.subject_id) a)
    when told.kind in ('nda_ending', 'offer_expiring', 'exclusivity_ending', 'condition_due', 'condition_overdue') then
      app.is_deadline_near(told.kind, told.subject, told.subject_id, told.deal_id)
    else true end;
end
$$;

create or replace function app.notification_mail(mail uuid)
returns table (name text, daily boolean, kind text, deal_id uuid, deal_title text, count integer, token text)
language plpgsql security definer set search_path = '' as $$
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
    if app.delivery_of(reader.id, one.kind, one.deal_id) in ('daily', 'at_once') and app.still_holds(one)
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
