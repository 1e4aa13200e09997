-- compatible: the function keeps its name, arguments and answers.
--
-- 461 has a withdrawn deal refused, and 468 decides for everybody at once who could open the record: both.

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
  if app.actual_state(deal) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: nobody has to do anything about this any more.');
  end if;
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
