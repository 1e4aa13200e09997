-- compatible: the same is answered.
--
-- Whoever granted an exclusivity had locked the deal for share and then asked for more, as two who granted one at once did; whoever ended one had its row and asked for the deal, while whoever
-- withdrew the deal had the deal and asked for the row; and an offer or an NDA took the deal and then the buyer's part, as nobody else does. Each could wait for the other, until PostgreSQL
-- ended one of them. Now all take accounts, members, brokerages, parts and deals in this order, as removals do (253_removals_in_order.sql), and whatever else is of a deal after it: exclusivities,
-- offers, NDAs and the links of invitations.
--
-- Whoever removed somebody or revoked an NDA left their record, which has the time of the last activity on the deal, before they asked for the deal.
--
-- A part is locked as by a change of it, and no more: rows that refer to it are written under the lock of the deal. An erasure does the same with the account until it has the deals.

-- Locks a deal of which the caller is a broker, before its exclusivity is granted, extended or released; the deal, or null.
create function app.lock_deal(deal uuid) returns uuid
language plpgsql volatile security definer set search_path = '' as $$
begin
  if deal = any (app.deals_acting_as('broker')) then
    perform from public.deals d where d.id = deal for no key update;
    return deal;
  end if;
  return null;
end
$$;
grant execute on function app.lock_deal(uuid) to dealkeep_server;

create function app.lock_deal_first() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform app.lock_deal(new.deal_id);
  return new;
end
$$;

create function app.lock_part_first() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_table_name = 'offers' then
    perform from public.participants p
      where p.deal_id = new.deal_id and p.user_id = app.user_id() and p.role = 'buyer' and p.status = 'active' for no key update;
  elsif new.deal_id = any (app.deals_acting_as('broker')) then
    perform from public.participants p where p.id = new.participant_id and p.deal_id = new.deal_id for no key update;
  end if;
  return new;
end
$$;

create function app.lock_deal_of_change() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_table_name = 'participants' and new.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for no key update;
  elsif old.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for share;
  end if;
  return new;
end
$$;

-- Before a_keep_closed, which locks the deal.
create trigger a_in_order before insert on exclusivities for each row execute function app.lock_deal_first();
create trigger a_in_order before insert on offers for each row execute function app.lock_part_first();
create trigger a_in_order before insert on ndas for each row execute function app.lock_part_first();
-- As what follows from these changes does, but before whoever makes them leaves a record.
create trigger a_in_order before update of role, status, advises on participants for each row execute function app.lock_deal_of_change();
create trigger a_in_order_update before update of status on ndas for each row execute function app.lock_deal_of_change();

create or replace function app.take_offer() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  deal_state text;
begin
  if app.user_id() is null and new.buyer_user_id is not null then
    return new;  -- the owner, loading data
  end if;
  new.buyer_user_id := app.user_id();
  select p.id into new.participant_id from public.participants p
    where p.deal_id = new.deal_id and p.user_id = app.user_id() and p.role = 'buyer' and p.status = 'active';
  if not found then
    return new;  -- the policy refuses it
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('draft', 'closed', 'withdrawn') then
    perform app.refuse('deal_takes_no_offers', format('The deal is %s and takes no offers.', deal_state));
  end if;
  perform app.check_payload(new.payload);
  if (select count(*) from public.offers o where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id
    and o.submitted_at > app.now() - interval '1 day') >= 20
  then
    perform app.refuse('too_many_today', 'At most 20 revisions a day on a deal: revise the offer again tomorrow.');
  end if;
  select coalesce(max(o.revision_number), 0) + 1 into new.revision_number from public.offers o
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id;
  new.is_current := true;
  update public.offers o set is_current = false
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id and o.is_current;
  return new;
end
$$;

create or replace function app.take_nda() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  if not exists (select from public.participants p
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.role = 'buyer' and p.status <> 'removed')
  then
    perform app.refuse('not_a_buyer', 'An NDA is sent to a buyer who takes part in the deal or is invited to it.');
  end if;
  if new.expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The NDA must end in the future, or not at all.');
  end if;
  if exists (select from public.ndas n
    where n.participant_id = new.participant_id and n.status in ('sent', 'active')
      and (n.expires_at is null or n.expires_at > app.now()))
  then
    perform app.refuse('nda_there_already', 'This buyer has an NDA that waits or is active: revoke it first.');
  end if;
  return new;
