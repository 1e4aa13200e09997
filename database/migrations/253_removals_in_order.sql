-- compatible: the same is answered.
--
-- Who is removed from a brokerage leaves all its deals at once, and who is erased those of all brokerages. Each took accounts, members, brokerages, parts and deals in
-- an order of its own, and parts and deals as they were found: two at a time could wait for each other, until PostgreSQL ended one of them. Now all take them in this order, each
-- kind by its id. A brokerage is locked so that others may go on adding what belongs to it: they have locked a deal before.
--
-- Of two brokers of one deal who were removed at once, neither was said to leave it alone.

-- Locks the parts of a person, in one brokerage or in all, and a successor's on the deals that the person runs; then the person's deals.
create function app.lock_parts(person uuid, of_brokerage uuid default null, successor uuid default null) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  part record;
begin
  perform from public.participants p
    where p.user_id = person and (of_brokerage is null or p.brokerage_id = of_brokerage)
      or p.user_id = successor and p.brokerage_id = of_brokerage and exists (
        select from public.participants o where o.deal_id = p.deal_id and o.user_id = person and o.role = 'broker' and o.status = 'active')
    order by p.id for update;
  for part in
    select p.deal_id, p.role = 'broker' as runs from public.participants p
    where p.user_id = person and p.status = 'active' and (of_brokerage is null or p.brokerage_id = of_brokerage)
    order by p.deal_id
  loop
    -- Brokers leave a deal one after the other, or two who leave at once would each count on the other. Who only takes part leaves it while others write on it.
    if part.runs then
      perform from public.deals d where d.id = part.deal_id for no key update;
    else
      perform from public.deals d where d.id = part.deal_id for share;
    end if;
  end loop;
end
$$;

create or replace function app.end_parts_of_member() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
begin
  if old.role = 'admin' then
    perform from public.brokerages b where b.id = new.brokerage_id for no key update;
  end if;
  perform app.lock_parts(new.user_id, new.brokerage_id);
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null, '{}');
  end loop;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$$;

create or replace function app.keep_an_admin() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.brokerages b where b.id = old.brokerage_id for no key update;
  if not exists (
    select from public.members m
    where m.brokerage_id = old.brokerage_id and m.role = 'admin' and m.status = 'active')
  then
    perform app.refuse('last_admin', 'A brokerage keeps at least one admin: make somebody else admin first.');
  end if;
  return null;
end
$$;

create or replace function app.remove_member(from_brokerage uuid, member uuid, successor uuid, address inet, request_id text)
returns table (deals jsonb, handed_over boolean)
language plpgsql security definer set search_path = '' as $$
declare
  alone jsonb;
  deal uuid;
begin
  if from_brokerage is null or not from_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  -- Whoever makes the successor a broker needs their account, and an erasure has it first.
  perform from public.users u where u.id = successor for key share;
  perform from public.members m
    where m.brokerage_id = from_brokerage and (m.person_id = member or m.user_id = successor) order by m.user_id for update;
  if not exists (select from public.members m where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed') then
    return;
  end if;
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where b.id = from_brokerage and m.person_id = member and m.role = 'admin' and m.status = 'active' for no key update of b;
  perform app.lock_parts(member, from_brokerage, successor);
  -- As it is now that nobody else leaves them.
  select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'title', a.title)), '[]') into alone
    from app.deals_run_alone(from_brokerage, member) a;
  update public.members m set status = 'removed'
    where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed';
  perform app.audit('member.remove', member::text, 'done', from_brokerage, null, address, request_id,
    case when jsonb_array_length(alone) = 0 then '{}' else jsonb_build_object('deals', jsonb_array_length(alone)) end);
  if successor is not null then
    perform from public.members m join public.users u on u.id = m.user_id
      where m.brokerage_id = from_brokerage and m.user_id = successor and m.status = 'active' and m.role in ('admin', 'broker')
        and u.suspended_at is null for update of m;
    if not found then
      perform app.refuse('not_a_broker', 'The successor is an active admin or broker of the brokerage: choose one.');
    end if;
    for deal in select (a.deal ->> 'id')::uuid from jsonb_array_elements(alone) a (deal) loop
      perform app.audit('deal.hand_over', app.appoint_broker(deal, successor)::text, 'done', null, deal, address, request_id, '{}');
    end loop;
  end if;
  return query select alone, successor is not null;
