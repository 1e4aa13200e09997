-- compatible: nodes of the release before do not know this kind of notification: the list tells of it in general words, and its mails wait for a newer node.
--
-- An NDA that a broker revoked, or that expired, closed documents, questions and QoE to its buyer's side, and nobody was told; only that it would end within a week.

INSERT INTO app.notification_kinds VALUES ('nda_ended', 75, 'at_once', false);

-- Tells that NDAs have been revoked, or have expired: those that were signed, of buyers who still take part, on deals that go on. The others had opened nothing, or their end changes nothing.
CREATE FUNCTION app.queue_ended_ndas(ended uuid[], actor uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.queue_event('nda_ended', n.deal_id, 'ndas', n.id, actor, null)
    from public.ndas n
    join public.participants p on p.id = n.participant_id and p.status = 'active' and p.role = 'buyer'
    where n.id = any (ended) and n.signed_at is not null and app.actual_state(n.deal_id) not in ('closed', 'withdrawn');
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
      perform app.queue_event(case when (new.details ->> 'revision')::int > 1 then 'offer_revised' else 'offer_submitted' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.accept', 'offer.accept_change' then
      perform app.queue_event('offer_accepted', new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.decline_change' then perform app.queue_event('offer_declined', new.deal_id, 'offers', about, new.user_id, null);
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

CREATE OR REPLACE FUNCTION app.sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  free uuid[];
  due uuid[];
  lapsed int;
  expired uuid[];
begin
  -- What somebody else is about to change is left for the next time.
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select x.deal_id from vault.lapsing_exclusivities l join public.exclusivities x on x.id = l.exclusivity_id
        where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and exists (select from public.deal_stages g where g.deal_id = d.id and g.state = 'exclusivity')
    for no key update skip locked);
  due := array(
    select x.id from public.exclusivities x
    where x.id = any (array(
        select l.exclusivity_id from vault.lapsing_exclusivities l where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and x.expires_at <= app.now()
      and (x.deal_id = any (free) or not exists (select from public.deal_stages g where g.deal_id = x.deal_id and g.state = 'exclusivity'))
    for no key update skip locked);
  update public.exclusivities x set ended_at = x.expires_at
    from public.deal_stages g
    where x.id = any (due) and x.deal_id = any (free) and g.deal_id = x.deal_id and g.state = 'exclusivity' and x.ended_at is null;
  get diagnostics lapsed = row_count;
  -- Later in a sale it is kept until a broker releases it, but gives its buyer no more from its date on.
  perform app.queue_event('exclusivity_lapsed', x.deal_id, 'exclusivities', x.id, null, null)
    from public.exclusivities x join public.deal_stages g on g.deal_id = x.deal_id
    where x.id = any (due) and g.state in ('diligence', 'closing') and x.ended_at is null;
  delete from vault.lapsing_exclusivities l where l.exclusivity_id = any (due);
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select e.deal_id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now()
        order by e.expires_at limit 1000))
    for share skip locked);
  with ended as (
    update public.ndas n set status = 'expired'
      where n.id = any (array(
          select e.id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now() and e.deal_id = any (free)
          order by e.expires_at limit 1000 for no key update skip locked))
        and n.status in ('sent', 'active') and n.expires_at <= app.now()
      returning n.id)
    select array(select e.id from ended e) into expired;
  perform app.queue_ended_ndas(expired, null);
  return lapsed + cardinality(expired);
end
$function$;
