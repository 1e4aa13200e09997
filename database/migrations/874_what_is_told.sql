-- compatible: nodes of the release before do not know these kinds of notifications: the list tells of them in general words, and their mails wait for a newer node.
--
-- Any broker of a deal can make anybody its broker, also somebody of another brokerage, and no admin heard of it. Who was made the broker of somebody else's deals
-- did not hear of that, nor did the others on these deals. Members without a second factor learned that their brokerage requires one by being locked out, and admins
-- that a key or webhook had stopped, with the admin through whom it worked, when nothing arrived any more. That an assistant was connected did not say which, and
-- that a token was used again, which ends its connection, was told to nobody.

INSERT INTO app.notification_kinds VALUES
  ('broker_changed', 226, 'at_once', false), ('deals_received', 227, 'at_once', false), ('outside_broker', 228, 'at_once', false),
  ('factor_required', 1001, 'at_once', true), ('api_key_stopped', 1002, 'at_once', true),
  ('connection_ended', 1003, 'at_once', true), ('webhook_stopped', 1004, 'at_once', true);

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
      -- Whoever was removed can open nothing of the deal any more, and hears no more than that they were.
      select p.user_id into person from public.participants p where p.id = about and p.joined_at is not null;
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

CREATE OR REPLACE FUNCTION app.candidates(event vault.events)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if event.person_id is not null then
    return query select event.person_id;
  elsif event.subject = 'api_keys' then
    return query
      select m.user_id from public.api_keys k
      join public.members m on m.brokerage_id = k.brokerage_id and m.role = 'admin' and m.status = 'active'
      where k.id = event.subject_id;
  elsif event.kind = 'outside_broker' then
    return query
      select m.user_id from public.deals d
      join public.members m on m.brokerage_id = d.organization_id and m.role = 'admin' and m.status = 'active'
      where d.id = event.deal_id;
  elsif event.kind = 'broker_changed' then
    return query
      select p.user_id from public.participants p
      where p.deal_id = event.deal_id and p.status = 'active' and p.id <> event.subject_id;
  elsif event.kind in ('condition_due', 'condition_overdue') then
    return query
      select p.user_id from public.closing_conditions c
      join public.participants p on p.deal_id = c.deal_id and p.status = 'active'
        and (p.role = 'broker' or p.user_id = c.owner_user_id)
      where c.id = event.subject_id;
  elsif event.kind = 'question_returned' then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id and o.side = 'broker'
      where p.deal_id = event.deal_id and p.status = 'active';
  elsif event.opened_from is not null then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id
      where p.deal_id = event.deal_id and p.status = 'active'
        and app.document_opens_to(event.opened_from, o.deal_id, o.side, o.principal_id) is not true;
  else
    return query select p.user_id from public.participants p where p.deal_id = event.deal_id and p.status = 'active';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.brokerages_of_notices(mail uuid, of_kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select jsonb_agg(jsonb_build_object('id', b.id, 'name', b.name) order by b.name, b.id)
    from public.brokerages b
    where b.id in (
      select coalesce(k.brokerage_id, case when n.subject is null then n.subject_id end)
      from vault.outbox o
      join vault.notifications n on n.id in (select i::uuid from jsonb_array_elements_text(o.facts -> 'notifications') i)
        and n.user_id = o.recipient_id and n.kind = of_kind and n.deal_id is null
        and app.person_could_open(n.user_id, n.subject, n.subject_id, null)
      left join public.api_keys k on n.subject = 'api_keys' and k.id = n.subject_id
      where o.id = brokerages_of_notices.mail and o.kind = 'notifications'));
end
$function$;

CREATE OR REPLACE FUNCTION app.notifications_in_sight(after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamp with time zone, read_at timestamp with time zone, subject_name text, actor_name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  one record;
  looked int := 0;
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  -- Read for all at once; what they may not open, and whom they may not see, is left out.
  for one in
    select n.*,
      case when n.opens then
        case n.subject
          when 'documents' then (select d.filename from public.documents d where d.id = n.subject_id)
          when 'production_documents' then (select d.filename from public.production_documents d where d.id = n.subject_id)
          when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = n.subject_id)
          when 'findings' then (select f.title from public.findings f where f.id = n.subject_id)
          when 'api_keys' then (select k.name from public.api_keys k where k.id = n.subject_id)
          else (
            select case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end
            from public.participants p left join public.users u on u.id = p.user_id
            where p.id = case n.subject when 'participants' then n.subject_id
                when 'ndas' then (select a.participant_id from public.ndas a where a.id = n.subject_id) end
              and app.could_open_as('participants', p.id, n.standing, administered)) end end as name,
      case when n.opens then (
        select coalesce(p.left_name, u.name) from public.participants p join public.users u on u.id = p.user_id
        where p.deal_id = n.deal_id and p.user_id = n.actor_id and p.joined_at is not null
          and app.could_open_as('participants', p.id, n.standing, administered)) end as actor
    from (
      select n.*, n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered) as opens
      from (
        select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at, s.title, s.standing
        from vault.notifications n
        left join lateral (
          select o.title, app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred)
          union all
          -- Of interest to admins who are not on the deal.
          select d.title, app.standing_of(d.id, d.organization_id, barred, administered, null, null, null, null)
          from public.deals d where n.kind = 'outside_broker' and d.id = n.deal_id and d.organization_id = any (administered) limit 1) s on true
        where n.user_id = me and (n.at, n.id) < (coalesce(after_at, 'infinity'), coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      offset 0) n
  loop
    looked := looked + 1;
    continue when not one.opens;
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := one.title;
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    subject_name := one.name;
    actor_name := one.actor;
    return next;
    told := told + 1;
    exit when told = most;
  end loop;
  -- Hidden as far as was looked: where to go on from.
  if told < most and looked = 400 then
    return query select one.id, null::text, null::uuid, null::text, null::uuid, one.at, null::timestamptz, null::text, null::text;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.unread_notifications()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_sort TO 'off'
AS $function$
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return 0;
  end if;
  return (
    select count(*) from (
      select from (
        select n.subject, n.subject_id, s.standing
        from vault.notifications n
        left join lateral (
          select app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred)
          union all
          select app.standing_of(d.id, d.organization_id, barred, administered, null, null, null, null)
          from public.deals d where n.kind = 'outside_broker' and d.id = n.deal_id and d.organization_id = any (administered) limit 1) s on true
        where n.user_id = me and n.read_at is null and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      where n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered)
      limit 100) n);
end
$function$;
