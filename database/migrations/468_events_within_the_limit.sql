-- compatible: functions that old nodes call keep their names, arguments and answers; one takes fewer events at a time, and an old node takes the rest five seconds later.
--
-- Twenty events on deals with many people took longer than a statement may: all were taken back, without a count of their attempts, and the same were taken again every five seconds. Nobody
-- was notified of anything any more, nor mailed. Most of it went into sealing an identity for each person and event. Who could open a record is decided for all of them in one query, from
-- what each is on the deal (449), and a statement ends with the event at which a quarter of its time is over.

-- Those among the people who could open the record, of this deal or of none, if they entered: whether they are suspended, and kept out of a brokerage that asks for a second factor, as in app.enter_as_person.
create function app.who_could_open(people uuid[], of_table text, record uuid, deal uuid)
returns setof uuid
language plpgsql
stable
set search_path = ''
as $$
declare
  tenant constant uuid := (select d.organization_id from public.deals d where d.id = deal);
begin
  return query
    select p.id
    from unnest(people) p (id)
    cross join lateral app.memberships_of(p.id) m
    cross join lateral (select case when m.asking <> '{}' and app.has_second_factor(p.id) then '{}' else m.asking end as barred offset 0) b
    cross join lateral (select array(select a from unnest(m.administered) a where a <> all (b.barred)) as administered offset 0) a
    left join vault.deals_of_people o on o.user_id = p.id and o.deal_id = who_could_open.deal
    cross join lateral (select case when deal is not null then
      app.standing_of(deal, tenant, b.barred, a.administered, o.participant_id, o.role, o.principal_id, o.side) end as standing offset 0) s
    where not exists (select from public.users u where u.id = p.id and u.suspended_at is not null)
      and (deal is null or split_part(s.standing, ',', 1) = deal::text)
      and app.could_open_as(of_table, record, s.standing, a.administered);
end
$$;

create or replace function app.person_could_open(person uuid, of_table text, record uuid, deal uuid)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  return exists (select from app.who_could_open(array[person], of_table, record, deal));
end
$$;

create or replace function app.tell(event vault.events)
returns void
language plpgsql
set search_path = ''
as $$
declare
  is_security constant boolean := (select k.security from app.notification_kinds k where k.kind = event.kind);
  people constant uuid[] := array(select c from app.candidates(event) c where is_security or c is distinct from event.actor_id);
begin
  insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at, mail, mail_due_at)
    select event.id, p.id, event.kind, event.deal_id, event.subject, event.subject_id, event.actor_id, event.at,
      nullif(d.delivery, 'app'),
      case
        when d.delivery = 'daily' then app.next_digest(p.id)
        -- What concerns the security of an account never waits.
        when d.delivery = 'at_once' and is_security then app.now()
        -- The first goes at once, what follows on the same deal within five minutes together.
        when d.delivery = 'at_once' then greatest(app.now(), (
          select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
          where n.user_id = p.id and n.deal_id is not distinct from event.deal_id and n.mail = 'at_once' and n.mailed_at is not null))
      end
    from app.who_could_open(people, event.subject, event.subject_id, event.deal_id) p (id)
    cross join lateral (select app.delivery_of(p.id, event.kind, event.deal_id) as delivery offset 0) d
    where d.delivery <> 'off'
    on conflict (event_id, user_id) do nothing;
end
$$;

create or replace function app.tell_events(most integer)
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  -- A statement that runs into its limit takes back what it has told, and would be given the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  event vault.events;
  taken int := 0;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Events are told by the worker.');
  end if;
  for event in
    select e.* from vault.events e where e.next_attempt_at <= app.now() order by e.next_attempt_at, e.id
      limit least(most, 100) for update skip locked
  loop
    taken := taken + 1;
    begin
      perform app.tell(event);
      delete from vault.events e where e.id = event.id;
    exception when others then
      if event.attempts >= 20 then
        delete from vault.events e where e.id = event.id;
      else
        update vault.events e set attempts = e.attempts + 1, last_error = left(sqlerrm, 500),
            next_attempt_at = app.now() + least(interval '1 minute' * 2 ^ least(e.attempts, 10), interval '6 hours')
          where e.id = event.id;
      end if;
    end;
    exit when clock_timestamp() > until;
  end loop;
  return taken;
end
$$;

-- Nobody else is entered any more to decide who could open it.
create or replace function app.remind(of_table text, record uuid, address inet, request_id text)
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  deal constant uuid := case when of_table in ('ndas', 'questions', 'closing_conditions') then app.deal_of(of_table, record) end;
  waiting uuid[];
  reminded uuid[];
  person uuid;
begin
  if app.user_id() is null or app.client_id() is not null or not coalesce(deal = any (app.deals_acting_as('broker')), false) then
    return null;
  end if;
  perform app.refuse_if_closed(deal);
  waiting := array(select w from app.who_could_open(array(select a from app.awaited(of_table, record) a), of_table, record, deal) w);
  if waiting = '{}' then
    perform app.refuse('nobody_to_remind', 'Nobody has to do anything about this at the moment.');
  end if;
  -- One after the other, so that the count below holds.
  perform pg_advisory_xact_lock(hashtextextended('reminders of ' || app.user_id(), 0));
  if (select count(*) from vault.sent_reminders s where s.sent_by = app.user_id() and s.sent_at > app.now() - interval '1 hour')
    + cardinality(waiting) > 60
  then
    perform app.refuse('too_many_reminders', 'That would be more than 60 reminders within an hour: try again later.');
  end if;
  with sent as (
    insert into vault.sent_reminders as s (subject, subject_id, recipient_id, deal_id, sent_by)
      select of_table, record, w, deal, app.user_id() from unnest(waiting) w
      on conflict (subject, subject_id, recipient_id) do update set sent_by = excluded.sent_by, sent_at = excluded.sent_at
        where s.sent_at <= app.now() - interval '24 hours'
      returning s.recipient_id)
    select array_agg(t.recipient_id) into reminded from sent t;
  if reminded is null then
    perform app.refuse('reminded_already', 'They were reminded within the last 24 hours.');
  end if;
  foreach person in array reminded loop
    perform app.queue_event(case of_table when 'ndas' then 'nda_reminder' when 'questions' then 'question_reminder' else 'condition_reminder' end,
      deal, of_table, record, app.user_id(), person);
  end loop;
  perform app.audit('reminder.send', record::text, 'done', null, deal, address, request_id, jsonb_build_object('about', of_table));
  return cardinality(reminded);
end
$$;
