-- compatible: the same is recorded, noted and told, and the same tokens enter, with less work.
--
-- What a call of a tool costs PostgreSQL. The condition of a trigger is read from its text and prepared anew for each statement, and those of the two on
-- audit records took a third of what the record of a call took, which neither of them is about: one trigger takes their place, with a short one.

-- What follows from something that was done: when it was last done on the deal is known, and whom it concerns is told.
create function app.note_done() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  about uuid;
  person uuid;
begin
  if new.deal_id is not null and new.action not like 'tool:%' then
    insert into vault.deal_activity as known (deal_id, at, record_id) values (new.deal_id, new.at, new.id)
      on conflict (deal_id) do update set at = excluded.at, record_id = excluded.record_id
        where (known.at, known.record_id) < (excluded.at, excluded.record_id);
    if new.user_id is not null then
      insert into vault.own_activity as known (user_id, deal_id, at, record_id) values (new.user_id, new.deal_id, new.at, new.id)
        on conflict (user_id, deal_id) do update set at = excluded.at, record_id = excluded.record_id
          where (known.at, known.record_id) < (excluded.at, excluded.record_id);
    end if;
  end if;
  -- Who accepts an invitation by its link has not entered; the owner, who loads data, logs in as themself.
  if session_user = current_user or new.action not in (
    'question.ask', 'question.release', 'question.answer', 'question.distribute', 'nda.send', 'nda.sign', 'document.upload',
    'offer.submit', 'offer.accept', 'offer.accept_change', 'participant.invite', 'invitation.accept', 'participant.remove', 'tokens.issue',
    'api_key.create', 'api_key.rotate')
  then
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
drop trigger note_activity on public.audit_records;
drop trigger queue_event on public.audit_records;
create trigger note_done after insert on public.audit_records for each row when (new.outcome = 'done') execute function app.note_done();
drop function app.note_activity();
drop function app.queue_audited();

-- As before, one table after the other, each by its index: the planner took a join of all of somebody's deals or of all tokens, as long as these were few.
create or replace function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null,
  tool text default null, subject text default null, on_deal uuid default null, address inet default null, request_id text default null)
returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off as $$
declare
  now constant timestamptz := app.now();
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  asking uuid[];
  administered uuid[];
  secret bytea;
  tenant uuid;
  participant uuid;
  part_role text;
  advised uuid;
  advised_role text;
  identity text;
begin
  -- The client works for the person as vault.working_clients has it, with the memberships that are read anyway.
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, m.asking, m.administered, s.secret,
    d.organization_id, p.id, p.role, p.advises
  into user_id, client_id, client_name, family_id, scopes, expires_at, asking, administered, secret,
    tenant, participant, part_role, advised
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > now and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > now and y.resource = enter_with_access_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  cross join vault.seal s
  cross join lateral (
    select coalesce(array_agg(m.brokerage_id), '{}') as joined,
      coalesce(array_agg(m.brokerage_id) filter (where
        (select b.requires_second_factor from public.brokerages b where b.id = m.brokerage_id)), '{}') as asking,
      coalesce(array_agg(m.brokerage_id) filter (where m.role = 'admin'), '{}') as administered
    from public.members m where m.user_id = f.user_id and m.status = 'active') m
  left join lateral (select k.organization_id from public.deals k where k.id = deal offset 0) d on true
  left join lateral (select k.id, k.role, k.advises from public.participants k
    where k.user_id = f.user_id and k.deal_id = deal and k.status = 'active' offset 0) p on true
  where c.brokerage_id is null and c.created_by = f.user_id or c.brokerage_id = any (m.joined);
  if not found then
    return;
  end if;
  if advised is not null then
    -- An advisor has a part while those whom they advise have.
    select p.role into advised_role from public.participants p where p.id = advised and p.status = 'active';
    if advised_role is null then
      participant := null;
    end if;
  end if;
  if asking <> '{}' then
    -- A client shows no second factor: it is enough that the person has one.
    if app.has_second_factor(user_id) then
      asking := '{}';
    else
      administered := array(select b from unnest(administered) b where not b = any (asking));
    end if;
  end if;
  identity := concat(user_id, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
    case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, part_role,
      coalesce(advised, participant), coalesce(advised_role, part_role)) end);
  identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
  if tool is not null then
    if asking <> '{}' then
      perform app.check_second_factor();
    end if;
    insert into public.audit_records (at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome)
    values (now, case when on_deal = deal then tenant end, on_deal, user_id, client_id, enter_with_access_token.address,
      enter_with_access_token.request_id, 'tool:' || tool, subject, 'ok');
    identity := set_config('synchronous_commit', 'off', true);
  end if;
  return next;
end
$$;
