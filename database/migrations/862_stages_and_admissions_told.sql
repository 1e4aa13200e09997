-- compatible: nodes of the release before do not know these kinds of notifications: the list tells of them in general words, and their mails wait for a newer node.
--
-- Nobody but the brokers heard how a sale went on, neither in their activity nor by a notification: that a deal was listed, went into diligence or closing, that an
-- exclusivity was released, or that they were admitted to the QoE workspace. Each is told as far as they may know: other buyers hear that a deal is listed, closed or
-- withdrawn, and nothing in between.

INSERT INTO app.notification_kinds VALUES
  ('workspace_admitted', 85, 'at_once', false), ('deal_listed', 153, 'at_once', false), ('deal_moved', 154, 'at_once', false);

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
      end if;
    when 'participant.remove' then
      perform app.queue_event(case when new.details @> '{"left": true}' then 'left' else 'removed' end, new.deal_id, 'participants', about, new.user_id, null);
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

CREATE OR REPLACE FUNCTION app.could_open_as(of_table text, record uuid, standing text, administered uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  deal constant uuid := nullif(split_part(standing, ',', 1), '');
  principal constant uuid := nullif(split_part(standing, ',', 4), '');
  side constant text := split_part(standing, ',', 5);
begin
  case of_table
    when 'questions' then
      return exists (select from public.questions q where q.id = record and q.deal_id = deal
        and (side = 'broker' or q.participant_id = principal or (q.status in ('with_seller', 'answered', 'distributed') and side = 'seller')));
    when 'question_answers' then
      return side in ('broker', 'seller') and exists (select from public.question_answers a where a.question_id = record and a.deal_id = deal);
    when 'ndas' then
      return exists (select from public.ndas n where n.id = record and n.deal_id = deal
        and (side in ('broker', 'seller') or n.participant_id = principal));
    when 'documents' then
      return exists (select from public.documents d where d.id = record and d.deal_id = deal and d.removed_at is null
        and app.document_opens_to(d.confidentiality, deal, side, principal));
    when 'production_documents' then
      return exists (select from public.production_documents d where d.id = record and d.deal_id = deal and d.removed_at is null
        and app.document_opens_to(d.confidentiality, deal, side, principal));
    when 'offers' then
      return exists (select from public.offers o where o.id = record and o.deal_id = deal
        and (side in ('broker', 'seller') or o.participant_id = principal));
    when 'exclusivities' then
      return exists (select from public.exclusivities x where x.id = record and x.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or x.participant_id = principal or app.is_administered(deal, administered)));
    when 'closing_conditions' then
      return exists (select from public.closing_conditions c where c.id = record and c.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or app.is_administered(deal, administered)
          or (side = 'buyer' and exists (select from vault.selected_buyers s where s.participant_id = principal))));
    when 'findings' then
      return exists (select from public.findings f where f.id = record and f.deal_id = deal
        and (side in ('broker', 'seller') or f.participant_id = principal));
    when 'participants' then
      return exists (select from public.participants p where p.id = record and p.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or coalesce(p.advises, p.id) = principal or app.is_administered(deal, administered)
          or (side = 'buyer' and p.status = 'active' and (p.role = 'broker' or (p.role = 'seller'
            and (exists (select from public.deals d where d.id = deal and not d.needs_nda)
              or exists (select from vault.active_ndas n where n.participant_id = principal)))))));
    when 'deals' then
      return exists (select from public.deals d where d.id = record and d.id = deal);
    when 'deal_stages' then
      return exists (select from public.deals d where d.id = record and d.id = deal
        and (side in ('broker', 'seller', 'viewer') or app.is_administered(deal, administered)
          or (side = 'buyer' and exists (select from vault.selected_buyers s where s.participant_id = principal))));
    -- What was done about the exclusivity of this participant.
    when 'exclusive_buyers' then
      return exists (select from public.participants p where p.id = record and p.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or p.id = principal or app.is_administered(deal, administered)));
    when 'api_keys' then
      return exists (select from public.api_keys k where k.id = record and k.brokerage_id = any (administered));
    else return of_table is null;
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION app.subject_of(action text, details jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (action = ANY (ARRAY['document.upload'::text, 'document.change'::text, 'document.restore'::text])) THEN CASE (details ->> 'source'::text) WHEN 'production'::text THEN 'production_documents'::text ELSE 'documents'::text END WHEN (action = ANY (ARRAY['question.ask'::text, 'question.release'::text, 'question.distribute'::text])) THEN 'questions'::text WHEN (action = 'question.answer'::text) THEN 'question_answers'::text WHEN (action = ANY (ARRAY['nda.send'::text, 'nda.sign'::text, 'nda.revoke'::text])) THEN 'ndas'::text WHEN (action = ANY (ARRAY['offer.submit'::text, 'offer.accept'::text, 'offer.accept_change'::text, 'offer.decline_change'::text])) THEN 'offers'::text WHEN (action = ANY (ARRAY['condition.add'::text, 'condition.change'::text])) THEN 'closing_conditions'::text WHEN (action = ANY (ARRAY['finding.add'::text, 'finding.status'::text])) THEN 'findings'::text WHEN (action = ANY (ARRAY['participant.invite'::text, 'participant.remove'::text, 'invitation.accept'::text])) THEN 'participants'::text WHEN action = 'deal.move'::text THEN CASE WHEN (details ->> 'to'::text) = ANY (ARRAY['listed'::text, 'closed'::text, 'withdrawn'::text]) THEN 'deals'::text ELSE 'deal_stages'::text END WHEN action = ANY (ARRAY['exclusivity.grant'::text, 'exclusivity.extend'::text, 'exclusivity.lapse'::text, 'exclusivity.release'::text]) THEN 'exclusive_buyers'::text ELSE NULL::text END;

CREATE OR REPLACE FUNCTION app.activity_in_sight()
 RETURNS TABLE(id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  since timestamptz := app.now() - interval '30 days';
  remaining int := 10000;
  found_at timestamptz[] := '{}';
  part record;
  one record;
  looked int;
  shown int;
begin
  if me is null or app.narrowed_to() is not null then
    return;
  end if;
  for part in
    -- What the caller is to each of these deals, and what follows from it whatever the record.
    select o.*, k.at as last_at,
      o.side in ('broker', 'seller') as sells,
      o.side = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = o.principal_id) as signed,
      o.side = 'buyer' and exists (select from public.exclusivities x
        where x.deal_id = o.deal_id and x.participant_id = o.principal_id and x.ended_at is null and x.expires_at > app.now()) as holds,
      (select x.granted_at from public.exclusivities x
        where o.side = 'buyer' and x.deal_id = o.deal_id and x.participant_id = o.principal_id and x.ended_at is null
          and exists (select from vault.selected_buyers s where s.deal_id = x.deal_id and s.participant_id = x.participant_id)) as selected_at,
      (select d.needs_nda from public.deals d where d.id = o.deal_id) as needs_nda,
      o.side in ('broker', 'seller', 'viewer')
        or (select d.organization_id from public.deals d where d.id = o.deal_id) = any (administered) as sees_all
    from (
      select p.deal_id, p.principal_id, s.side from (
        select o.deal_id, o.id, o.role, o.advises, coalesce(o.advises, o.id) as principal_id from public.participants o
        where o.user_id = me and o.status = 'active' and o.role <> 'broker'
          and (barred = '{}' or (select d.organization_id from public.deals d where d.id = o.deal_id) <> all (barred))
        order by o.id desc offset 0) p
      cross join lateral (select case when p.advises is null then p.role
        else (select a.role from public.participants a where a.id = p.advises and a.status = 'active') end as side offset 0) s
      where s.side is not null
        and exists (select from vault.deals_of_people k where k.user_id = me and k.deal_id = p.deal_id) order by p.id desc limit 50) o
    -- Deal by deal: PostgreSQL would read the activity of the platform for fifty of them.
    cross join lateral (select d.at, d.record_id from vault.deal_activity d where d.deal_id = o.deal_id and d.at > since offset 0) k
    order by k.at desc, k.record_id desc
  loop
    exit when part.last_at < since;
    looked := 0;
    shown := 0;
    -- Read in the order of the index, and no further than the loop goes.
    for one in
      select l.id, l.at, l.user_id, l.client_id, l.action, l.subject_id, l.outcome, l.details,
        case when l.user_id is not distinct from me or l.subject is null or l.subject_id not like '________-____-____-____-____________' then false
          else case l.subject
            when 'questions' then (select true from public.questions q
              where q.id = l.subject_id::uuid and q.deal_id = part.deal_id and (part.side = 'broker' or q.participant_id = part.principal_id
                or (part.side = 'seller' and q.status in ('with_seller', 'answered', 'distributed'))))
            when 'question_answers' then part.sells and (select true from public.question_answers q
              where q.question_id = l.subject_id::uuid and q.deal_id = part.deal_id limit 1)
            when 'ndas' then (select true from public.ndas n
              where n.id = l.subject_id::uuid and n.deal_id = part.deal_id and (part.sells or n.participant_id = part.principal_id))
            when 'documents' then (select true from public.documents d
              where d.id = l.subject_id::uuid and d.deal_id = part.deal_id and d.removed_at is null
                and (part.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and part.signed)
                  or (d.confidentiality = 'selected_buyer_only' and part.holds)))
            when 'production_documents' then (select true from public.production_documents d
              where d.id = l.subject_id::uuid and d.deal_id = part.deal_id and d.removed_at is null
                and (part.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and part.signed)
                  or (d.confidentiality = 'selected_buyer_only' and part.holds)))
            when 'offers' then (select true from public.offers o
              where o.id = l.subject_id::uuid and o.deal_id = part.deal_id and (part.sells or o.participant_id = part.principal_id))
            when 'closing_conditions' then (part.sees_all or part.selected_at is not null) and (select true from public.closing_conditions c
              where c.id = l.subject_id::uuid and c.deal_id = part.deal_id)
            when 'findings' then (select true from public.findings f
              where f.id = l.subject_id::uuid and f.deal_id = part.deal_id and (part.sells or f.participant_id = part.principal_id))
            when 'participants' then (select true from public.participants p
              where p.id = l.subject_id::uuid and p.deal_id = part.deal_id and (part.sees_all or (
                not exists (select from vault.role_changes c where c.participant_id = p.id and c.at > l.at)
                and (coalesce(p.advises, p.id) = part.principal_id
                  or (part.side = 'buyer' and p.status = 'active'
                    and (p.role = 'broker' or (p.role = 'seller' and (part.signed or not part.needs_nda))))))))
            when 'deals' then l.subject_id = part.deal_id::text
            -- Not what was before they were selected: it may have been about somebody else.
            when 'deal_stages' then part.sees_all or l.at >= part.selected_at
            when 'exclusive_buyers' then part.sees_all or l.subject_id = part.principal_id::text
            else false end
        end as visible
      from (
        select r.id, r.at, r.user_id, r.client_id, r.action, r.subject_id, r.outcome, r.details, app.subject_of(r.action, r.details) as subject
        from public.audit_records r
        where r.deal_id = part.deal_id and r.noted and r.at >= since
        order by r.at desc, r.id desc limit 5000) l
      order by l.at desc, l.id desc
    loop
      looked := looked + 1;
      if one.visible then
        id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := part.deal_id;
        action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
        return next;
        shown := shown + 1;
        found_at := found_at || one.at;
      end if;
      exit when shown = 8 or looked >= greatest(remaining, 200);
    end loop;
    remaining := remaining - looked;
    if cardinality(found_at) >= 8 then
      found_at := array(select f from unnest(found_at) f order by f desc limit 8);
      since := found_at[8];
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.deal_activity_in_sight(deal uuid, after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  one public.audit_records;
  looked int := 0;
  shown int := 0;
  sees_all boolean;
begin
  if me is null or app.narrowed_to() is distinct from deal or deal = any (app.deals_acting_as('broker'))
    or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
  then
    return;
  end if;
  sees_all := deal = any (app.deals_as('broker', 'seller', 'viewer'));
  for one in
    select a.* from public.audit_records a
    where a.deal_id = deal and a.noted
      and (after_at is null or (a.at, a.id) < (after_at, after_id))
      and a.user_id is distinct from me and app.subject_of(a.action, a.details) is not null
      and a.subject_id ~ '^[0-9a-f-]{36}$'
    order by a.at desc, a.id desc limit 2000
  loop
    looked := looked + 1;
    if app.could_open(app.subject_of(one.action, one.details), one.subject_id::uuid, deal)
      and (sees_all or case app.subject_of(one.action, one.details)
        when 'participants' then not exists (select from vault.role_changes c where c.participant_id = one.subject_id::uuid and c.at > one.at)
        -- Not what was before they were selected: it may have been about somebody else.
        when 'deal_stages' then exists (select from public.exclusivities x
          where x.deal_id = deal and x.participant_id = any (app.principals()) and x.ended_at is null and x.granted_at <= one.at)
        else true end)
    then
      id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := one.deal_id;
      action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
      return next;
      shown := shown + 1;
      exit when shown >= least(most, 200);
    end if;
  end loop;
  -- Hidden as far as was looked: where to go on from.
  if looked = 2000 and shown < least(most, 200) then
    return query select one.id, one.at, null::uuid, null::uuid, null::uuid, null::text, null::text, null::text, null::jsonb;
  end if;
end
$function$;

CREATE FUNCTION app.queue_admission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() then
    perform app.queue_event('workspace_admitted', new.deal_id, 'deals', new.deal_id, app.user_id(), p.user_id)
      from public.participants p where p.id = new.participant_id;
  end if;
  return null;
end
$function$;
CREATE TRIGGER queue_admission AFTER INSERT ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.queue_admission();
