-- compatible: less is told.
--
-- A buyer who was made a viewer kept the answers that they had not read, and cannot say that they have: these were counted among what waits for them on the deal for ever. And the data that
-- people take of themselves had the API keys that they made as these are now, also in a brokerage of which they are no admin any more: who asks for a list of keys is shown none.

create or replace function app.is_unread(deal_id uuid, participant_id uuid, distributed_at timestamptz) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return participant_id = any (app.principals()) and deal_id = any (app.deals_as('buyer')) and not exists (
    select from public.answer_readings r
    where r.deal_id = is_unread.deal_id and r.user_id = app.user_id() and r.read_until >= coalesce(is_unread.distributed_at, '-infinity'));
end
$$;

create or replace function app.listed_deals(deals uuid[])
returns table (id uuid, organization_name text, summary text, currency text, needs_nda boolean, questions_waiting integer, offers integer)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with own as materialized (
      select o.deal_id, o.organization_id, o.role, o.principal_id, o.side from vault.deals_of_people o
      where o.user_id = me and o.deal_id = any (deals) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed))
    select d.id, b.name, d.summary, d.currency, d.needs_nda,
      -- Each kind by an index that has nothing else.
      (case own.role
          when 'broker' then (select count(*) from public.questions q where q.deal_id = d.id and q.status in ('pending_broker_review', 'answered'))
          when 'seller' then (select count(*) from public.questions q where q.deal_id = d.id and q.status = 'with_seller')
          else 0
        end
        + (select count(*) from public.questions q
          where own.side = 'buyer' and q.participant_id = own.principal_id and q.deal_id = d.id and q.status = 'distributed'
            and (r.read_until >= coalesce(q.distributed_at, '-infinity')) is not true))::int,
      (select count(*) from public.offers o where o.deal_id = d.id and o.is_current
        and (own.side in ('broker', 'seller') or o.participant_id = own.principal_id))::int
    from public.deals d
    join (select b.id, b.name from public.brokerages b
      where b.id = any (array(select own.organization_id from own union select unnest(administered)))) b on b.id = d.organization_id
    left join own on own.deal_id = d.id
    left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me and r.deal_id = any (deals)) r on r.deal_id = d.id
    where d.id = any (deals)
      and (own.side in ('broker', 'seller', 'buyer', 'viewer') or d.organization_id = any (administered));
end
$$;

create or replace function app.person_records(person uuid, whole boolean) returns jsonb
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
        'metadata_url', c.metadata_url, 'disabled', c.disabled, 'deleted_at', c.deleted_at, 'created_at', c.created_at) order by c.id), '[]')
      from public.connected_clients c where c.created_by = person),
    'grants', (select coalesce(jsonb_agg(jsonb_build_object('client_id', f.client_id, 'scopes', f.scopes, 'consented_at', f.consented_at,
        'ends_at', f.ends_at, 'revoked_at', f.revoked_at, 'last_used_at', f.last_used_at) order by f.id), '[]')
      from vault.token_families f where f.user_id = person),
    'tool_grants', (select coalesce(jsonb_agg(to_jsonb(g) - 'user_id' order by g.client_id, g.tool), '[]')
      from public.tool_grants g where g.user_id = person),
    'deals_for_assistants', (select coalesce(jsonb_agg(to_jsonb(o) - 'user_id' order by o.deal_id), '[]')
      from public.deal_opt_ins o where o.user_id = person),
    'api_keys', (select coalesce(jsonb_agg(case when whole or exists (select from public.members m
          where m.brokerage_id = k.brokerage_id and m.user_id = person and m.role = 'admin' and m.status = 'active') then to_jsonb(k)
        else jsonb_build_object('id', k.id, 'brokerage_id', k.brokerage_id, 'created_at', k.created_at) end order by k.id), '[]')
      from public.api_keys k where k.created_by = person),
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
    'contradiction_answers', (select coalesce(jsonb_agg(to_jsonb(a) - 'answered_by' - 'released_by' order by a.id), '[]')
      from public.contradiction_answers a where a.answered_by = person),
    'contradictions_released', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', a.deal_id, 'contradiction', a.contradiction,
        'released_at', a.released_at) order by a.id), '[]')
      from public.contradiction_answers a where a.released_by = person),
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
