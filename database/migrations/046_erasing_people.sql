-- compatible: a table, a column that nobody has to know, and functions are added; those that change do as before for everybody else.
-- A person takes their data along or has it erased; a legal hold stops that.

-- What must not be erased or deleted for now: a deal, everything of a brokerage, or a person. Set by the owner (`dealkeep hold`).
create table vault.legal_holds (
  kind text not null check (kind in ('deal', 'brokerage', 'person')),
  subject_id uuid not null,
  reference text check (length(reference) between 1 and 200),
  placed_at timestamptz not null default app.now(),
  primary key (kind, subject_id)
);
select app.protect('vault.legal_holds');

alter table public.users add column erased_at timestamptz;

-- The first legal hold that is on a person, on a deal that they take or took part in, or on a brokerage that knows them.
create function app.hold_on_person(person uuid)
returns table (kind text, subject_id uuid, title text)
language sql stable security definer set search_path = '' as $$
  with parts as (
    select d.id, d.title, d.organization_id from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person
  ), brokerages as (
    select m.brokerage_id as id from public.members m where m.user_id = person
    union select s.organization_id from parts s
    union select c.brokerage_id from public.contacts c join public.users u on u.id = person and lower(c.email) = u.email
  )
  select h.kind, h.subject_id, coalesce(s.title, b.name, u.name)
  from vault.legal_holds h
  left join parts s on h.kind = 'deal' and s.id = h.subject_id
  left join public.brokerages b on h.kind = 'brokerage' and b.id = h.subject_id
  left join public.users u on h.kind = 'person' and u.id = h.subject_id
  where s.id is not null or (h.kind = 'person' and h.subject_id = person)
    or (h.kind = 'brokerage' and h.subject_id in (select g.id from brokerages g))
  order by h.kind desc, h.subject_id limit 1
$$;

