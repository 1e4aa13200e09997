-- compatible: a function with the same parameters.
--
-- A broker who could not leave, as only one from outside the brokerage would have remained on a deal, could erase their account instead. And an erasure had parts of
-- deals before the invitations to brokerages that it withdraws, where others have these first.

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
  -- As in app.remove_member().
  perform from public.members own
    cross join lateral app.member_invitations_made(person, own.brokerage_id) made (id)
    join public.members m on m.brokerage_id = own.brokerage_id and m.user_id = made.id
    where own.user_id = person and own.status = 'active' order by m.brokerage_id, m.user_id for update of m;
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
  -- Where they are a member, as whoever leaves that brokerage. A broker from elsewhere may leave any other broker behind.
  select d.title, count(*) over () - 1 as more, exists (select from public.members m
      where m.brokerage_id = d.organization_id and m.user_id = person and m.status = 'active') as of_brokerage into alone from public.participants p join public.deals d on d.id = p.deal_id
    where p.user_id = person and p.role = 'broker' and p.status = 'active' and d.state not in ('closed', 'withdrawn')
      and not exists (select from vault.deletions_begun b where b.brokerage_id = d.organization_id)
      and (d.id in (select a.id from public.members m cross join lateral app.open_deals_alone(m.brokerage_id, person) a (id)
          where m.user_id = person and m.status = 'active')
        or not exists (select from public.participants o join public.users u on u.id = o.user_id and u.suspended_at is null
          where o.deal_id = d.id and o.user_id <> person and o.role = 'broker' and o.status = 'active'))
    order by d.id limit 1;
  if found then
    perform app.refuse('only_broker', format('%s the only broker of the %s "%s"%s: hand it over or close it first.',
      case when themself then 'You are' else 'They are' end,
      case when alone.of_brokerage then 'brokerage on the open deal' else 'open deal' end, alone.title,
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
