-- compatible: nodes of the release before do not know these kinds of notifications, and tell of them in general words.
--
-- A broker reminds whoever has not signed an NDA, answered a question or met a closing condition.

update app.notification_kinds set place = place + 10 where security;
insert into app.notification_kinds values
  ('nda_reminder', 23, 'at_once', false), ('question_reminder', 24, 'at_once', false), ('condition_reminder', 25, 'at_once', false);

-- When somebody was last reminded of a record, and by whom: one row for both. What was not done is in the record itself.
create table vault.sent_reminders (
  subject text not null check (subject in ('ndas', 'questions', 'closing_conditions')),
  subject_id uuid not null,
  recipient_id uuid not null references users,
  deal_id uuid not null references deals,
  brokerage_id uuid not null,
  sent_by uuid not null references users,
  sent_at timestamptz not null default app.now(),
  primary key (subject, subject_id, recipient_id)
);
create index sent_reminders_by_deal on vault.sent_reminders (deal_id, sent_at);
create index sent_reminders_by_sender on vault.sent_reminders (sent_by, sent_at);
create index sent_reminders_by_time on vault.sent_reminders (sent_at);
create index sent_reminders_by_recipient on vault.sent_reminders (recipient_id);
select app.protect('vault.sent_reminders');
create trigger set_tenant before insert or update of deal_id, brokerage_id on vault.sent_reminders for each row execute function app.set_tenant_by_deal();

-- Who is to do what a record waits for: who signs an NDA that was sent, the sellers for a question that is with them, the owner of a
-- closing condition that is not met. Nobody where it waits for nobody, and never the caller.
create function app.awaited(of_table text, record uuid) returns setof uuid
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
        where q.id = record and q.status = 'with_seller' and p.user_id <> app.user_id();
    when 'closing_conditions' then
      return query
        select c.owner_user_id from public.closing_conditions c
        where c.id = record and c.status in ('open', 'in_progress') and c.owner_user_id <> app.user_id();
  end case;
end
$$;

-- Reminds whoever a record waits for, each at most once within 24 hours; how many. For the brokers of its deal: null when it is none that they see,
-- or is no broker who asks. What is sent goes through the choices of its reader, and to nobody who could not open the record.
create function app.remind(of_table text, record uuid, address inet, request_id text) returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  deal constant uuid := case when of_table in ('ndas', 'questions', 'closing_conditions') then app.deal_of(of_table, record) end;
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  waiting uuid[] := '{}';
  reminded uuid[];
  person uuid;
begin
  if app.user_id() is null or app.client_id() is not null or not coalesce(deal = any (app.deals_acting_as('broker')), false) then
    return null;
  end if;
  perform app.refuse_if_closed(deal);
  foreach person in array array(select a from app.awaited(of_table, record) a) loop
    if app.person_could_open(person, of_table, record, deal) then
      waiting := waiting || person;
    end if;
  end loop;
  -- Somebody else was asked for: the caller is back.
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  if waiting = '{}' then
    perform app.refuse('nobody_to_remind', 'Nobody has to do anything about this at the moment.');
  end if;
  -- One after the other, so that the count below holds.
  perform pg_advisory_xact_lock(hashtextextended('reminders of ' || app.user_id(), 0));
  if (select count(*) from vault.sent_reminders s where s.sent_by = app.user_id() and s.sent_at > app.now() - interval '1 hour')
    + cardinality(waiting) > 60
  then
    perform app.refuse('too_many_reminders', 'That were 60 reminders within an hour: send more of them later.');
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

-- What the brokers of a deal sent reminders of within the last 24 hours, at most 500 records; nothing for anybody else.
create function app.reminders_sent(deal uuid) returns table (subject text, subject_id uuid, sent_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  if app.client_id() is not null or not coalesce(deal = any (app.deals_acting_as('broker')), false) then
    return;
  end if;
  return query
    select s.subject, s.subject_id, max(s.sent_at) from vault.sent_reminders s
    where s.deal_id = deal and s.sent_at > app.now() - interval '24 hours'
    group by s.subject, s.subject_id order by max(s.sent_at) desc limit 500;
end
$$;
grant execute on function app.remind(text, uuid, inet, text), app.reminders_sent(uuid) to dealkeep_server;

-- As it was, and reminders after two days, when they are of no use to anybody.
create or replace function app.purge_notifications() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  purged int;
begin
  delete from vault.sent_reminders s where s.ctid = any (array(
    select o.ctid from vault.sent_reminders o where o.sent_at < app.now() - interval '2 days' order by o.sent_at limit 10000));
  delete from vault.notifications n where n.id in (
    select o.id from vault.notifications o where o.at < app.now() - interval '180 days' order by o.at limit 10000);
  get diagnostics purged = row_count;
  return purged;
end
$$;

-- Of somebody who is erased no row says whom they reminded or who reminded them.
create function app.forget_reminders() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from vault.sent_reminders s where s.recipient_id = new.id or s.sent_by = new.id;
  return null;
end
$$;
create trigger forget_reminders after update of erased_at on users for each row
  when (new.erased_at is not null) execute function app.forget_reminders();

create or replace function app.notification_data(person uuid) returns jsonb
language sql stable security definer set search_path = '' as $$
  select jsonb_build_object(
    'calendar_link', (select jsonb_build_object('created_at', l.created_at) from vault.calendar_links l where l.user_id = person),
    'reminders', (select coalesce(jsonb_agg(jsonb_build_object('about', s.subject, 'deal_id', s.deal_id, 'sent_at', s.sent_at) order by s.sent_at), '[]')
      from vault.sent_reminders s where s.recipient_id = person or s.sent_by = person))
$$;

-- As they were, and the owner of the account hears of it by a mail.
create or replace function app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint, transports text[], label text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  delete from vault.challenges c where c.digest = challenge and c.user_id = this.user_id and c.expires_at > app.now();
  if not found then
    return false;
  end if;
  if exists (select from vault.passkeys k where k.credential_id = credential) then
    perform app.refuse('passkey_known', 'This passkey is registered already.');
  end if;
  if 20 <= (select count(*) from vault.passkeys k where k.user_id = this.user_id) then
    perform app.refuse('too_many_passkeys', 'You have 20 passkeys: remove one before you add another.');
  end if;
  insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name)
    values (this.user_id, credential, add_passkey.public_key, add_passkey.counter, add_passkey.transports, label);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.notify_security_change(this.user_id, 'passkey_added');
  perform app.record(this.user_id, 'passkey.add', 'done', null, address, request_id);
  return true;
end
$$;
create or replace function app.remove_passkey(session bytea, passkey_id uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  delete from vault.passkeys k where k.id = passkey_id and k.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.notify_security_change(this.user_id, 'passkey_removed');
  perform app.record(this.user_id, 'passkey.remove', 'done', null, address, request_id);
  return true;
end
$$;
