-- compatible: nodes of the release before hear of nothing new, and take nothing away.
--
-- What happened on a deal or to an account, and who hears of it. What happened is queued in its own transaction; a worker
-- decides afterwards, for each person of the deal, whether they hear of it: whoever could not open what it is about does not.

-- What people hear of -------------------------------------------------------------------------------------------------

-- The kinds in the order of the settings. `delivery` is what holds until somebody chooses. What concerns the security of an
-- account can be made quieter and is never off.
create table app.notification_kinds (
  kind text primary key,
  place int not null unique,
  delivery text not null check (delivery in ('off', 'app', 'daily', 'at_once')),
  security boolean not null default false
);
select app.protect('app.notification_kinds');
create policy everybody_reads on app.notification_kinds for select to dealkeep_server using (true);
grant select on app.notification_kinds to dealkeep_server;
insert into app.notification_kinds values
  ('question_asked', 1, 'at_once', false), ('question_released', 2, 'at_once', false), ('question_answered', 3, 'at_once', false),
  ('answer_distributed', 4, 'at_once', false),
  ('nda_sent', 5, 'at_once', false), ('nda_signed', 6, 'at_once', false), ('nda_ending', 7, 'at_once', false),
  ('document_added', 8, 'daily', false),
  ('offer_submitted', 9, 'at_once', false), ('offer_revised', 10, 'at_once', false), ('offer_accepted', 11, 'at_once', false),
  ('offer_expiring', 12, 'at_once', false),
  ('exclusivity_granted', 13, 'at_once', false), ('exclusivity_ending', 14, 'at_once', false), ('exclusivity_lapsed', 15, 'at_once', false),
  ('condition_assigned', 16, 'at_once', false), ('condition_due', 17, 'at_once', false), ('condition_overdue', 18, 'at_once', false),
  ('finding_assigned', 19, 'at_once', false),
  ('invited', 20, 'app', false), ('joined', 21, 'daily', false), ('removed', 22, 'daily', false),
  ('reminder', 23, 'at_once', false),
  ('assistant_connected', 24, 'at_once', true), ('api_key_made', 25, 'at_once', true), ('new_device', 26, 'at_once', true);

-- What somebody chose for a kind, for a deal, and when they read the mail of a day.
create table vault.notification_choices (
  user_id uuid not null references users,
  kind text not null references app.notification_kinds,
  delivery text not null check (delivery in ('off', 'app', 'daily', 'at_once')),
  primary key (user_id, kind)
);
select app.protect('vault.notification_choices');
create table vault.deal_notification_choices (
  user_id uuid not null references users,
  deal_id uuid not null references deals,
  delivery text not null check (delivery in ('off', 'app', 'daily')),
  primary key (user_id, deal_id)
);
create index deal_notification_choices_by_deal on vault.deal_notification_choices (deal_id);
select app.protect('vault.deal_notification_choices');
create table vault.notification_settings (
  user_id uuid primary key references users,
  time_zone text not null default 'UTC' check (length(time_zone) <= 64),
  digest_hour int not null default 8 check (digest_hour between 0 and 23)
);
select app.protect('vault.notification_settings');

