-- compatible: functions that do what they did but where that was wrong.
--
-- A part that somebody takes up again in another role is no buyer's: the NDA that waited for the buyer is not signed, and the buyer's offer has no deadline. A successor does not
-- come from a buyer's or the seller's own advisors. An admin who is suspended is none that a brokerage keeps. A key that another admin was shown since works on when whoever
-- created it erases their account. A mailed invitation proves the address of an account that is there already, as it does that of a new one.

CREATE OR REPLACE FUNCTION app.sign_nda(nda_id uuid, signed_name text, signed_address inet)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal uuid;
begin
  if length(trim(coalesce(sign_nda.signed_name, ''))) = 0 then
    perform app.refuse('name_missing', 'Type your full name to sign.');
  end if;
  update public.ndas n
    set status = 'active', signed_at = app.now(), signed_name = trim(sign_nda.signed_name),
      signed_address = sign_nda.signed_address
    from public.participants p
    where n.id = nda_id and p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active' and p.role = 'buyer'
      and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now())
    returning n.deal_id into deal;
  if not found then
    return false;
  end if;
  -- The change has locked the deal: whoever withdraws it meanwhile was waited for, or waits.
  if app.actual_state(deal) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: NDAs are no longer signed on it.');
  end if;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.appoint_broker(to_deal uuid, person uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  appointed uuid;
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
begin
  insert into public.participants as p (deal_id, user_id, role, status) values (to_deal, person, 'broker', 'active')
    on conflict (deal_id, user_id) do nothing returning p.id into appointed;
  if appointed is not null then
    return appointed;
  end if;
  select p.id into appointed from public.participants p left join public.participants a on a.id = p.advises
    where p.deal_id = to_deal and p.user_id = person and coalesce(a.role, p.role) in ('seller', 'buyer') and p.status <> 'removed';
  if found then
    perform app.refuse('successor_takes_part', 'The successor is a seller or buyer of one of these deals, or advises one: choose somebody else.');
  end if;
  -- One part a person and deal: the one that is there becomes the broker's, as if they were invited and accepted.
  update public.participants p
    set role = 'broker', advises = null, status = case when p.status = 'removed' then 'invited' else p.status end
    where p.deal_id = to_deal and p.user_id = person returning p.id into appointed;
  perform app.enter(person, null, null, null, null);
  update public.participants p set status = 'active' where p.id = appointed and p.status <> 'active';
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return appointed;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_an_admin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from public.brokerages b where b.id = old.brokerage_id for no key update;
  if not exists (
    select from public.members m join public.users u on u.id = m.user_id and u.suspended_at is null
    where m.brokerage_id = old.brokerage_id and m.role = 'admin' and m.status = 'active')
  then
    perform app.refuse('last_admin', 'A brokerage keeps at least one admin who is not suspended: make somebody else admin first.');
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.use_invitation(token bytea, person uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  used vault.invitations;
begin
  select i.* into used from vault.invitations i where i.digest = token and i.user_id = person;
  if used.brokerage_id is not null then
    perform from public.members m where m.brokerage_id = used.brokerage_id and m.user_id = person for no key update;
  else
    perform from public.participants p where p.id = used.participant_id for no key update;
  end if;
  update vault.invitations i set used_at = app.now()
    where i.digest = token and i.user_id = person and i.used_at is null and i.expires_at > app.now()
    returning i.* into used;
  if not found then
    return false;
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was taken back. Ask for a new one.');
  end if;
  if used.mailed then
    update vault.passwords p set address_proven_at = app.now() where p.user_id = person and p.address_proven_at is null;
  end if;
  if used.brokerage_id is not null then
    insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
      values (used.brokerage_id, person, 'invitation.accept', 'done', address, request_id);
  else
    -- As app.audit() writes it of whoever has entered.
    insert into public.audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, address, request_id)
      select d.organization_id, d.id, person, 'invitation.accept', p.id::text, 'done', address, request_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = used.participant_id;
  end if;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.deadlines_of(of_table text, record jsonb)
 RETURNS TABLE(kind text, remind_at timestamp with time zone, due_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  ends constant timestamptz := case of_table
    when 'ndas' then case when record ->> 'status' = 'active' then (record ->> 'expires_at')::timestamptz end
    when 'offers' then
      case when (record ->> 'is_current')::boolean and not exists (select from public.offer_decisions x where x.offer_id = (record ->> 'id')::uuid)
          and exists (select from public.participants p where p.id = (record ->> 'participant_id')::uuid and p.role = 'buyer' and p.status = 'active')
        then app.time_in(record #>> '{payload,expires_at}') end
    when 'exclusivities' then case when record ->> 'ended_at' is null then (record ->> 'expires_at')::timestamptz end
    when 'closing_conditions' then
      case when record ->> 'status' in ('open', 'in_progress') then app.end_of((record ->> 'deadline')::date) end
  end;
begin
  return query
    select r.kind, ends - r.before, ends
    from (values ('ndas', 'nda_ending', interval '7 days'), ('offers', 'offer_expiring', interval '2 days'),
      ('exclusivities', 'exclusivity_ending', interval '7 days'), ('exclusivities', 'exclusivity_ending', interval '1 day'),
      ('closing_conditions', 'condition_due', interval '3 days'), ('closing_conditions', 'condition_overdue', interval '0'))
      r (subject, kind, before)
    where r.subject = of_table and ends is not null;
end
$function$;

CREATE OR REPLACE FUNCTION app.deadlines()
 RETURNS TABLE(subject text, subject_id uuid, deal_id uuid, deal_title text, due_at timestamp with time zone, due_on date, own boolean, begun_at timestamp with time zone, changed_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  now constant timestamptz := app.now();
  until constant timestamptz := now + interval '2 years';
  deals uuid[];
  principals uuid[];
  sides text[];
  titles text[];
  -- Brokers and sellers know of every NDA on them.
  run uuid[];
  -- Of buyers only that with the exclusivity is told when it ends, and of conditions.
  informed uuid[];
  -- Which of these are exclusive yet.
  exclusive uuid[];
  -- Who the conditions are for.
  selected uuid[];
begin
  if me is null or app.client_id() is not null then
    return;
  end if;
  select array_agg(o.deal_id), array_agg(o.principal_id), array_agg(o.side), array_agg(o.title),
      array_agg(o.deal_id) filter (where o.side in ('broker', 'seller')),
      array_agg(case when o.expires_at > now or o.stage is distinct from 'exclusivity' then o.holder_id end),
      array_agg(o.deal_id) filter (where o.side <> 'buyer' or o.holder_id = o.principal_id),
      array_agg(o.deal_id) filter (where (o.side <> 'buyer' or o.holder_id = o.principal_id) and o.expires_at > now and o.expires_at <= until)
    into deals, principals, sides, titles, run, selected, informed, exclusive
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed) and o.state not in ('closed', 'withdrawn');
  return query
    -- `participant_id`: whose side it concerns, where the others on the buyers' side do not see it. `own_side`: it was looked for among what is of the caller's side.
    with due (subject, subject_id, deal_id, participant_id, due_at, due_on, owner_user_id, begun_at, changed_at, own_side) as (
      select 'offers', t.id, t.deal_id, t.participant_id, t.expires_at, null::date, null::uuid, t.submitted_at, t.submitted_at, false
        from (select c.id, c.deal_id, c.participant_id, c.submitted_at, app.time_in(c.payload ->> 'expires_at') as expires_at
          from public.offers c where c.deal_id = any (deals) and c.is_current and c.payload ->> 'expires_at' is not null
          offset 0) t
        where t.expires_at > now and t.expires_at <= until
          and t.id <> all (array(select x.offer_id from public.offer_decisions x where x.deal_id = any (deals)))
          -- Asked for the few that end.
          and (select p.role = 'buyer' and p.status = 'active' from public.participants p where p.id = t.participant_id)
      union all
      select 'exclusivities', x.id, x.deal_id, x.participant_id, x.expires_at, null, null, x.granted_at, coalesce(x.changed_at, x.granted_at), false
        from public.exclusivities x
        where x.deal_id = any (exclusive) and x.ended_at is null and x.expires_at > now and x.expires_at <= until
      union all
      select 'ndas', n.id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at, false
        from public.ndas n
        where n.deal_id = any (run) and n.status = 'active' and n.expires_at > now and n.expires_at <= until
      union all
      select 'ndas', n.nda_id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at, true
        from vault.ndas_of_people n
        where n.user_id = me and (narrowed is null or n.deal_id = narrowed) and n.expires_at > now and n.expires_at <= until
      union all
      select 'closing_conditions', c.id, c.deal_id, null, app.end_of(c.deadline), c.deadline, c.owner_user_id, c.created_at, c.updated_at, false
        from public.closing_conditions c
        where c.deal_id = any (informed) and c.status in ('open', 'in_progress')
          and c.deadline between (now - interval '60 days')::date and until::date),
    first as (
      select w.*, o.title, case w.subject when 'closing_conditions' then w.owner_user_id is not distinct from me else w.participant_id = o.principal_id end as own
      from due w join unnest(deals, principals, sides, titles, selected) o (deal_id, principal_id, side, title, selected) on o.deal_id = w.deal_id
      where case when o.side in ('broker', 'seller') then not w.own_side
          else o.principal_id = case w.subject when 'closing_conditions' then o.selected else w.participant_id end end
        or (o.side = 'viewer' and w.subject in ('exclusivities', 'closing_conditions'))
      order by w.due_at, w.subject_id limit 1000)
    select f.subject, f.subject_id, f.deal_id, f.title, f.due_at, f.due_on, f.own, f.begun_at, f.changed_at
    from first f order by f.due_at, f.subject_id;
end
$function$;

CREATE OR REPLACE FUNCTION app.erase_person(person uuid, by_whom text, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  themself constant boolean := by_whom = 'oneself';
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  erased public.users;
  hold record;
  alone record;
  ended record;
  pseudonym text;
  placeholder constant text := 'erased-' || gen_random_uuid() || '@erased.invalid';
  digits int := 4;
  known_to uuid[];
  own_clients uuid[];
  fictive uuid[];
  contacts uuid[];
begin
  -- Not yet as for another address: who has a deal and names the account of whoever wrote there would wait for this, and this for the deal.
  select u.* into erased from public.users u where u.id = person for no key update;
  if not found then
    return null;
  end if;
  if erased.erased_at is not null then
    return erased.name;
  end if;

  select h.* into hold from app.hold_on_person(person) h;
  if found then
    perform app.refuse('legal_hold', case when themself
      then 'Your data must be kept for now because of a legal hold: whoever runs this service can tell you more.'
      else format('A legal hold on the %s "%s" stops this: when it has ended, dealkeep hold off %s %s.',
        hold.kind, hold.title, hold.kind, hold.subject_id) end);
  end if;

  perform from public.members m where m.user_id = person order by m.brokerage_id for update;
  -- One after the other, or two who leave at once would each count on the other.
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where m.user_id = person and m.role = 'admin' and m.status = 'active' order by b.id for no key update of b;
  select b.name, count(*) over () - 1 as more into alone from public.members m join public.brokerages b on b.id = m.brokerage_id
    where m.user_id = person and m.role = 'admin' and m.status = 'active'
      and not exists (select from public.members o join public.users u on u.id = o.user_id and u.suspended_at is null
        where o.brokerage_id = m.brokerage_id and o.user_id <> person and o.role = 'admin' and o.status = 'active')
    order by b.id limit 1;
  if found then
    perform app.refuse('last_admin', format('%s the last admin of %s%s: make somebody else admin first.',
      case when themself then 'You are' else 'They are' end, alone.name,
      case when alone.more > 0 then format(' and of %s more', alone.more) else '' end));
  end if;
  perform app.lock_parts(person);
  -- Whoever notes deliveries has webhooks, one after the other, before they name an account: their admin's, or that of one who is mailed.
  perform from public.api_keys k
    where k.created_by = person or k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = person)
    order by k.id for no key update;
  perform from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.created_by = person or k.brokerage_id in (
      select m.brokerage_id from public.members m where m.user_id = person and m.role = 'admin' and m.status = 'active')
    order by e.id for no key update of e;
  -- Whatever else names the account is there by now, or waits.
  perform from public.users u where u.id = person for update;
  select d.title, count(*) over () - 1 as more into alone from public.participants p join public.deals d on d.id = p.deal_id
    where p.user_id = person and p.role = 'broker' and p.status = 'active' and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants o join public.users u on u.id = o.user_id and u.suspended_at is null
        where o.deal_id = d.id and o.user_id <> person and o.role = 'broker' and o.status = 'active')
    order by d.id limit 1;
  if found then
    perform app.refuse('only_broker', format('%s the only broker of the open deal "%s"%s: hand it over or close it first.',
      case when themself then 'You are' else 'They are' end, alone.title,
      case when alone.more > 0 then format(' and of %s more', alone.more) else '' end));
  end if;

  -- From nothing that is known about them, so that nobody finds out who it was; not the same as another's, so that records stay apart.
  loop
    pseudonym := 'Former participant ' || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, digits));
    exit when not exists (select from public.users u where u.name = pseudonym and u.name like 'Former participant %');
    digits := least(digits + 1, 12);
  end loop;

  -- What follows happens to them, and is not their doing.
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);

  contacts := array(select k.id from app.contacts_with_address(erased.email) k);
  select array_agg(distinct k.id) into known_to from (
    select m.brokerage_id as id from public.members m where m.user_id = person
    union select d.organization_id from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person
    union select c.brokerage_id from public.contacts c where c.id = any (contacts)) k;

  -- Out of everything, by the same way as if they had been removed.
  update public.members m set status = 'removed' where m.user_id = person and m.status <> 'removed';
  update public.participants p set status = 'removed' where p.user_id = person and p.status <> 'removed';
  update public.users u set email = placeholder, name = pseudonym, erased_at = now, suspended_at = coalesce(u.suspended_at, now)
    where u.id = person;
  perform app.end_sessions_of(person);
  -- What they were shown; a key that another admin has been shown since is that one's.
  update vault.api_key_digests d set valid_until = now where d.issued_by = person and (d.valid_until is null or d.valid_until > now);
  for ended in
    update public.api_keys k set revoked_at = now
      where k.created_by = person and k.revoked_at is null
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and (d.valid_until is null or d.valid_until > now))
      returning k.id, k.brokerage_id
  loop
    perform app.audit('api_key.revoke', ended.id::text, 'done', ended.brokerage_id, null, null, erase_person.request_id, '{}');
  end loop;

  -- Who they were, where a deal or a brokerage has it in a place of its own.
  update public.members m set invited_name = 'Former participant', invited_email = placeholder
    where m.user_id = person and num_nonnulls(m.invited_name, m.invited_email) > 0;
  update public.participants p set invited_name = 'Former participant', invited_email = placeholder
    where p.user_id = person and num_nonnulls(p.invited_name, p.invited_email) > 0;
  -- What was typed about them in sandboxes, where somebody fictive has an address made of theirs.
  select array_agg(u.id) into fictive from public.users u
    where u.sandbox_id is not null and split_part(u.email, '@', 1) = md5(erased.email);
  update public.participants p set invited_name = 'Former participant', invited_email = placeholder where p.user_id = any (fictive);
  update public.users u set name = 'Former participant' where u.id = any (fictive);
  update public.ndas n set signed_name = pseudonym, signed_address = null
    from public.participants p
    where p.user_id = person and n.participant_id = p.id and num_nonnulls(n.signed_name, n.signed_address) > 0;
  update public.contacts c
    set display_name = case when c.type = 'person' then pseudonym else c.display_name end,
      phone = case when c.type = 'company' then c.phone end, email = null,
      archived_at = case when c.type = 'person' then coalesce(c.archived_at, now) else c.archived_at end,
      external_id = case when c.type = 'company' then c.external_id end
    where c.id = any (contacts);
  -- First answers that name them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice. Their name counts beside their id alone:
  -- anybody may choose one that stands in every answer.
  update vault.idempotency_keys k set answer = null
    where k.answer is not null and (strpos(lower(k.answer), to_json(erased.email)::text) > 0
      or strpos(k.answer, person::text) > 0 and strpos(k.answer, to_json(erased.name)::text) > 0);

  -- What they sign in with, and what lets others in as them.
  delete from vault.passwords p where p.user_id = person;
  delete from vault.totp t where t.user_id = person;
  delete from vault.recovery_codes r where r.user_id = person;
  delete from vault.passkeys k where k.user_id = person;
  delete from vault.password_resets r where r.user_id = person;
  delete from vault.address_changes a where a.user_id = person;
  delete from vault.challenges c where c.user_id = person;
  delete from vault.sessions s where s.user_id = person;
  delete from vault.invitations i where i.user_id = person;
  select coalesce(array_agg(c.id), '{}') into own_clients from public.connected_clients c
    where c.created_by = person and c.brokerage_id is null;
  delete from vault.authorization_codes c where c.user_id = person or c.client_id = any (own_clients);
  delete from vault.token_families f where f.user_id = person or f.client_id = any (own_clients);
  delete from public.tool_grants g where g.user_id = person or g.client_id = any (own_clients);
  delete from public.connected_clients c where c.id = any (own_clients);
  delete from public.deal_opt_ins o where o.user_id = person;

  -- What they are written to by, and what is theirs alone.
  delete from vault.outbox o where o.recipient_id = person or o.recipient = erased.email;
  update vault.outbox o set facts = (
      select jsonb_object_agg(f.key, case when f.value in (to_jsonb(erased.name), to_jsonb(erased.email)) then to_jsonb(pseudonym) else f.value end)
      from jsonb_each(o.facts) f)
    where o.caused_by = person and o.facts <> '{}' and jsonb_typeof(o.facts) = 'object';
  delete from vault.mail_counts m
    where right(m.subject, length(erased.email) + 4) = ' to ' || erased.email;
  delete from vault.notifications n where n.user_id = person;
  delete from vault.events e where e.person_id = person;
  perform app.clear_traces(array[person], '-infinity');

  -- A name that a declined invitation was for.
  update public.audit_records a set details = a.details || '{"name": "Former participant"}'
    from public.participants p
    where p.user_id = person and a.deal_id = p.deal_id and a.action = 'invitation.decline' and a.subject_id = p.id::text
      and a.details ? 'name';

  insert into public.audit_records (brokerage_id, user_id, request_id, action, subject_id, outcome, details)
    select k.id, case when themself then person end, erase_person.request_id, 'person.erase', person::text, 'done',
      jsonb_build_object('by', by_whom)
    from unnest(coalesce(known_to, array[null::uuid])) k (id);
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return pseudonym;
end
$function$;
