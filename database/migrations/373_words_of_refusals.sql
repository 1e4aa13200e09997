-- compatible: other words for the same.
--
-- What people read when a reminder or an e-mail is refused, and before a deal is closed, as they say it themselves.

create or replace function app.closing_warnings(deal_id uuid)
returns text[]
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  warnings text[] := '{}';
  open_conditions text[];
  questions int;
  selected uuid;
  buyer text;
begin
  if not deal_id = any (app.deals_acting_as('broker', 'deals:write')) then
    return '{}';
  end if;
  select array_agg(c.name order by c.deadline nulls last, c.id) into open_conditions from public.closing_conditions c
    where c.deal_id = closing_warnings.deal_id and c.status in ('open', 'in_progress');
  if cardinality(open_conditions) = 1 then
    warnings := array_append(warnings, format('A closing condition is not met: %s.', open_conditions[1]));
  elsif cardinality(open_conditions) > 1 then
    warnings := array_append(warnings, format('%s closing conditions are not met: %s%s.', cardinality(open_conditions),
      array_to_string(open_conditions[1:5], ', '), case when cardinality(open_conditions) > 5 then ' and others' end));
  end if;
  select x.participant_id, u.name into selected, buyer
    from public.exclusivities x
    join public.participants p on p.id = x.participant_id and p.status = 'active'
    join public.users u on u.id = x.buyer_user_id
    where x.deal_id = closing_warnings.deal_id and x.ended_at is null;
  if selected is null then
    warnings := array_append(warnings, 'No buyer holds the exclusivity: the record will not say who bought.');
  end if;
  if app.accepted_offer(deal_id) is null then
    warnings := array_append(warnings, 'No offer is accepted: the record will not say on which terms.');
  elsif exists (select from public.offers o where o.deal_id = closing_warnings.deal_id and o.participant_id = selected and o.is_current
    and not exists (select from public.offer_decisions c where c.offer_id = o.id))
  then
    warnings := array_append(warnings, 'A proposed change to the accepted terms is not decided.');
  end if;
  if not (select d.needs_nda from public.deals d where d.id = closing_warnings.deal_id) then
    null;
  elsif selected is not null and not exists (select from vault.active_ndas n where n.participant_id = selected) then
    warnings := array_append(warnings, format('%s has no active NDA.', buyer));
  elsif selected is null and not exists (select from vault.active_ndas n where n.deal_id = closing_warnings.deal_id) then
    warnings := array_append(warnings, 'Nobody has an active NDA.');
  end if;
  select count(*) into questions from public.questions q
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered');
  if questions = 1 then
    warnings := array_append(warnings, 'A question is still without its answer.');
  elsif questions > 1 then
    warnings := array_append(warnings, format('%s questions are still without their answers.', questions));
  end if;
  return warnings;
end
$$;

create or replace function app.count_mail_to(sender uuid, brokerage uuid, mailbox text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse_mail('minute', 'You have sent 20 e-mails within a minute: continue in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'hour', 60) then
    perform app.refuse_mail('hour', 'You have sent 60 e-mails within this hour: continue in the next one, or create a link and pass it on.');
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse_mail('day', 'You have sent 100 e-mails today: continue tomorrow, or create a link and pass it on.');
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse_mail('day', 'Your brokerage has sent 500 e-mails today: continue tomorrow, or create a link and pass it on.');
  end if;
  if not app.count_mail('to ' || mailbox, 'hour', 10) then
    perform app.refuse_mail('hour',
      'This address was sent many e-mails within this hour: continue in the next one, or create a link and pass it on.');
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || mailbox, 'day', 5)
    or not app.count_mail('to ' || mailbox, 'day', 20)
  then
    perform app.refuse_mail('day',
      'This address was sent many e-mails today: continue tomorrow, or create a link and pass it on.');
  end if;
end
$$;

create or replace function app.remind(of_table text, record uuid, address inet, request_id text)
returns integer
language plpgsql
security definer
set search_path = ''
as $$
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

create or replace function app.retry_mail(mail uuid, new_token bytea, new_secret text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  undelivered vault.outbox;
begin
  select o.* into undelivered from vault.outbox o where o.id = mail and o.sent_at is null for update;
  if not found then
    return false;
  end if;
  if undelivered.claimed_until > app.now() then
    perform app.refuse('mail_under_way', 'This e-mail is being sent at this moment: look again in a few minutes.');
  end if;
  if undelivered.given_up_at is not null and undelivered.link is not null then
    update vault.invitations i set digest = new_token, expires_at = app.now() + interval '14 days'
      where i.digest = undelivered.link and app.is_live_link(undelivered.link);
    if not found then
      perform app.refuse('link_expired', 'The link in this e-mail was used, withdrawn, or has expired: it has to be requested again.');
    end if;
    undelivered.link := new_token;
    undelivered.secret := new_secret;
  end if;
  update vault.outbox o set given_up_at = null, claimed_until = null, attempts = 0, next_attempt_at = app.now(),
      give_up_at = app.now() + interval '1 day', link = undelivered.link, secret = undelivered.secret
    where o.id = undelivered.id;
  perform pg_notify('dealkeep_mail', '');
  return true;
end
$$;
