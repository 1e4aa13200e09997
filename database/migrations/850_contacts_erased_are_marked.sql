-- compatible: a column more, and functions that return it or the entity tag besides what they returned.
--
-- Another system that keeps contacts in step could not tell an erased contact from an archived one, and restored it. A contact in bulk had no entity tag, so that many could not be changed on condition.

alter table public.contacts add erased_at timestamp(3) with time zone;

CREATE OR REPLACE FUNCTION app.erase_contacts(chosen uuid[], of_address text, by_whom text, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  brokerages uuid[];
  targets uuid[];
  named text[];
  held record;
  erased record;
  counted int := 0;
begin
  select coalesce(array_agg(distinct c.brokerage_id order by c.brokerage_id), '{}') into brokerages from public.contacts c where c.id = any (chosen);
  lock table vault.legal_holds in row share mode;
  select b.id, b.name into held from vault.legal_holds h join public.brokerages b on b.id = h.subject_id
    where h.kind = 'brokerage' and h.subject_id = any (brokerages) order by b.id limit 1;
  if found then
    perform app.refuse('legal_hold', case by_whom when 'operator'
      then format('A legal hold on the brokerage "%s" stops this: when it has ended, dealkeep hold off brokerage %s.', held.name, held.id)
      else 'The contacts of this brokerage must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  -- As a merge does, which locks two contacts.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || b.id, 0)) from unnest(brokerages) with ordinality b (id, place) order by b.place;
  targets := array(
    with roots as (select distinct coalesce(c.merged_into, c.id) as id from public.contacts c where c.id = any (chosen))
    select r.id from roots r union select c.id from public.contacts c join roots r on c.merged_into = r.id);
  perform from public.contacts c where c.id = any (targets) order by c.id for update;
  targets := array(select c.id from public.contacts c
    where c.id = any (targets) and (of_address is null or c.type = 'person' or (c.email is not null and lower(c.email) = of_address)));
  select u.id, u.name into held from vault.legal_holds h join public.users u on u.id = h.subject_id
    where h.kind = 'person' and u.email = any (array(select lower(c.email) from public.contacts c where c.id = any (targets) and c.email is not null))
    order by u.id limit 1;
  if found then
    perform app.refuse('legal_hold', case by_whom when 'operator'
      then format('A legal hold on the person "%s" stops this: when it has ended, dealkeep hold off person %s.', held.name, held.id)
      else 'This contact must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  -- First answers that have them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice.
  named := array(select t.id::text from unnest(targets) t (id)
    union select to_json(lower(c.email))::text from public.contacts c where c.id = any (targets) and c.email is not null);
  update vault.idempotency_keys k set answer = null
    where k.answer is not null and app.named_in(k.answer) && named
      and exists (select from public.api_keys a where a.id = k.key_id and (a.brokerage_id = any (brokerages)
        or exists (select from public.brokerages s where s.id = any (brokerages) and s.sandbox_of = a.brokerage_id)));
  for erased in
    update public.contacts c
      set display_name = case when c.type = 'person' then 'Former participant' when of_address is null then 'Former company' else c.display_name end,
        email = null,
        phone = case when c.type = 'company' and of_address is not null then c.phone end,
        external_id = case when c.type = 'company' and of_address is not null then c.external_id end,
        archived_at = case when c.type = 'company' and of_address is not null then c.archived_at else coalesce(c.archived_at, now) end,
        erased_at = case when c.type = 'company' and of_address is not null then c.erased_at else coalesce(c.erased_at, now) end
      where c.id = any (targets)
      returning c.id, c.brokerage_id
  loop
    counted := counted + 1;
    perform app.audit('contact.erase', erased.id::text, 'done', erased.brokerage_id, null, address, request_id, jsonb_build_object('by', by_whom));
  end loop;
  perform app.clear_answers_about(targets);
  if of_address is not null then
    perform app.erase_in_sandboxes(of_address);
  end if;
  return counted;
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
  known_as uuid[];
  own_clients uuid[];
  contacts uuid[];
  reach timestamptz;
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
      then 'Your data must be kept for now because of a legal hold: the operator of this service can tell you more.'
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
      and not exists (select from vault.deletions_begun b where b.brokerage_id = d.organization_id)
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
  -- Who is being merged with one of them has been by then, or waits; in the order of merges.
  perform from public.contacts c where c.id = any (app.with_duplicates(contacts)) order by c.id for no key update;
  contacts := app.with_duplicates(contacts);

  -- By the name under which each brokerage knows them: the id of the account would lead from a contact, or from an invitation, to what they did elsewhere.
  with known as (
    select m.brokerage_id, m.person_id as subject, m.joined_at is null as only_invited from public.members m where m.user_id = person
    union all
    select d.organization_id, p.person_id, p.joined_at is null from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person)
  select array_agg(k.brokerage_id), array_agg(k.subject) into known_to, known_as from (
    (select distinct on (n.brokerage_id) n.brokerage_id, n.subject from known n order by n.brokerage_id, n.only_invited, n.subject)
    union all
    select c.brokerage_id, c.id from public.contacts c
      where c.id = any (contacts) and c.brokerage_id not in (select n.brokerage_id from known n)) k;

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

  -- Who they were, where a deal or a brokerage has it in a place of its own. Nothing there is the same as elsewhere: somebody who knew them by it would know them again.
  -- Without a name of the day on which they left they are called by their pseudonym.
  update public.members m set left_name = null, left_email = null, invited_name = case when n.is_invited then 'Former participant' end,
      invited_email = case when n.is_invited then 'erased-' || gen_random_uuid() || '@erased.invalid' end
    from (select k.brokerage_id, num_nonnulls(k.invited_name, k.invited_email) > 0 as is_invited from public.members k
      where k.user_id = person and num_nonnulls(k.invited_name, k.invited_email, k.left_name, k.left_email) > 0) n
    where m.user_id = person and m.brokerage_id = n.brokerage_id;
  update public.participants p set left_name = null, left_email = null, invited_name = case when n.is_invited then 'Former participant' end,
      invited_email = case when n.is_invited then 'erased-' || gen_random_uuid() || '@erased.invalid' end
    from (select k.id, num_nonnulls(k.invited_name, k.invited_email) > 0 as is_invited from public.participants k
      where k.user_id = person and num_nonnulls(k.invited_name, k.invited_email, k.left_name, k.left_email) > 0) n
    where p.id = n.id;
  perform app.erase_in_sandboxes(erased.email);
  update public.ndas n set signed_name = pseudonym, signed_address = null
    from public.participants p
    where p.user_id = person and n.participant_id = p.id and num_nonnulls(n.signed_name, n.signed_address) > 0;
  update public.contacts c
    set display_name = case when c.type = 'person' then 'Former participant' else c.display_name end,
      phone = case when c.type = 'company' then c.phone end, email = null,
      archived_at = case when c.type = 'person' then coalesce(c.archived_at, now) else c.archived_at end,
      erased_at = case when c.type = 'person' then coalesce(c.erased_at, now) else c.erased_at end,
      external_id = case when c.type = 'company' then c.external_id end
    where c.id = any (contacts);
  -- First answers that name them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice. Their name counts beside their id alone:
  -- anybody may choose one that stands in every answer.
  update vault.idempotency_keys k set answer = null
    where k.answer is not null
      and (app.named_in(k.answer) @> app.named_in(to_json(erased.email)::text) and strpos(lower(k.answer), to_json(erased.email)::text) > 0
        or app.named_in(k.answer) @> array[person::text] and strpos(k.answer, to_json(erased.name)::text) > 0);

  -- What they sign in with, and what lets others in as them.
  delete from vault.passwords p where p.user_id = person;
  delete from vault.totp t where t.user_id = person;
  delete from vault.recovery_codes r where r.user_id = person;
  delete from vault.passkeys k where k.user_id = person;
  delete from vault.password_resets r where r.user_id = person;
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
  -- Whoever has caused a mail is named in it as they were called then.
  update vault.outbox o set facts = (
      select jsonb_object_agg(f.key, case when f.key = 'by' or f.value in (to_jsonb(erased.name), to_jsonb(erased.email)) then to_jsonb(pseudonym) else f.value end)
      from jsonb_each(o.facts) f)
    where o.caused_by = person and o.facts <> '{}' and jsonb_typeof(o.facts) = 'object';
  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[erased.email] and right(m.subject, length(erased.email) + 4) = ' to ' || erased.email;
  delete from vault.notifications n where n.user_id = person;
  delete from vault.events e where e.person_id = person;
  -- Of very many records the older ones are cleared by app.clear_addresses.
  select a.at into reach from public.audit_records a where a.user_id = person order by a.at desc offset 9999 limit 1;
  perform app.clear_traces(array[person], coalesce(reach, '-infinity'));
  if app.clear_addresses_of_keys(array[person], 10000) >= 10000 and reach is null then
    reach := '-infinity';
  end if;
  insert into vault.addresses_to_clear (user_id, before) select person, reach - interval '1 microsecond' where reach is not null;

  -- A name that a declined invitation was for.
  update public.audit_records a set details = a.details || '{"name": "Former participant"}'
    from public.participants p
    where p.user_id = person and a.deal_id = p.deal_id and a.action = 'invitation.decline' and a.subject_id = p.id::text
      and a.details ? 'name';

  perform app.clear_answers_about(contacts || array(
    select p.id from public.participants p where p.user_id = person
    union all
    select n.id from public.participants p join public.ndas n on n.participant_id = p.id where p.user_id = person));

  insert into public.audit_records (brokerage_id, user_id, request_id, action, subject_id, outcome, details)
    select k.id, case when themself and k.subject = person then person end, erase_person.request_id, 'person.erase', k.subject::text, 'done',
      jsonb_build_object('by', by_whom)
    from unnest(coalesce(known_to, array[null::uuid]), coalesce(known_as, array[person])) k (id, subject);
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return pseudonym;
end
$function$;

CREATE OR REPLACE FUNCTION app.track_contact()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if old.erased_at is not null and (new.archived_at is null
    or (new.type, new.display_name, new.email, new.phone, new.external_id) is distinct from (old.type, old.display_name, old.email, old.phone, old.external_id))
  then
    perform app.refuse('contact_erased', 'This contact was erased for good: it cannot be changed or restored.');
  end if;
  new.version := old.version + 1;
  if new.archived_at is null then
    new.merged_into := null;
  end if;
  return new;
end
$function$;

drop function app.write_contact(text, uuid, text, jsonb, text[], inet, text);
CREATE FUNCTION app.write_contact(act text, target uuid, external text, given jsonb, tags text[], address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := (app.brokerages_for('contacts:write'))[1];
  c public.contacts;
  before public.contacts;
  changed text[] := '{}';
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
  outcome := 'not_found';
  if target is not null then
    select k.* into c from public.contacts k where k.id = target for update;
  elsif external is not null then
    -- One that was merged leads to the other, which alone is locked: a merge locks both, in the order of their ids. What changes meanwhile is looked up anew.
    for look in 1..5 loop
      select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = external;
      exit when c.id is null;
      select k.* into c from public.contacts k
        where k.id = coalesce(c.merged_into, c.id) and k.merged_into is null and (c.merged_into is not null or k.external_id = external) for update;
      exit when c.id is not null;
    end loop;
  end if;

  if c.id is null and act in ('create', 'put') then
    if tags is not null then
      outcome := 'stale';
    else
      insert into public.contacts as k (brokerage_id, type, display_name, email, phone, external_id)
        values (brokerage, given ->> 'type', given ->> 'displayName', given ->> 'email', given ->> 'phone', coalesce(external, given ->> 'externalId'))
        on conflict (brokerage_id, external_id) where external_id is not null do nothing
        returning k.* into c;
      if c.id is not null then
        outcome := 'created';
        perform app.audit('contact.create', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('type', c.type));
      elsif act = 'put' then
        -- Somebody made it meanwhile.
        return query select w.* from app.write_contact(act, target, external, given, tags, address, request_id) w;
        return;
      else
        outcome := 'taken';
        select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = coalesce(external, given ->> 'externalId');
      end if;
    end if;
  elsif c.id is null then
    outcome := 'not_found';
  elsif act in ('change', 'put', 'restore') and c.erased_at is not null then
    outcome := 'erased';
  elsif act in ('change', 'put') and c.archived_at is not null then
    outcome := 'archived';
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  else
    before := c;
    if act in ('change', 'put') then
      c.type := case when given ? 'type' then given ->> 'type' else c.type end;
      c.display_name := case when given ? 'displayName' then given ->> 'displayName' else c.display_name end;
      c.email := case when given ? 'email' then given ->> 'email' else c.email end;
      c.phone := case when given ? 'phone' then given ->> 'phone' else c.phone end;
      c.external_id := case when given ? 'externalId' then given ->> 'externalId' else c.external_id end;
    else
      c.archived_at := case when act = 'archive' then coalesce(c.archived_at, app.now()) end;
    end if;
    changed := array_remove(array[
      case when c.type <> before.type then 'type' end,
      case when c.display_name <> before.display_name then 'displayName' end,
      case when c.email is distinct from before.email then 'email' end,
      case when c.phone is distinct from before.phone then 'phone' end,
      case when c.external_id is distinct from before.external_id then 'externalId' end,
      case when c.archived_at is distinct from before.archived_at then 'archivedAt' end], null);
    outcome := case when changed = '{}' then 'unchanged' else 'done' end;
    if changed <> '{}' then
      begin
        update public.contacts k set type = c.type, display_name = c.display_name, email = c.email, phone = c.phone,
          external_id = c.external_id, archived_at = c.archived_at where k.id = c.id returning k.* into c;
      exception when unique_violation then
        outcome := 'taken';
        select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = given ->> 'externalId';
      end;
    end if;
    if outcome <> 'taken' then
      perform app.audit('contact.' || case act when 'archive' then 'archive' when 'restore' then 'restore' else 'update' end,
        c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('changed', to_jsonb(changed)));
    end if;
  end if;
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;
grant execute on function app.write_contact(text, uuid, text, jsonb, text[], inet, text) to dealkeep_server;

drop function app.write_contacts(jsonb, inet, text);
CREATE FUNCTION app.write_contacts(items jsonb, address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  item jsonb;
  w record;
  counts jsonb := '{}';
begin
  -- Batches and merges of a brokerage come one after the other: with the same contacts in another order, each would wait for the other.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || b.id, 0)) from unnest(app.brokerages_for('contacts:write')) b (id)
    where app.key_id() is not null;
  for item in select i.value from jsonb_array_elements(items) with ordinality i order by i.ordinality loop
    for w in
      select * from app.write_contact(item ->> 'act', (item ->> 'id')::uuid, item ->> 'externalId', item -> 'given',
        case when item ? 'tags' then array(select jsonb_array_elements_text(item -> 'tags')) end, address, request_id)
    loop
      counts := counts || jsonb_build_object(w.outcome, coalesce((counts ->> w.outcome)::int, 0) + 1);
      return query select w.outcome, w.id, w.type, w.display_name, w.email, w.phone, w.external_id, w.archived_at, w.merged_into, w.erased_at,
        w.created_at, w.updated_at, w.tag;
    end loop;
  end loop;
  if app.key_id() is not null then
    perform app.audit('contact.batch', null, 'done', null, null, address, request_id, counts);
  end if;
end
$function$;
grant execute on function app.write_contacts(jsonb, inet, text) to dealkeep_server;

drop function app.merge_contacts(uuid, uuid, text[], inet, text);
CREATE FUNCTION app.merge_contacts(kept uuid, other uuid, tags text[], address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := (select b.id from unnest(app.brokerages_for('contacts:write')) b (id) where b.id = any (app.brokerages_for('contacts:read')) limit 1);
  c public.contacts;
  o public.contacts;
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
  -- As app.write_contacts, which locks contacts in the order of its items.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || brokerage, 0));
  perform from public.contacts k where k.id in (kept, other) and k.brokerage_id = brokerage order by k.id for update;
  select k.* into c from public.contacts k where k.id = kept and k.brokerage_id = brokerage and k.archived_at is null;
  select k.* into o from public.contacts k where k.id = other and k.brokerage_id = brokerage;
  if c.id is null then
    outcome := 'not_found';
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  elsif o.merged_into = c.id then
    outcome := 'unchanged';
    perform app.audit('contact.merge', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('from', o.id, 'changed', '[]'::jsonb));
  elsif o.id is null then
    outcome := 'other_not_found';
  elsif o.archived_at is not null then
    outcome := case when o.erased_at is null then 'archived' else 'erased' end;
    c := o;
  elsif o.type <> c.type then
    outcome := 'of_another_type';
  else
    outcome := 'done';
    update public.contacts k set archived_at = app.now(), merged_into = c.id,
      external_id = case when c.external_id is not null then k.external_id end where k.id = o.id;
    update public.contacts k set merged_into = c.id where k.merged_into = o.id;
    update public.contacts k set email = coalesce(c.email, o.email), phone = coalesce(c.phone, o.phone),
      external_id = coalesce(c.external_id, o.external_id) where k.id = c.id returning k.* into c;
    perform app.audit('contact.merge', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('from', o.id));
  end if;
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;
grant execute on function app.merge_contacts(uuid, uuid, text[], inet, text) to dealkeep_server;

drop function app.contacts_that_fit(text, text, text, text[], timestamp with time zone, text, text, uuid, integer);
CREATE FUNCTION app.contacts_that_fit(archived text, of_type text, of_email text, patterns text[], since timestamp with time zone, sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  brokerage constant uuid := case when app.key_id() is not null then (app.brokerages_for('contacts:read'))[1] end;
  key constant text := case sort when 'displayName' then 'app.folded("left"(c.display_name, 100))' when 'updatedAt' then 'c.updated_at' else 'c.created_at' end;
  direction constant text := case when starts_with(sort, '-') then 'desc' else 'asc' end;
  picked constant text := concat_ws(' and ',
    case when of_email is not null then 'c.email is not null and lower(c.email) = lower($2)' end,
    vault.contact_has(patterns));
  narrowed constant text := concat(case when since is not null then ' and c.updated_at >= $3' end,
    case when after_key is not null then format(' and (%s, c.id) %s (%s, $6)', key, case direction when 'desc' then '<' else '>' end,
      case when sort = 'displayName' then 'app.folded($5)' else '$5::timestamptz' end) end);
  in_order constant text := format('order by %1$s %2$s, c.id %2$s', key, direction);
  -- Of what is picked out by address or words, few are left: they are sorted.
  ordered constant text := format('select c.*, (%s)::text as place from %s c where c.brokerage_id = $1 and %%s %s %s limit $7',
    key, case when picked = '' then 'public.contacts' else 'picked' end, narrowed, in_order);
  fields constant text := 'c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at), c.place';
  -- Words are looked for in the contacts of all brokerages at once, by index. Where a brokerage has few, they are read instead.
  few constant boolean := cardinality(patterns) > 0
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is null limit 5001) c) <= 5000
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is not null limit 5001) c) <= 5000;
  parts text;
