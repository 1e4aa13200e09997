-- compatible: nodes of the release before record an invitation that is withdrawn on the page as they did, as a removal.
--
-- Whoever had left a deal, was invited again and whose invitation was withdrawn was told that they no longer take part in a deal, although they took none.

CREATE OR REPLACE FUNCTION app.remove_advisors()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  advisor record;
  details jsonb;
begin
  for advisor in
    update public.participants p set status = 'removed' from public.participants was
      where p.advises = new.id and p.status <> 'removed' and was.id = p.id returning p.id, was.status as was
  loop
    details := case when advisor.was = 'invited' then '{"withdrawn": true}' else '{}' end;
    -- Who declines removes nobody, and the deal's people do not learn whose account it was.
    if old.status = 'invited' and new.user_id = app.user_id() then
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        values (new.brokerage_id, new.deal_id, 'participant.remove', advisor.id::text, 'done', details);
    else
      perform app.audit('participant.remove', advisor.id::text, 'done', null, new.deal_id, null, null, details);
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_done()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  about uuid;
  person uuid;
begin
  if new.outcome <> 'done' then
    return null;
  end if;
  if new.deal_id is not null and new.action not like 'tool:%' then
    insert into vault.deal_activity as known (deal_id, at, record_id) values (new.deal_id, new.at, new.id)
      on conflict (deal_id) do update set at = excluded.at, record_id = excluded.record_id
        where (known.at, known.record_id) < (excluded.at, excluded.record_id);
    if new.user_id is not null then
      insert into vault.own_activity as known (user_id, deal_id, at, record_id) values (new.user_id, new.deal_id, new.at, new.id)
        on conflict (user_id, deal_id) do update set at = excluded.at, record_id = excluded.record_id
          where (known.at, known.record_id) < (excluded.at, excluded.record_id);
    end if;
  elsif new.action like 'contact.%' then
    return null;
  end if;
  -- Who accepts an invitation by its link has not entered; the owner, who loads data, logs in as themself.
  if session_user = current_user or new.action not in (
    'question.ask', 'question.release', 'question.reject', 'question.answer', 'question.distribute', 'deal.move', 'nda.send', 'nda.sign', 'nda.revoke',
    'document.upload', 'offer.submit', 'offer.accept', 'offer.accept_change', 'offer.decline_change', 'participant.invite', 'invitation.accept', 'participant.remove',
    'deal.open', 'deal.hand_over', 'tokens.issue', 'api_key.create', 'api_key.rotate', 'brokerage.second_factor')
  then
    return null;
  end if;
  about := new.subject_id::uuid;
  case new.action
    when 'question.ask' then perform app.queue_event('question_asked', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.release' then perform app.queue_event('question_released', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.reject' then perform app.queue_event('question_rejected', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.answer' then perform app.queue_event('question_answered', new.deal_id, 'question_answers', about, new.user_id, null);
    when 'question.distribute' then perform app.queue_event('answer_distributed', new.deal_id, 'questions', about, new.user_id, null);
    when 'nda.send' then perform app.queue_event('nda_sent', new.deal_id, 'ndas', about, new.user_id, null);
    when 'nda.sign' then perform app.queue_event('nda_signed', new.deal_id, 'ndas', about, new.user_id, null);
    when 'nda.revoke' then perform app.queue_ended_ndas(array[about], new.user_id);
    when 'document.upload' then
      perform app.queue_event('document_added', new.deal_id,
        case new.details ->> 'source' when 'production' then 'production_documents' else 'documents' end, about, new.user_id, null);
    when 'offer.submit' then
      perform app.queue_event(case when (new.details ->> 'revision')::int <= 1 then 'offer_submitted'
          when exists (select from public.offers o join public.offers a on a.participant_id = o.participant_id
            where o.id = about and a.id = app.accepted_offer(new.deal_id)) then 'change_proposed'
          else 'offer_revised' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.accept' then perform app.queue_event('offer_accepted', new.deal_id, 'offers', about, new.user_id, null);
    -- Where nothing was accepted before, as after an exclusivity that was granted without an offer, this decides on an offer.
    when 'offer.accept_change' then
      perform app.queue_event(case when new.details @> '{"first": true}' then 'offer_accepted' else 'change_accepted' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.decline_change' then
      perform app.queue_event(case when new.details @> '{"first": true}' then 'offer_declined' else 'change_declined' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'deal.move' then
      -- That a deal is under offer is told to nobody who would learn, from not being told, that another one is exclusive.
      if new.details ->> 'to' in ('listed', 'closed', 'withdrawn') then
        perform app.queue_event('deal_' || (new.details ->> 'to'), new.deal_id, 'deals', new.deal_id, new.user_id, null);
      else
        perform app.queue_event('deal_moved', new.deal_id, 'deal_stages', new.deal_id, new.user_id, null);
      end if;
    when 'participant.invite' then perform app.queue_event('invited', new.deal_id, 'participants', about, new.user_id, null);
    when 'invitation.accept' then
      if new.deal_id is not null then
        perform app.queue_event('joined', new.deal_id, 'participants', coalesce(about, (
          select p.id from public.participants p where p.deal_id = new.deal_id and p.user_id = new.user_id)), new.user_id, null);
        perform app.queue_event('outside_broker', new.deal_id, 'participants', p.id, new.user_id, null)
          from public.participants p
          where p.deal_id = new.deal_id and p.user_id = new.user_id and p.role = 'broker'
            and not exists (select from public.deals d join public.members m on m.brokerage_id = d.organization_id
              where d.id = p.deal_id and m.user_id = p.user_id and m.status = 'active');
      end if;
    when 'participant.remove' then
      perform app.queue_event(case when new.details @> '{"left": true}' then 'left' else 'removed' end, new.deal_id, 'participants', about, new.user_id, null);
      -- Whoever was removed can open nothing of the deal any more, and hears no more than that they were. Who had been invited again took no part.
      select p.user_id into person from public.participants p
        where p.id = about and p.joined_at is not null and not new.details @> '{"withdrawn": true}';
      if person is not null then
        perform app.queue_event('removed', null, null, null, new.user_id, person);
      end if;
    when 'deal.open', 'deal.hand_over' then
      if new.action = 'deal.hand_over' then
        perform app.queue_event('broker_changed', new.deal_id, 'participants', about, new.user_id, null);
        select p.user_id into person from public.participants p where p.id = about;
      else
        -- Opened for somebody else, who runs it from the start.
        select p.id, p.user_id into about, person from public.participants p join public.deals d on d.id = p.deal_id
          where p.deal_id = new.deal_id and p.role = 'broker' and p.status = 'active' and p.user_id is distinct from d.created_by;
      end if;
      -- Of several deals at once the broker hears once, and of the brokerage instead of a deal.
      update vault.events e set deal_id = null, subject = null, subject_id = new.brokerage_id
        where e.rank in (1, 2) and e.next_attempt_at = app.now() and e.kind = 'deals_received' and e.person_id = person
          and (e.subject_id = new.brokerage_id or e.deal_id in (select d.id from public.deals d where d.organization_id = new.brokerage_id));
      if not found and person is not null then
        perform app.queue_event('deals_received', new.deal_id, 'participants', about, new.user_id, person);
      end if;
    when 'tokens.issue' then perform app.queue_event('assistant_connected', null, null, new.client_id, new.user_id, new.user_id);
    when 'api_key.create', 'api_key.rotate' then
      perform app.queue_event('api_key_made', null, 'api_keys', about, new.user_id, null);
    when 'brokerage.second_factor' then
      if new.details @> '{"required": true}' then
        perform app.queue_event('factor_required', null, null, about, new.user_id, m.user_id)
          from public.members m where m.brokerage_id = about and m.status = 'active' and not app.has_second_factor(m.user_id);
      end if;
  end case;
  return null;
end
$function$;