-- How somebody hears of a kind on a deal: as they chose for the kind, and on a deal at most as loud as they chose for it.
create function app.delivery_of(person uuid, of_kind text, deal uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
declare
  levels constant text[] := '{off,app,daily,at_once}';
  by_kind int;
  by_deal int;
  is_security boolean;
begin
  select array_position(levels, coalesce(c.delivery, k.delivery)), k.security into by_kind, is_security
    from app.notification_kinds k
    left join vault.notification_choices c on c.kind = k.kind and c.user_id = person
    where k.kind = of_kind;
  if is_security then
    return levels[greatest(by_kind, 2)];
  end if;
  select array_position(levels, c.delivery) into by_deal
    from vault.deal_notification_choices c where c.user_id = person and c.deal_id = deal;
  return levels[least(by_kind, by_deal)];
end
$$;

-- The next time after `since` at which it is this hour in this zone: once on each of its days, also on those on which the
-- clocks change.
create function app.next_hour(zone text, hour int, since timestamptz) returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
  today constant date := (since at time zone zone)::date;
  coming timestamptz;
begin
  coming := (today + make_time(hour, 0, 0)) at time zone zone;
  if coming <= since then
    coming := (today + 1 + make_time(hour, 0, 0)) at time zone zone;
  end if;
  return coming;
end
$$;

-- When the next mail of a day goes to somebody.
create function app.next_digest(person uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
declare
  chosen vault.notification_settings;
begin
  select s.* into chosen from vault.notification_settings s where s.user_id = person;
  return app.next_hour(coalesce(chosen.time_zone, 'UTC'), coalesce(chosen.digest_hour, 8), app.now());
end
$$;

-- What happened ---------------------------------------------------------------------------------------------------------

-- What waits to be told. `subject` is the table of what it is about; `person_id` the only one whom it concerns, where it
-- does not concern everybody on the deal.
create table vault.events (
  id uuid primary key default app.uuid_v7(),
  at timestamptz not null default app.now(),
  kind text not null references app.notification_kinds,
  deal_id uuid,
  subject text,
  subject_id uuid,
  actor_id uuid,
  person_id uuid,
  attempts int not null default 0,
  next_attempt_at timestamptz not null default app.now(),
  last_error text
);
create index events_by_attempt on vault.events (next_attempt_at);
select app.protect('vault.events');

-- What somebody heard of. `mail` says how they are also told by mail, `mail_due_at` when; null when they are not, or were.
create table vault.notifications (
  id uuid primary key default app.uuid_v7(),
  event_id uuid not null,
  user_id uuid not null references users,
  kind text not null references app.notification_kinds,
  deal_id uuid references deals,
  subject text,
  subject_id uuid,
  actor_id uuid references users,
  at timestamptz not null,
  read_at timestamptz,
  mail text check (mail in ('daily', 'at_once')),
  mail_due_at timestamptz,
  mailed_at timestamptz,
  unique (event_id, user_id)
);
create index notifications_by_user on vault.notifications (user_id, at desc, id desc);
create index unread_notifications on vault.notifications (user_id, at desc, id desc) where read_at is null;
create index notifications_to_mail on vault.notifications (mail_due_at) where mail_due_at is not null;
create index notifications_mailed on vault.notifications (user_id, deal_id, mailed_at desc) where mailed_at is not null;
create index notifications_by_deal on vault.notifications (deal_id);
create index notifications_by_time on vault.notifications (at);
select app.protect('vault.notifications');

-- Queues what happened, and wakes those who tell of it.
create function app.queue_event(kind text, deal uuid, subject text, subject_id uuid, actor uuid, person uuid) returns void
language plpgsql volatile set search_path = '' as $$
begin
  insert into vault.events (kind, deal_id, subject, subject_id, actor_id, person_id) values (kind, deal, subject, subject_id, actor, person);
  perform pg_notify('dealkeep_mail', '');
end
$$;

-- What leaves a record in the audit trail is queued with it; data that is loaded is not.
create function app.queue_audited() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  about uuid;
  person uuid;
begin
  -- Who accepts an invitation by its link has not entered; the owner, who loads data, logs in as themself.
  if session_user = current_user then
    return null;
  end if;
  about := new.subject_id::uuid;
  case new.action
    when 'question.ask' then perform app.queue_event('question_asked', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.release' then perform app.queue_event('question_released', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.answer' then perform app.queue_event('question_answered', new.deal_id, 'question_answers', about, new.user_id, null);
    when 'question.distribute' then perform app.queue_event('answer_distributed', new.deal_id, 'questions', about, new.user_id, null);
    when 'nda.send' then perform app.queue_event('nda_sent', new.deal_id, 'ndas', about, new.user_id, null);
    when 'nda.sign' then perform app.queue_event('nda_signed', new.deal_id, 'ndas', about, new.user_id, null);
    when 'document.upload' then
      perform app.queue_event('document_added', new.deal_id,
        case new.details ->> 'source' when 'production' then 'production_documents' else 'documents' end, about, new.user_id, null);
    when 'offer.submit' then
      perform app.queue_event(case when (new.details ->> 'revision')::int > 1 then 'offer_revised' else 'offer_submitted' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.accept', 'offer.accept_change' then
      perform app.queue_event('offer_accepted', new.deal_id, 'offers', about, new.user_id, null);
    when 'participant.invite' then perform app.queue_event('invited', new.deal_id, 'participants', about, new.user_id, null);
    when 'invitation.accept' then
      if new.deal_id is not null then
        perform app.queue_event('joined', new.deal_id, 'participants', coalesce(about, (
          select p.id from public.participants p where p.deal_id = new.deal_id and p.user_id = new.user_id)), new.user_id, null);
      end if;
    when 'participant.remove' then
      perform app.queue_event('removed', new.deal_id, 'participants', about, new.user_id, null);
      -- Whoever was removed can open nothing of the deal any more, and hears no more than that they were.
      select p.user_id into person from public.participants p where p.id = about and p.joined_at is not null;
      if person is not null then
        perform app.queue_event('removed', null, null, null, new.user_id, person);
      end if;
    when 'tokens.issue' then perform app.queue_event('assistant_connected', null, null, null, new.user_id, new.user_id);
    when 'api_key.create', 'api_key.rotate' then
      perform app.queue_event('api_key_made', null, 'api_keys', about, new.user_id, null);
  end case;
  return null;
end
$$;
create trigger queue_event after insert on audit_records for each row
  when (new.outcome = 'done' and new.action in ('question.ask', 'question.release', 'question.answer', 'question.distribute',
    'nda.send', 'nda.sign', 'document.upload', 'offer.submit', 'offer.accept', 'offer.accept_change', 'participant.invite',
    'invitation.accept', 'participant.remove', 'tokens.issue', 'api_key.create', 'api_key.rotate'))
  execute function app.queue_audited();

-- Whose a condition or a finding is now.
create function app.queue_assignment() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.user_id() is not null and new.owner_user_id is not null then
    perform app.queue_event(tg_argv[0], new.deal_id, tg_table_name, new.id, app.user_id(), new.owner_user_id);
  end if;
  return null;
end
$$;
create trigger queue_assignment after insert on closing_conditions for each row
  when (new.owner_user_id is not null) execute function app.queue_assignment('condition_assigned');
create trigger queue_new_assignment after update of owner_user_id on closing_conditions for each row
  when (new.owner_user_id is distinct from old.owner_user_id) execute function app.queue_assignment('condition_assigned');
create trigger queue_assignment after insert on findings for each row
  when (new.owner_user_id is not null) execute function app.queue_assignment('finding_assigned');
create trigger queue_new_assignment after update of owner_user_id on findings for each row
  when (new.owner_user_id is distinct from old.owner_user_id) execute function app.queue_assignment('finding_assigned');

-- Exclusivity that is granted, which also accepts an offer where there is one, and one whose end came by itself.
create function app.queue_exclusivity() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    perform app.queue_event('exclusivity_lapsed', new.deal_id, 'exclusivities', new.id, null, null);
  elsif app.user_id() is not null then
    perform app.queue_event('exclusivity_granted', new.deal_id, 'exclusivities', new.id, app.user_id(), null);
  end if;
  return null;
end
$$;
create trigger queue_grant after insert on exclusivities for each row execute function app.queue_exclusivity();
create trigger queue_lapse after update of ended_at on exclusivities for each row
  when (old.ended_at is null and new.ended_at = new.expires_at) execute function app.queue_exclusivity();

-- As it was, and somebody who has signed in elsewhere before hears of a browser that they are not known by.
create or replace function app.keep_device(session bytea, earlier bytea, device bytea) returns void
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  select l.user_id into person from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if not exists (select from vault.known_devices k where k.digest = earlier and k.user_id = person)
    and (exists (select from vault.known_devices k where k.user_id = person)
      or exists (select from vault.sessions s where s.user_id = person and s.digest <> session))
  then
    perform app.queue_event('new_device', null, null, null, person, person);
  end if;
  update vault.known_devices k set digest = device where k.digest = earlier;
  insert into vault.known_devices (digest, user_id) values (device, person)
    on conflict (digest, user_id) do update set used_at = app.now(), code_failures = 0, code_failed_at = null;
  delete from vault.known_devices k where k.user_id = person and k.digest in (
    select old.digest from vault.known_devices old where old.user_id = person
    order by old.used_at desc, old.digest offset 20);
end
$$;

-- What comes by the clock ------------------------------------------------------------------------------------------------

-- What is to be told at a time to come, once: kept with the record that has the date, so that nobody looks for it.
create table vault.reminders (
  subject text not null,
  subject_id uuid not null,
  kind text not null references app.notification_kinds,
  remind_at timestamptz not null,
  due_at timestamptz not null,
  deal_id uuid not null,
  primary key (subject, subject_id, kind, remind_at)
);
create index reminders_by_time on vault.reminders (remind_at);
select app.protect('vault.reminders');

-- What is to be told of a record when it stands like this: a week before an NDA ends, two days before an offer does, a week and
-- a day before exclusivity does, three days before a condition is due and when it is overdue.
create function app.reminders_of(of_table text, record jsonb)
returns table (kind text, remind_at timestamptz, due_at timestamptz)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  ends constant timestamptz := case of_table
    when 'ndas' then case when record ->> 'status' = 'active' then (record ->> 'expires_at')::timestamptz end
    when 'offers' then case when (record ->> 'is_current')::boolean then app.time_in(record #>> '{payload,expires_at}') end
    when 'exclusivities' then case when record ->> 'ended_at' is null then (record ->> 'expires_at')::timestamptz end
    when 'closing_conditions' then
      case when record ->> 'status' in ('open', 'in_progress') then app.end_of((record ->> 'deadline')::date) end
  end;
begin
  return query
    select r.kind, ends - r.before, ends
    from (values ('ndas', 'nda_ending', interval '7 days'), ('offers', 'offer_expiring', interval '2 days'),
      ('exclusivities', 'exclusivity_ending', interval '7 days'), ('exclusivities', 'exclusivity_ending', interval '1 day'),
      ('closing_conditions', 'condition_due', interval '3 days'), ('closing_conditions', 'condition_overdue', interval '0'))
      r (subject, kind, before)
    where r.subject = of_table and ends - r.before > app.now();
end
$$;

create function app.keep_reminders() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op <> 'INSERT' then
    delete from vault.reminders r where r.subject = tg_table_name and r.subject_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into vault.reminders (subject, subject_id, deal_id, kind, remind_at, due_at)
      select tg_table_name, new.id, new.deal_id, r.kind, r.remind_at, r.due_at
      from app.reminders_of(tg_table_name, to_jsonb(new)) r;
  end if;
  return null;
end
$$;
create trigger keep_reminders after insert or update of status, expires_at on ndas for each row execute function app.keep_reminders();
create trigger keep_reminders after insert or update of is_current on offers for each row execute function app.keep_reminders();
create trigger keep_reminders after insert or update of expires_at, ended_at on exclusivities for each row
  execute function app.keep_reminders();
create trigger keep_reminders after insert or update of status, deadline or delete on closing_conditions for each row
  execute function app.keep_reminders();
insert into vault.reminders (subject, subject_id, deal_id, kind, remind_at, due_at)
  select s.subject, s.id, s.deal_id, r.kind, r.remind_at, r.due_at
  from (
    select 'ndas' as subject, n.id, n.deal_id, to_jsonb(n) as record from ndas n where n.status = 'active' and n.expires_at is not null
    union all select 'offers', o.id, o.deal_id, to_jsonb(o) from offers o where o.is_current
    union all select 'exclusivities', x.id, x.deal_id, to_jsonb(x) from exclusivities x where x.ended_at is null
    union all select 'closing_conditions', c.id, c.deal_id, to_jsonb(c) from closing_conditions c
      where c.status in ('open', 'in_progress') and c.deadline is not null) s
  cross join lateral app.reminders_of(s.subject, s.record) r;

-- Queues what is to be told by now, at most 500; how many were looked at. For the scheduled jobs.
create function app.queue_reminders() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  due vault.reminders;
  done int := 0;
begin
  for due in
    delete from vault.reminders r using (
      select d.ctid from vault.reminders d where d.remind_at <= app.now() order by d.remind_at limit 500 for update skip locked) found
    where r.ctid = found.ctid returning r.*
  loop
    done := done + 1;
    if app.actual_state(due.deal_id) not in ('closed', 'withdrawn') and (due.kind = 'condition_overdue' or due.due_at > app.now()) then
      perform app.queue_event(due.kind, due.deal_id, due.subject, due.subject_id, null, null);
    end if;
  end loop;
  return done;
end
$$;

-- Who hears of it ----------------------------------------------------------------------------------------------------------

-- Whether who has entered could open a record, as the policies of its table say; `deal` is the record's. Runs as the owner and is
-- given to nobody: the worker asks it for people who are not there. test/policies/notified.ts holds it to the policies.
create function app.could_open(of_table text, record uuid, deal uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  case of_table
    when 'questions' then
      return exists (select from public.questions q where q.id = record
        and (q.deal_id = any (app.deals_as('broker')) or q.participant_id = any (app.principals())
          or (q.status in ('with_seller', 'answered', 'distributed') and q.deal_id = any (app.deals_as('seller')))));
    when 'question_answers' then
      return exists (select from public.question_answers a where a.question_id = record
        and a.deal_id = any (app.deals_as('broker', 'seller')));
    when 'ndas' then
      return exists (select from public.ndas n where n.id = record
        and (n.deal_id = any (app.deals_as('broker', 'seller')) or n.participant_id = any (app.principals())));
    when 'documents' then
      return exists (select from public.documents d where d.id = record and d.removed_at is null
        and app.may_open(d.deal_id, d.confidentiality));
    when 'production_documents' then
      return exists (select from public.production_documents d where d.id = record and d.removed_at is null
        and app.may_open(d.deal_id, d.confidentiality));
    when 'offers' then
      return exists (select from public.offers o where o.id = record
        and (o.deal_id = any (app.deals_as('broker', 'seller')) or o.participant_id = any (app.principals())));
    when 'exclusivities' then
      return exists (select from public.exclusivities x where x.id = record
        and (x.deal_id = any (app.deals_as('broker', 'seller', 'viewer')) or x.participant_id = any (app.principals())
          or (select d.organization_id from public.deals d where d.id = x.deal_id) = any (app.brokerages_as('admin'))));
    when 'closing_conditions' then
      return exists (select from public.closing_conditions c where c.id = record
        and (c.deal_id = any (app.deals_as('broker', 'seller', 'viewer')) or c.deal_id = any (app.deals_as_selected_buyer())
          or (select d.organization_id from public.deals d where d.id = c.deal_id) = any (app.brokerages_as('admin'))));
    when 'findings' then
      return exists (select from public.findings f where f.id = record
        and (f.deal_id = any (app.deals_as('broker', 'seller')) or f.participant_id = any (app.principals())));
    when 'participants' then
      return exists (select from public.participants p where p.id = record
        and (p.deal_id = any (app.deals_as('broker', 'seller', 'viewer'))
          or coalesce(p.advises, p.id) = any (app.principals())
          or (p.status = 'active' and p.role = 'broker' and p.deal_id = any (app.deals_as('buyer')))
          or (p.status = 'active' and p.role = 'seller' and p.deal_id = any (app.deals_with_known_seller()))
          or (select d.organization_id from public.deals d where d.id = p.deal_id) = any (app.brokerages_as('admin'))));
    when 'deals' then
      return app.seen_deal(record) is not null;
    when 'api_keys' then
      return exists (select from public.api_keys k where k.id = record and k.brokerage_id = any (app.brokerages_as('admin')));
    else return of_table is null;
  end case;
end
$$;

-- The same for somebody who is not there; whoever has entered has not any more afterwards. Never for the suspended.
create function app.person_could_open(person uuid, of_table text, record uuid, deal uuid) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  member record;
  answer boolean;
begin
  if exists (select from public.users u where u.id = person and u.suspended_at is not null) then
    return false;
  end if;
  select m.asking, m.administered into member from app.memberships_of(person) m;
  perform app.enter_as_person(person, null, null, null, true, member.asking, member.administered,
    case when deal is not null then 'deals' end, deal);
  answer := app.could_open(of_table, record, deal) and (deal is null or app.seen_deal(deal) is not null);
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  return answer;
end
$$;

-- Whom an event may concern, before it is asked what they can open.
create function app.candidates(event vault.events) returns setof uuid
language plpgsql stable set search_path = '' as $$
begin
  if event.person_id is not null then
    return query select event.person_id;
  elsif event.subject = 'api_keys' then
    return query
      select m.user_id from public.api_keys k
      join public.members m on m.brokerage_id = k.brokerage_id and m.role = 'admin' and m.status = 'active'
      where k.id = event.subject_id;
  elsif event.kind in ('condition_due', 'condition_overdue') then
    return query
      select p.user_id from public.closing_conditions c
      join public.participants p on p.deal_id = c.deal_id and p.status = 'active'
        and (p.role = 'broker' or p.user_id = c.owner_user_id)
      where c.id = event.subject_id;
  else
    return query select p.user_id from public.participants p where p.deal_id = event.deal_id and p.status = 'active';
  end if;
end
$$;

-- Tells everybody whom an event concerns.
create function app.tell(event vault.events) returns void
language plpgsql volatile set search_path = '' as $$
declare
  is_security constant boolean := (select k.security from app.notification_kinds k where k.kind = event.kind);
  person uuid;
  delivery text;
begin
  for person in select c from app.candidates(event) c loop
    continue when person = event.actor_id and not is_security;
    delivery := app.delivery_of(person, event.kind, event.deal_id);
    continue when delivery = 'off' or not app.person_could_open(person, event.subject, event.subject_id, event.deal_id);
    insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at, mail, mail_due_at)
      values (event.id, person, event.kind, event.deal_id, event.subject, event.subject_id, event.actor_id, event.at,
        nullif(delivery, 'app'),
        case delivery
          when 'daily' then app.next_digest(person)
          -- The first goes at once, what follows on the same deal within five minutes together.
          when 'at_once' then greatest(app.now(), (
            select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
            where n.user_id = person and n.deal_id is not distinct from event.deal_id and n.mail = 'at_once' and n.mailed_at is not null))
        end)
      on conflict (event_id, user_id) do nothing;
  end loop;
end
$$;

-- Tells of at most so many events, the oldest first, each in a transaction of its own within this one: one that fails is
-- tried again later and holds up no other. How many were taken. For the worker: nobody has entered before or after.
create function app.tell_events(most int) returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
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
      perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
      if event.attempts >= 20 then
        delete from vault.events e where e.id = event.id;
      else
        update vault.events e set attempts = e.attempts + 1, last_error = left(sqlerrm, 500),
            next_attempt_at = app.now() + least(interval '1 minute' * 2 ^ least(e.attempts, 10), interval '6 hours')
          where e.id = event.id;
      end if;
    end;
  end loop;
  return taken;
end
$$;

-- Deletes what somebody heard of half a year ago, at most 10,000 at a time; how many.
create function app.purge_notifications() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  purged int;
begin
  delete from vault.notifications n where n.id in (
    select o.id from vault.notifications o where o.at < app.now() - interval '180 days' order by o.at limit 10000);
  get diagnostics purged = row_count;
  return purged;
end
$$;
grant execute on function app.queue_reminders(), app.tell_events(int), app.purge_notifications() to dealkeep_server;

-- In the application ---------------------------------------------------------------------------------------------------------

-- What the caller heard of, the latest first, at most so many: behind a place, or only what they have not read. Of deals on
-- which they do not take part any more nothing; whether they may still open the rest decides the query that names it.
create function app.own_notifications(unread boolean, after_at timestamptz, after_id uuid, most int)
returns table (id uuid, kind text, deal_id uuid, subject text, subject_id uuid, actor_id uuid, at timestamptz, read_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  seen constant uuid[] := app.deals_as('broker', 'seller', 'buyer', 'viewer');
begin
  if app.client_id() is not null then
    return;
  end if;
  if unread then
    return query
      select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at
      from vault.notifications n where n.user_id = app.user_id() and n.read_at is null
        and (n.deal_id is null or n.deal_id = any (seen))
      order by n.at desc, n.id desc limit least(most, 200);
  else
    return query
      select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at
      from vault.notifications n
      where n.user_id = app.user_id() and (after_at is null or (n.at, n.id) < (after_at, after_id))
        and (n.deal_id is null or n.deal_id = any (seen))
      order by n.at desc, n.id desc limit least(most, 200);
  end if;
end
$$;

-- Notes that the caller has read these, or with null all that they heard of; how many were new to them.
create function app.read_notifications(ids uuid[]) returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  marked int;
begin
  update vault.notifications n set read_at = app.now()
    where n.user_id = app.user_id() and app.client_id() is null and n.read_at is null and (ids is null or n.id = any (ids));
  get diagnostics marked = row_count;
  return marked;
end
$$;

-- What the caller chose, with what holds where they did not.
create function app.notification_choices() returns table (kind text, delivery text, standard text, security boolean)
language sql stable security definer set search_path = '' as $$
  select k.kind, coalesce(c.delivery, k.delivery), k.delivery, k.security
  from app.notification_kinds k
  left join vault.notification_choices c on c.kind = k.kind and c.user_id = app.user_id()
  order by k.place
$$;

-- Takes what the caller chooses for a kind.
create function app.choose_notification(of_kind text, chosen text) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to choose what you hear of.');
  end if;
  if chosen = 'off' and (select k.security from app.notification_kinds k where k.kind = of_kind) then
    perform app.refuse('security_stays', 'What concerns the security of your account cannot be turned off: have it in the application only.');
  end if;
  insert into vault.notification_choices (user_id, kind, delivery) values (app.user_id(), of_kind, chosen)
    on conflict (user_id, kind) do update set delivery = excluded.delivery;
end
$$;

-- What the caller chose for a deal, or null.
create function app.deal_notification_choice(deal uuid) returns text
language sql stable security definer set search_path = '' as $$
  select c.delivery from vault.deal_notification_choices c where c.user_id = app.user_id() and c.deal_id = deal
$$;

-- The deals for which the caller chose something.
create function app.deal_notification_choices() returns table (deal_id uuid, delivery text)
language sql stable security definer set search_path = '' as $$
  select c.deal_id, c.delivery from vault.deal_notification_choices c where c.user_id = app.user_id() order by c.deal_id limit 200
$$;

-- Takes what the caller chooses for a deal that they see; null takes it back. False when there is no such deal.
create function app.choose_deal_notification(deal uuid, chosen text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null or app.seen_deal(deal) is null then
    return false;
  end if;
  if chosen is null then
    delete from vault.deal_notification_choices c where c.user_id = app.user_id() and c.deal_id = deal;
  else
    insert into vault.deal_notification_choices (user_id, deal_id, delivery) values (app.user_id(), deal, chosen)
      on conflict (user_id, deal_id) do update set delivery = excluded.delivery;
  end if;
  return true;
end
$$;

-- The caller's zone and the hour of their mail of the day; null until they have chosen one.
create function app.notification_settings() returns table (time_zone text, digest_hour int)
language sql stable security definer set search_path = '' as $$
  select s.time_zone, s.digest_hour from vault.notification_settings s where s.user_id = app.user_id()
$$;

-- Takes the caller's zone and hour. What waits for the mail of the day goes at the new hour.
create function app.set_notification_settings(zone text, hour int) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to choose what you hear of.');
  end if;
  if not exists (select from pg_catalog.pg_timezone_names z where z.name = zone) then
    perform app.refuse_value('time_zone', 'Choose a time zone from the list.');
  end if;
  insert into vault.notification_settings (user_id, time_zone, digest_hour) values (app.user_id(), zone, hour)
    on conflict (user_id) do update set time_zone = excluded.time_zone, digest_hour = excluded.digest_hour;
  update vault.notifications n set mail_due_at = app.next_digest(app.user_id())
    where n.user_id = app.user_id() and n.mail = 'daily' and n.mail_due_at is not null;
end
$$;
grant execute on function app.own_notifications(boolean, timestamptz, uuid, int), app.read_notifications(uuid[]),
  app.notification_choices(), app.choose_notification(text, text), app.deal_notification_choice(uuid),
  app.deal_notification_choices(), app.choose_deal_notification(uuid, text), app.notification_settings(),
  app.set_notification_settings(text, int) to dealkeep_server;

-- Somebody's open pages are told that there is something new for them, or that they read it elsewhere.
create function app.announce_notifications() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform pg_notify('dealkeep_changes', json_build_object('topic', 'notifications', 'table', 'notifications',
      'record', c.user_id, 'deal_id', null, 'gone', false)::text)
    from (select distinct n.user_id from changed n) c;
  return null;
end
$$;
create trigger announce after insert on vault.notifications referencing new table as changed
  for each statement execute function app.announce_notifications();
create trigger announce_change after update on vault.notifications referencing new table as changed
  for each statement execute function app.announce_notifications();

-- Live changes as they were, and what somebody hears of.
create or replace function app.sees_any(of_table text, records uuid[], deal uuid, gone boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if gone then
    case of_table
      when 'documents', 'production_documents' then return app.saw_any_document(deal, records);
      when 'qoe_checklist', 'normalizations' then return deal = any (app.qoe_deals(false));
      when 'qoe_workspace_members' then
        return deal = any (app.deals_as('broker', 'seller')) or records && app.principals();
      when 'closing_conditions' then
        return deal = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
          or exists (select from public.deals d where d.id = deal and d.organization_id = any (app.brokerages_as('admin')));
      when 'deal_opt_ins' then return app.user_id() = any (records);
      when 'deal_tool_stops' then return exists (select from public.deals d where d.id = deal);
      else return false;
    end case;
  end if;
  case of_table
    when 'deals' then return exists (select from public.deals r where r.id = any (records));
    when 'deal_stages' then return exists (select from public.deal_stages r where r.deal_id = any (records));
    when 'exclusivities' then return exists (select from public.exclusivities r where r.id = any (records));
    when 'participants' then return exists (select from public.participants r where r.id = any (records));
    when 'ndas' then return exists (select from public.ndas r where r.id = any (records));
    when 'documents' then return exists (select from public.documents r where r.id = any (records));
    when 'production_documents' then return exists (select from public.production_documents r where r.id = any (records));
    when 'document_openings' then return exists (select from public.document_openings r where r.id = any (records));
    when 'questions' then return exists (select from public.questions r where r.id = any (records));
    when 'question_answers' then return exists (select from public.question_answers r where r.question_id = any (records));
    when 'qoe_checklist' then return exists (select from public.qoe_checklist r where r.id = any (records));
    when 'accounting_snapshots' then return exists (select from public.accounting_snapshots r where r.id = any (records));
    when 'normalizations' then return exists (select from public.normalizations r where r.id = any (records));
    when 'qoe_workspace_members' then return exists (select from public.qoe_workspace_members r
      where r.participant_id = any (records) and r.deal_id = deal);
    when 'offers', 'offer_decisions' then return exists (select from public.offers r where r.id = any (records));
    when 'closing_conditions' then return exists (select from public.closing_conditions r where r.id = any (records));
    when 'findings', 'finding_comments' then return exists (select from public.findings r where r.id = any (records));
    when 'financing_sources' then return exists (select from public.financing_sources r where r.id = any (records));
    when 'deal_opt_ins', 'notifications' then return app.user_id() = any (records);
    when 'deal_tool_stops' then return exists (select from public.deals r where r.id = any (records));
    else return false;
  end case;
end
$$;

create or replace function app.listeners_told(changes jsonb, presented bytea)
returns table (session_id uuid, topic text, deal_id uuid)
language plpgsql volatile set search_path = '' as $$
#variable_conflict use_column
declare
  deals constant uuid[] := (select coalesce(array_agg(distinct c.deal_id), '{}')
    from jsonb_to_recordset(changes) as c (deal_id uuid, "table" text) where c."table" not in ('deal_opt_ins', 'notifications'));
  people constant uuid[] := (select coalesce(array_agg(distinct person), '{}')
    from jsonb_to_recordset(changes) as c (records uuid[], "table" text), unnest(c.records) person
    where c."table" in ('deal_opt_ins', 'notifications'));
  listener record;
begin
  for listener in
    -- An opt-in is its owner's, whatever the deal, and so is what somebody hears of: they stand under no deal here.
    with of_deal as (
      select case when c ->> 'table' not in ('deal_opt_ins', 'notifications') then (c ->> 'deal_id')::uuid end as deal, jsonb_agg(c) as changes
      from jsonb_array_elements(changes) c group by 1
    )
    select s.session_id, s.digest, one.deal, o.changes
    from app.sessions_concerned(deals, people, presented) s
    cross join lateral (select distinct unnest(s.of_deals) as deal) one
    join of_deal o on o.deal is not distinct from one.deal
  loop
    perform from app.enter_with_session(listener.digest, false, case when listener.deal is not null then 'deals' end, listener.deal);
    continue when not found;
    return query
      select listener.session_id, c.topic, c.deal_id
      from jsonb_to_recordset(listener.changes) as c (topic text, "table" text, records uuid[], deal_id uuid, gone boolean)
      where app.sees_any(c."table", c.records, c.deal_id, c.gone);
  end loop;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
end
$$;