begin
  if brokerage is null then
    return;
  end if;
  select string_agg('(' || format(ordered, concat_ws(' and ', a.condition, t.condition)) || ')', ' union all ') into parts
  from (values ('c.archived_at is null', '{false,true}'::text[]), ('c.archived_at is not null', '{only,true}')) a (condition, of),
    -- Where the index begins with the type, each type is a scan of its own.
    (select 'c.type = $4' as condition where of_type is not null
     union all select null where of_type is null and (sort <> 'updatedAt' or picked <> '')
     union all select format('c.type = %L', one) from unnest('{company,person}'::text[]) one where of_type is null and sort = 'updatedAt' and picked = '') t
  where archived = any (a.of);
  -- What is frequent is found among the first.
  if cardinality(patterns) > 0 and not few and archived <> 'true' then
    return query execute format(
      'with first as materialized (
         select c.*, (%s)::text as place from public.contacts c where c.brokerage_id = $1 and %s %s %s limit 1000),
       near as materialized (select c.* from first c where %s %s limit $7)
       select %s from near c where (select count(*) from near) >= $7 %s',
      key, concat_ws(' and ', case archived when 'only' then 'c.archived_at is not null' else 'c.archived_at is null' end, case when of_type is not null then 'c.type = $4' end),
      narrowed, in_order, picked, in_order, fields, in_order)
      using brokerage, of_email, since, of_type, after_key, after_id, most;
    if found then
      return;
    end if;
  end if;
  return query execute format(
    '%s select %s from (%s) c %s limit $7',
    case when picked <> '' then format('with picked as materialized (%s)', (
      select string_agg(format('select c.* from (select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null %s) c where %s',
        a.is_not, case when few then 'offset 0' end, picked), ' union all ')
      from (values ('', '{false,true}'::text[]), ('not', '{only,true}')) a (is_not, of) where archived = any (a.of))) end,
    fields, parts, in_order)
    using brokerage, of_email, since, of_type, after_key, after_id, most;