end
$$;

create or replace function app.sweep() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  free uuid[];
  due uuid[];
  lapsed int;
  expired int;
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
  delete from vault.lapsing_exclusivities l where l.exclusivity_id = any (due);
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select e.deal_id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now()
        order by e.expires_at limit 1000))
    for share skip locked);
  update public.ndas n set status = 'expired'
    where n.id = any (array(
        select e.id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now() and e.deal_id = any (free)
        order by e.expires_at limit 1000 for no key update skip locked))
      and n.status in ('sent', 'active') and n.expires_at <= app.now();
  get diagnostics expired = row_count;
  return lapsed + expired;
end
$$;

create or replace function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid) returns table (participant_id uuid)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  sandbox uuid;
  address text := lower(invite_to_deal.email);
  invited uuid;
  part text;
begin
  select b.id into sandbox from public.deals d join public.brokerages b on b.id = d.organization_id and b.sandbox_of is not null where d.id = invite_to_deal.deal_id;
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  if sandbox is not null then
    address := coalesce((select u.email from public.users u where u.email = address and u.sandbox_id = sandbox), app.sandbox_address(sandbox, md5(address)));
  elsif address like '%.sandbox.invalid' then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  invited := app.account_at(address, invite_to_deal.name, sandbox);
  -- Before the deal, as whoever answers an invitation takes it.
  select p.status into part from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited for no key update;
  if part = 'active' then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      lower(invite_to_deal.email))
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
      where p.status <> 'active'
    returning p.id;
  if not found then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
end
$$;

create or replace function app.use_invitation(token bytea, person uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
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
  insert into public.audit_records (brokerage_id, deal_id, user_id, action, outcome, address, request_id)
    values (used.brokerage_id, (select p.deal_id from public.participants p where p.id = used.participant_id), person,
      'invitation.accept', 'done', address, request_id);
  return true;
end
$$;

create or replace function app.accept_first_invitation(invitation_token bytea, chosen_name text, new_phc text, token bytea, earlier bytea,
  address inet, agent text, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  by_mail boolean;
begin
  select i.user_id, i.mailed into person, by_mail from vault.invitations i join public.users u on u.id = i.user_id
    where i.digest = invitation_token and u.suspended_at is null for no key update of u;
  -- Whoever already has a password signs in with it instead: a link alone opens no account.
  insert into vault.passwords (user_id, phc, address_proven_at)
    select person, new_phc, case when by_mail then app.now() end where person is not null
    on conflict (user_id) do nothing;
  if not found then
    return false;
  end if;
  if not app.use_invitation(invitation_token, person, address, request_id) then
    perform app.refuse('invitation_expired', 'This invitation is used up or too old. Ask for a new one.');
  end if;
  update public.users u set name = chosen_name where u.id = person;
  perform app.open_session(person, token, earlier, 'invitation', address, agent,
    request_id);
  return true;
end
$$;

create or replace function app.lock_parts(person uuid, of_brokerage uuid default null, successor uuid default null) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  part record;
begin
  perform from public.participants p
    where p.user_id = person and (of_brokerage is null or p.brokerage_id = of_brokerage)
      or p.user_id = successor and p.brokerage_id = of_brokerage and exists (
        select from public.participants o where o.deal_id = p.deal_id and o.user_id = person and o.role = 'broker' and o.status = 'active')
    order by p.id for no key update;
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

create or replace function app.account_at(address text, known_as text, of_sandbox uuid default null) returns uuid
language plpgsql volatile security definer set search_path = '' as $$
declare
  found_one public.users;
begin
  loop
    insert into public.users (email, name, sandbox_id, suspended_at)
      values (address, known_as, of_sandbox, case when of_sandbox is not null then app.now() end) on conflict (email) do nothing;
    select u.* into found_one from public.users u where u.email = address for share;
    exit when found;
  end loop;
  if found_one.erased_at is not null then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  return found_one.id;
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
  perform from public.users u where u.id = successor for share;
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
    where c.id = any (array(select k.id from app.contacts_with_address(erased.email) k));
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
