-- compatible: nodes of the release before do not know these kinds of notifications: the list tells of them in general words, and their mails wait for a newer node.
--
-- A buyer whose offer stands accepted was told that an offer was declined when a broker declined a change to its terms.

INSERT INTO app.notification_kinds VALUES
  ('change_proposed', 116, 'at_once', false), ('change_accepted', 117, 'at_once', false), ('change_declined', 118, 'at_once', false);
-- As each person has chosen for what these were told as until now.
INSERT INTO vault.notification_choices (user_id, kind, delivery)
  SELECT c.user_id, k.kind, c.delivery
  FROM (VALUES ('offer_revised', 'change_proposed'), ('offer_accepted', 'change_accepted'), ('offer_declined', 'change_declined')) k (told_as, kind)
  JOIN vault.notification_choices c ON c.kind = k.told_as;

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
    'tokens.issue', 'api_key.create', 'api_key.rotate')
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
      if new.details ->> 'to' in ('closed', 'withdrawn') then
        perform app.queue_event('deal_' || (new.details ->> 'to'), new.deal_id, 'deals', new.deal_id, new.user_id, null);
      end if;
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
$function$;