-- Erases who a person is: name, address, everything that they sign in with or are written to by, and the addresses of their devices.
-- What they did on deals stays, under the pseudonym that is returned. Again, for somebody who is erased: the same pseudonym. For the
-- owner's command ('operator') and app.erase_oneself ('oneself'); nobody else may call it.
create function app.erase_person(person uuid, by_whom text, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
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

  -- One after the other, or two who leave at once would each count on the other.
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where m.user_id = person and m.role = 'admin' and m.status = 'active' order by b.id for update of b;
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
  perform from public.deals d join public.participants p on p.deal_id = d.id
    where p.user_id = person and p.role = 'broker' and p.status = 'active' order by d.id for update of d;
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
  update public.ndas n set signed_name = pseudonym, signed_address = null
    from public.participants p
    where p.user_id = person and n.participant_id = p.id and num_nonnulls(n.signed_name, n.signed_address) > 0;
  update public.contacts c
    set display_name = case when c.type = 'person' then pseudonym else c.display_name end,
      phone = case when c.type = 'company' then c.phone end, email = null,
      archived_at = case when c.type = 'person' then coalesce(c.archived_at, now) else c.archived_at end
    where lower(c.email) = erased.email;

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

-- Everything that is about a person and nothing about anybody else: of deals, what they themselves wrote or did. Not the secrets that they
-- sign in with. The latest 100,000 of what grows without end. Not `whole`: without invitations that were not accepted, since whoever reads
-- the data may not have shown yet that the address is theirs.
create function app.person_data(person uuid, whole boolean) returns jsonb
language sql stable security definer set search_path = '' as $$
  select jsonb_build_object(
    'account', (select jsonb_build_object('id', u.id, 'email', u.email, 'name', u.name, 'suspended_at', u.suspended_at,
        'erased_at', u.erased_at, 'created_at', u.created_at, 'updated_at', u.updated_at,
        'password_changed_at', (select p.changed_at from vault.passwords p where p.user_id = u.id),
        'authenticator_since', (select t.confirmed_at from vault.totp t where t.user_id = u.id),
        'recovery_codes_left', (select count(*) from vault.recovery_codes r where r.user_id = u.id and r.used_at is null))
      from public.users u where u.id = person),
    'sessions', (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'method', s.method, 'created_at', s.created_at,
        'last_seen_at', s.last_seen_at, 'ended_at', s.ended_at, 'address', host(s.address), 'user_agent', s.user_agent) order by s.id), '[]')
      from vault.sessions s where s.user_id = person),
    'known_devices', (select coalesce(jsonb_agg(jsonb_build_object('used_at', k.used_at) order by k.used_at), '[]')
      from vault.known_devices k where k.user_id = person),
    'passkeys', (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'created_at', k.created_at,
        'last_used_at', k.last_used_at) order by k.id), '[]')
      from vault.passkeys k where k.user_id = person),
    'address_changes', (select coalesce(jsonb_agg(jsonb_build_object('new_email', a.new_email, 'expires_at', a.expires_at)), '[]')
      from vault.address_changes a where a.user_id = person),
    'clients', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'name', c.name, 'redirect_uris', c.redirect_uris,
        'disabled', c.disabled, 'deleted_at', c.deleted_at, 'created_at', c.created_at) order by c.id), '[]')
      from public.connected_clients c where c.created_by = person),
    'grants', (select coalesce(jsonb_agg(jsonb_build_object('client_id', f.client_id, 'scopes', f.scopes, 'consented_at', f.consented_at,
        'ends_at', f.ends_at, 'revoked_at', f.revoked_at, 'last_used_at', f.last_used_at) order by f.id), '[]')
      from vault.token_families f where f.user_id = person),
    'tool_grants', (select coalesce(jsonb_agg(to_jsonb(g) - 'user_id' order by g.client_id, g.tool), '[]')
      from public.tool_grants g where g.user_id = person),
    'deals_for_assistants', (select coalesce(jsonb_agg(to_jsonb(o) - 'user_id' order by o.deal_id), '[]')
      from public.deal_opt_ins o where o.user_id = person),
    'api_keys', (select coalesce(jsonb_agg(to_jsonb(k) order by k.id), '[]') from public.api_keys k where k.created_by = person),
    'memberships', (select coalesce(jsonb_agg(jsonb_build_object('brokerage', b.name, 'role', m.role, 'status', m.status,
        'joined_at', m.joined_at, 'created_at', m.created_at, 'invited_name', m.invited_name, 'invited_email', m.invited_email)
        order by b.id), '[]')
      from public.members m join public.brokerages b on b.id = m.brokerage_id
      where m.user_id = person and (whole or m.joined_at is not null)),
    'participations', (select coalesce(jsonb_agg(to_jsonb(p) - 'user_id' - 'person_id' - 'advises' order by p.id), '[]')
      from public.participants p where p.user_id = person and (whole or p.joined_at is not null)),
    'notification_settings', (select to_jsonb(s) - 'user_id' from vault.notification_settings s where s.user_id = person),
    'notification_choices', (select coalesce(jsonb_agg(to_jsonb(s) - 'user_id' order by s.kind), '[]')
      from vault.notification_choices s where s.user_id = person),
    'deal_notification_choices', (select coalesce(jsonb_agg(to_jsonb(s) - 'user_id' order by s.deal_id), '[]')
      from vault.deal_notification_choices s where s.user_id = person),
    'notifications', (select coalesce(jsonb_agg(jsonb_build_object('kind', n.kind, 'deal_id', n.deal_id, 'at', n.at, 'read_at', n.read_at,
        'mailed_at', n.mailed_at) order by n.at), '[]')
      from (select * from vault.notifications l where l.user_id = person order by l.at desc limit 100000) n),
    'mails', (select coalesce(jsonb_agg(jsonb_build_object('kind', o.kind, 'recipient', o.recipient, 'created_at', o.created_at,
        'sent_at', o.sent_at) order by o.id), '[]')
      from vault.outbox o where o.recipient_id = person and (whole or (o.brokerage_id is null and o.deal_id is null))),
    'questions', (select coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'deal_id', q.deal_id, 'category', q.category, 'status', q.status,
        'question_text', q.question_text, 'asked_at', q.asked_at) order by q.id), '[]')
      from public.questions q where q.asked_by = person),
    'answers', (select coalesce(jsonb_agg(to_jsonb(a) - 'answered_by' order by a.answered_at), '[]')
      from public.question_answers a where a.answered_by = person),
    'offers', (select coalesce(jsonb_agg(to_jsonb(o) - 'buyer_user_id' order by o.id), '[]')
      from public.offers o where o.buyer_user_id = person),
    'decisions_on_offers', (select coalesce(jsonb_agg(jsonb_build_object('offer_id', o.offer_id, 'deal_id', o.deal_id, 'decision', o.decision,
        'decided_at', o.decided_at) order by o.decided_at), '[]')
      from public.offer_decisions o where o.decided_by = person),
    'ndas', (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'deal_id', n.deal_id, 'status', n.status, 'terms', n.terms,
        'sent_at', n.sent_at, 'signed_at', n.signed_at, 'signed_name', n.signed_name, 'signed_address', host(n.signed_address),
        'expires_at', n.expires_at, 'revoked_at', n.revoked_at) order by n.id), '[]')
      from public.ndas n join public.participants p on p.id = n.participant_id where p.user_id = person),
    'documents', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'deal_id', d.deal_id, 'filename', d.filename, 'category', d.category,
        'size_bytes', d.size_bytes, 'media_type', d.media_type, 'uploaded_at', d.uploaded_at, 'removed_at', d.removed_at) order by d.id), '[]')
      from (select id, deal_id, filename, category, size_bytes, media_type, uploaded_at, removed_at, uploaded_by from public.documents
        union all select id, deal_id, filename, category, size_bytes, media_type, uploaded_at, removed_at, uploaded_by
          from public.production_documents) d
      where d.uploaded_by = person),
    'document_openings', (select coalesce(jsonb_agg(jsonb_build_object('document_id', o.document_id, 'deal_id', o.deal_id,
        'opened_at', o.opened_at) order by o.opened_at), '[]')
      from (select * from public.document_openings l where l.user_id = person order by l.opened_at desc limit 100000) o),
    'findings', (select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'deal_id', f.deal_id, 'category', f.category, 'title', f.title,
        'description', f.description, 'severity', f.severity, 'created_at', f.created_at) order by f.id), '[]')
      from public.findings f where f.created_by = person),
    'finding_comments', (select coalesce(jsonb_agg(to_jsonb(c) - 'created_by' order by c.id), '[]')
      from public.finding_comments c where c.created_by = person),
    'finding_changes', (select coalesce(jsonb_agg(to_jsonb(c) - 'changed_by' order by c.id), '[]')
      from public.finding_changes c where c.changed_by = person),
    'normalizations', (select coalesce(jsonb_agg(to_jsonb(n) - 'created_by' order by n.id), '[]')
      from public.normalizations n where n.created_by = person),
    'accounting_snapshots', (select coalesce(jsonb_agg(to_jsonb(s) - 'requested_by' order by s.id), '[]')
      from public.accounting_snapshots s where s.requested_by = person),
    'financing_sources', (select coalesce(jsonb_agg(to_jsonb(s) - 'created_by' order by s.id), '[]')
      from public.financing_sources s where s.created_by = person),
    'deals_opened', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'created_at', d.created_at) order by d.id), '[]')
      from public.deals d where d.created_by = person),
    'audit_records', (select coalesce(jsonb_agg(jsonb_build_object('at', a.at, 'action', a.action, 'outcome', a.outcome, 'deal_id', a.deal_id,
        'subject_id', a.subject_id, 'client_id', a.client_id, 'address', host(a.address), 'request_id', a.request_id, 'details', a.details)
        order by a.at, a.id), '[]')
      from (select * from public.audit_records l where l.user_id = person order by l.at desc, l.id desc limit 100000) a)
  ) where exists (select from public.users u where u.id = person)