end
$$;

create or replace function app.erase_person(person uuid, by_whom text, request_id text) returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  themself constant boolean := by_whom = 'oneself';
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  erased public.users;
  hold record;
  alone record;
  pseudonym text;
  placeholder constant text := 'erased-' || gen_random_uuid() || '@erased.invalid';
  digits int := 4;
  known_to uuid[];
  own_clients uuid[];
begin
  select u.* into erased from public.users u where u.id = person for update;
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
    exit when not exists (select from public.users u where u.name = pseudonym);
    digits := least(digits + 1, 12);
  end loop;

  -- What follows happens to them, and is not their doing.
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);

  select array_agg(distinct k.id) into known_to from (
    select m.brokerage_id as id from public.members m where m.user_id = person
    union select d.organization_id from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person) k;

  -- Out of everything, by the same way as if they had been removed.
  update public.members m set status = 'removed' where m.user_id = person and m.status <> 'removed';
  update public.participants p set status = 'removed' where p.user_id = person and p.status <> 'removed';
  update public.users u set email = placeholder, name = pseudonym, erased_at = now, suspended_at = coalesce(u.suspended_at, now)
    where u.id = person;
  perform app.end_sessions_of(person);
  update public.api_keys k set revoked_at = now where k.created_by = person and k.revoked_at is null;

  -- Who they were, where a deal or a brokerage has it in a place of its own.
  update public.members m set invited_name = 'Former participant', invited_email = placeholder
    where m.user_id = person and num_nonnulls(m.invited_name, m.invited_email) > 0;
  update public.participants p set invited_name = 'Former participant', invited_email = placeholder
    where p.user_id = person and num_nonnulls(p.invited_name, p.invited_email) > 0;
  -- What was typed about them in sandboxes, where somebody fictive has an address made of theirs.
  update public.participants p set invited_name = 'Former participant', invited_email = placeholder
    from public.brokerages s join public.users u on u.email = app.sandbox_address(s.id, md5(erased.email))
    where s.sandbox_of is not null and p.user_id = u.id;
  update public.users u set name = 'Former participant'
    from public.brokerages s where s.sandbox_of is not null and u.email = app.sandbox_address(s.id, md5(erased.email));
  update public.ndas n set signed_name = pseudonym, signed_address = null
    from public.participants p
    where p.user_id = person and n.participant_id = p.id and num_nonnulls(n.signed_name, n.signed_address) > 0;
  update public.contacts c
    set display_name = case when c.type = 'person' then pseudonym else c.display_name end,
      phone = case when c.type = 'company' then c.phone end, email = null,
      archived_at = case when c.type = 'person' then coalesce(c.archived_at, now) else c.archived_at end,
      external_id = case when c.type = 'company' then c.external_id end
    where lower(c.email) = erased.email;
  -- First answers that name them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice.
  update vault.idempotency_keys k set answer = null
    where k.answer is not null and (strpos(lower(k.answer), erased.email) > 0 or strpos(k.answer, to_json(erased.name)::text) > 0);

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
  delete from vault.notification_settings s where s.user_id = person;
  delete from vault.notification_choices s where s.user_id = person;
  delete from vault.deal_notification_choices s where s.user_id = person;
  delete from vault.own_activity a where a.user_id = person;
  delete from public.answer_readings a where a.user_id = person;

  -- The audit trail keeps what they did, not from where; and a name that a declined invitation was for.
  update public.audit_records a set address = null where a.user_id = person and a.address is not null;
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
$$;