end
$function$;
grant execute on function app.contacts_that_fit(text, text, text, text[], timestamp with time zone, text, text, uuid, integer) to dealkeep_server;

drop function app.contact_list(uuid, boolean, text[], text, text, uuid, integer);
CREATE FUNCTION app.contact_list(brokerage uuid, archived boolean, patterns text[], sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, archived_at timestamp with time zone, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  by_name constant boolean := ltrim(sort, '-') = 'display_name';
  key constant text := case when by_name then 'app.folded("left"(c.display_name, 100))' else 'c.created_at' end;
  backwards constant boolean := starts_with(sort, '-');
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) or (archived and app.key_id() is not null) then
    return;
  end if;
  return query execute format(
    case when cardinality(patterns) = 0 then
      'select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.erased_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s'
    else
      -- What is frequent is found among the first; of what is seldom, few are sorted.
      'with first as materialized (
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s order by %1$s %5$s, c.id %5$s limit 1000),
       near as materialized (select c.* from first c where true %3$s order by %1$s %5$s, c.id %5$s limit $4),
       enough as materialized (select (select count(*) from near) >= $4 or (select count(*) from first) < 1000 as is_so),
       c as materialized (
         select n.* from near n where (select e.is_so from enough e)
         union all
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %3$s and not (select e.is_so from enough e))
       select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.erased_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from c where true %4$s'
    end || ' order by %1$s %5$s, c.id %5$s limit $4',
    key,
    case when archived then 'not' end,
    'and ' || vault.contact_has(patterns),
    case when after_key is not null
      then format('and (%s, c.id) %s (%s, $3)', key, case when backwards then '<' else '>' end, case when by_name then 'app.folded($2)' else '$2::timestamptz' end) end,
    case when backwards then 'desc' else 'asc' end)
    using brokerage, after_key, after_id, most;
end
$function$;
grant execute on function app.contact_list(uuid, boolean, text[], text, text, uuid, integer) to dealkeep_server;