$$;

-- The operator's suspension leaves its record; that of somebody who is erased is told by that.
create or replace function app.on_suspension() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.suspended_at is not null then
    perform app.end_sessions_of(new.id);
  end if;
  if new.erased_at is null then
    perform app.record(new.id, case when new.suspended_at is null then 'user.restore' else 'user.suspend' end, 'done',
      '{"by": "operator"}', null, null);
  end if;
  return null;
end
$$;

-- The bodies of documents that nobody needs any more, 500 at most; those of a deal under a legal hold are needed.
create or replace function app.bodies_to_clear() returns setof text
language sql stable security definer set search_path = '' as $$
  (select u.storage_key from vault.uploads u where u.begun_at < app.now() - interval '2 days'
   union all
   select d.storage_key from (
       select s.storage_key, s.deal_id from public.documents s
         where s.removed_at < app.now() - interval '7 days' and s.body_cleared_at is null
       union all
       select p.storage_key, p.deal_id from public.production_documents p
         where p.removed_at < app.now() - interval '7 days' and p.body_cleared_at is null) d
     where not exists (select from vault.legal_holds h join public.deals l on l.id = d.deal_id
       where (h.kind = 'deal' and h.subject_id = l.id) or (h.kind = 'brokerage' and h.subject_id = l.organization_id)))
  limit 500
$$;

-- The mail to the address of before is one to this person too, so that it goes with them.
create or replace function app.change_address(session bytea, token bytea, address inet, request_id text)
returns table (old_email text, new_email text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
begin
  delete from vault.address_changes a using vault.live_sessions l
    where l.digest = session and a.user_id = l.user_id and a.digest = token and a.expires_at > app.now()
    returning a.* into change;
  if not found then
    return;
  end if;
  if exists (select from public.users u where u.email = change.new_email) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  select u.email into old_address from public.users u where u.id = change.user_id for update;
  update public.users u set email = change.new_email where u.id = change.user_id;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
  end if;
  update vault.passwords p set address_proven_at = app.now() where p.user_id = change.user_id;
  delete from vault.password_resets r where r.user_id = change.user_id;
  perform app.record(change.user_id, 'address.change', 'done', null, address, request_id);
  perform app.queue_mail('address_changed', old_address, change.user_id, null, null, true,
    (select jsonb_build_object('name', u.name, 'new_email', u.email) from public.users u where u.id = change.user_id), null, null);
  return query select old_address, change.new_email;
end
$$;
