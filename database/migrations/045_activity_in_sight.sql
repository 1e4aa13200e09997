-- compatible: the release before goes on with the functions that it calls.
--
-- What was done lately on deals, for those who neither run them nor administer their brokerage: not their own acts alone, but
-- everything that was done to what they could open.

-- The table of the record that an act on a deal was done to; null where there is none that people open.
create function app.subject_of(action text, details jsonb) returns text
language sql immutable parallel safe set search_path = '' as $$
  select case
    when action in ('document.upload', 'document.change', 'document.restore') then
      case details ->> 'source' when 'production' then 'production_documents' else 'documents' end
    when action in ('question.ask', 'question.release', 'question.distribute') then 'questions'
    when action = 'question.answer' then 'question_answers'
    when action in ('nda.send', 'nda.sign', 'nda.revoke') then 'ndas'
    when action in ('offer.submit', 'offer.accept', 'offer.accept_change', 'offer.decline_change') then 'offers'
    when action in ('condition.add', 'condition.change') then 'closing_conditions'
    when action in ('finding.add', 'finding.status') then 'findings'
    when action in ('participant.invite', 'participant.remove', 'invitation.accept') then 'participants'
  end
$$;
grant execute on function app.subject_of(text, jsonb) to dealkeep_server;

-- What others did within the last 30 days, at most eight acts on each of the 50 deals that the caller came to last and does not run: to
-- records that the caller could open. One deal is looked at at a time, as in a request about it. Which deals and acts are looked at
-- does not hang on what the caller may not see.
create function app.activity_in_sight()
returns table (id uuid, at timestamptz, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  whole constant text := app.whole_identity();
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  administered constant uuid[] := app.brokerages_as('admin');
  deals uuid[];
  deal uuid;
  one public.audit_records;
  shown int;
begin
  if me is null or app.narrowed_to() is not null then
    return;
  end if;
  deals := array(select p.deal_id from app.participations() p where p.role <> 'broker' order by p.participant_id desc limit 50);
  foreach deal in array deals loop
    perform app.seal(whole || ',' || app.standing(me, app.barred_in(whole), administered, deal));
    shown := 0;
    for one in
      select a.* from public.audit_records a
      where a.deal_id = deal and a.outcome = 'done' and a.action not like 'tool:%' and a.at > app.now() - interval '30 days'
        and a.user_id is distinct from me and app.subject_of(a.action, a.details) is not null
        and a.subject_id ~ '^[0-9a-f-]{36}$'
      order by a.at desc, a.id desc limit 500
    loop
      if app.could_open(app.subject_of(one.action, one.details), one.subject_id::uuid, deal) then
        id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := one.deal_id;
        action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
        return next;
        shown := shown + 1;
        exit when shown = 8;
      end if;
    end loop;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$$;
grant execute on function app.activity_in_sight() to dealkeep_server;

-- Nobody sends reminders yet: the kind comes with them.
delete from vault.notification_choices where kind = 'reminder';
delete from app.notification_kinds where kind = 'reminder';
