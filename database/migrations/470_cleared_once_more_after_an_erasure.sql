-- compatible: functions do the same, and clear more.
--
-- A request of somebody's own that was under way while they were erased wrote its audit record with their IP address, or settings of theirs, when the erasure was through: that stayed. The job for
-- sign-ins clears once more what an erasure clears, of whoever was erased within the hour.

create index users_by_erasure on public.users (erased_at) where erased_at is not null;

-- What these people chose and have read, and from where they acted since: the audit trail keeps what they did.
create function app.clear_traces(people uuid[], since timestamptz)
returns void
language plpgsql
set search_path = ''
as $$
begin
  delete from vault.notification_settings s where s.user_id = any (people);
  delete from vault.notification_choices s where s.user_id = any (people);
  delete from vault.deal_notification_choices s where s.user_id = any (people);
  delete from vault.own_activity a where a.user_id = any (people);
  delete from public.answer_readings a where a.user_id = any (people);
  update public.audit_records a set address = null where a.user_id = any (people) and a.at >= since and a.address is not null;
end
$$;

create or replace function app.erase_person(person uuid, by_whom text, request_id text)
returns text
language plpgsql
security definer
set search_path = ''
as $$
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
  perform from public.api_keys k where k.created_by = person order by k.id for no key update;
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
  update public.api_keys k set revoked_at = now where k.created_by = person and k.revoked_at is null;

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
$$;

create or replace function app.purge_sign_in()
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  purged int := 0;
  part int;
  place uuid;
  reach uuid;
begin
  select p.place into place from vault.job_places p where p.job = 'purge_sign_in' for update skip locked;
  if found then
    place := coalesce(place, '00000000-0000-0000-0000-000000000000');
    reach := (select s.id from vault.sessions s where s.id > place order by s.id offset 4999 limit 1);
    delete from vault.sessions s
      where s.id > place and s.id <= coalesce(reach, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        and (s.ended_at < app.now() - interval '1 day' or s.created_at < app.now() - interval '31 days' or s.last_seen_at < app.now() - interval '2 days');
    get diagnostics part = row_count;
    purged := purged + part;
    update vault.job_places p set place = reach where p.job = 'purge_sign_in';
    -- A request of theirs that was under way while they were erased may have written after it.
    perform app.clear_traces(array(
      select u.id from public.users u where u.erased_at > app.now() - interval '1 hour' order by u.erased_at desc limit 10000),
      app.now() - interval '2 hours');
  end if;
  delete from vault.sign_in_steps s where s.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.known_devices k where k.used_at <= app.now() - interval '180 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.challenges c where c.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.password_resets r where r.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.address_changes a where a.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.set_up_links l where l.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.mail_counts m where m.since < app.now() - interval '2 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.invitations i where i.expires_at < app.now() - interval '30 days';
  get diagnostics part = row_count;
  return purged + part;
end
$$;
