-- compatible: functions that tell more of the same person, and one id of another person less.
-- The export of everything that is kept about a person left out contacts with their address and much that they did: exclusivity, conditions and findings that they own, keys that they revoked, NDAs
-- that they sent, places in QoE that they gave, webhooks, contacts, tools that they stopped, answers that they read. And it named who had revoked a key of theirs.

-- What others may have changed or taken away since, a person who downloads it themselves is told as far as they see it now, as in app.person_records.
create function app.person_acts(person uuid, whole boolean) returns jsonb
  language sql stable security definer set search_path = '' as $$
  select jsonb_build_object(
    -- By the address, which may not be theirs alone: themselves they have those of their brokerages, whose members see them.
    'contacts', (select coalesce(jsonb_agg(c.contact order by c.contact ->> 'id'), '[]')
      from (select e.contact from public.users u cross join lateral jsonb_array_elements(app.contact_data(u.email)) e (contact)
        where u.id = person and u.sandbox_id is null) c
      where whole or (c.contact ->> 'brokerage_id')::uuid = any (seen.joined)),
    'exclusivities', (select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'deal_id', x.deal_id, 'granted_at', x.granted_at)
          || case when whole or x.participant_id = any (seen.principals) then jsonb_build_object('expires_at', x.expires_at, 'ended_at', x.ended_at) else '{}' end
        order by x.id), '[]')
      from public.exclusivities x where x.buyer_user_id = person),
    'exclusivities_granted', (select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'deal_id', x.deal_id, 'granted_at', x.granted_at) order by x.id), '[]')
      from public.exclusivities x where x.granted_by = person),
    'conditions_owned', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'deal_id', c.deal_id) order by c.id), '[]')
      from public.closing_conditions c where c.owner_user_id = person
        and (whole or c.deal_id = any (seen.taken_part))),
    'findings_owned', (select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'deal_id', f.deal_id) order by f.id), '[]')
      from public.findings f where f.owner_user_id = person
        and (whole or f.deal_id = any (seen.run) or f.participant_id = any (seen.principals))),
    'ndas_sent', (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'deal_id', n.deal_id, 'sent_at', n.sent_at) order by n.id), '[]')
      from public.ndas n where n.sent_by = person),
    'qoe_places_given', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', m.deal_id, 'added_at', m.added_at) order by m.added_at), '[]')
      from public.qoe_workspace_members m where m.added_by = person),
    'answers_read', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', r.deal_id, 'read_until', r.read_until) order by r.deal_id), '[]')
      from public.answer_readings r where r.user_id = person),
    'api_keys_revoked', (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'brokerage_id', k.brokerage_id, 'revoked_at', k.revoked_at) order by k.id), '[]')
      from public.api_keys k where k.revoked_by = person),
    'api_keys_shown', (select coalesce(jsonb_agg(jsonb_build_object('id', d.key_id, 'brokerage_id', d.brokerage_id, 'issued_at', d.issued_at) order by d.issued_at), '[]')
      from vault.api_key_digests d where d.issued_by = person),
    'webhooks_added', (select coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'brokerage_id', e.brokerage_id, 'created_at', e.created_at)
          || case when whole or e.brokerage_id = any (seen.administered) then jsonb_build_object('url', e.url, 'description', e.description) else '{}' end
        order by e.id), '[]')
      from public.webhook_endpoints e where e.created_by = person),
    'tools_stopped', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', s.deal_id, 'stopped_at', s.stopped_at) order by s.stopped_at), '[]')
      from public.deal_tool_stops s where s.stopped_by = person),
    'brokerage_deletions_requested', (select coalesce(jsonb_agg(jsonb_build_object('brokerage_id', d.brokerage_id, 'asked_at', d.asked_at) order by d.asked_at), '[]')
      from vault.brokerage_deletions d where d.asked_by = person))
  from (select app.deals_as('broker', 'seller') as run, app.deals_as('broker', 'seller', 'buyer', 'viewer') as taken_part, app.principals() as principals, app.brokerages_as('admin') as administered,
    app.brokerages_as('admin', 'broker', 'staff') as joined offset 0) seen
$$;

-- With the id of the brokerage, by which the download of a person picks theirs.
CREATE OR REPLACE FUNCTION app.contact_data(of_address text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with roots as materialized (
    select distinct coalesce(c.merged_into, c.id) as id from app.contacts_with_address(of_address) k join public.contacts c on c.id = k.id
  ), known as (
    select r.id from roots r union select c.id from public.contacts c join roots r on c.merged_into = r.id)
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'brokerage_id', b.id, 'brokerage', b.name, 'type', c.type, 'display_name', c.display_name, 'email', c.email,
      'phone', c.phone, 'external_id', c.external_id, 'archived_at', c.archived_at, 'merged_into', c.merged_into, 'created_at', c.created_at,
      'updated_at', c.updated_at) order by c.id), '[]')
    from known n join public.contacts c on c.id = n.id join public.brokerages b on b.id = c.brokerage_id
$function$;

CREATE OR REPLACE FUNCTION app.own_data_kept(person uuid)
 RETURNS TABLE(list text, after timestamp with time zone, left_out bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  source record;
  one record;
  bytes bigint;
begin
  for source in
    select * from (values
      ('notifications', 'vault.notifications t where t.user_id = $1', 'at', false),
      ('questions', 'public.questions t where t.asked_by = $1', 'asked_at', true),
      ('answers', 'public.question_answers t where t.answered_by = $1', 'answered_at', true),
      ('offers', 'public.offers t where t.buyer_user_id = $1', 'submitted_at', true),
      ('ndas', 'public.ndas t join public.participants p on p.id = t.participant_id where p.user_id = $1', 'sent_at', true),
      ('documents', '(select d.uploaded_by, d.uploaded_at from public.documents d
          union all select d.uploaded_by, d.uploaded_at from public.production_documents d) t where t.uploaded_by = $1', 'uploaded_at', false),
      ('document_openings', 'public.document_openings t where t.user_id = $1', 'opened_at', false),
      ('findings', 'public.findings t where t.created_by = $1', 'created_at', true),
      ('finding_comments', 'public.finding_comments t where t.created_by = $1', 'created_at', true),
      ('finding_changes', 'public.finding_changes t where t.changed_by = $1', 'changed_at', true),
      ('normalizations', 'public.normalizations t where t.created_by = $1', 'created_at', true),
      ('accounting_snapshots', 'public.accounting_snapshots t where t.requested_by = $1', 'requested_at', true),
      ('contradiction_answers', 'public.contradiction_answers t where t.answered_by = $1', 'answered_at', true),
      ('financing_sources', 'public.financing_sources t where t.created_by = $1', 'created_at', true),
      ('contacts_created', 'public.contacts t where t.created_by = $1', 'created_at', false),
      ('audit_records', 'public.audit_records t where t.user_id = $1', 'at', false)) s (list, rows, at, has_texts)
  loop
    list := source.list;
    after := null;
    left_out := 0;
    if source.has_texts then
      bytes := 0;
      -- One after the other: no more texts are read than are given.
      for one in execute format('select t.%1$I as at, octet_length(to_json(t)::text) as size from (select t.* from %2$s order by t.%1$I desc offset 0) t',
          source.at, source.rows) using person
      loop
        bytes := bytes + one.size;
        if bytes > 8000000 then
          after := one.at;
          exit;
        end if;
      end loop;
    else
      execute format('select t.%1$I from %2$s order by t.%1$I desc offset 100000 limit 1', source.at, source.rows) into after using person;
    end if;
    if after is null then
      after := '-infinity';
    else
      execute format('select count(*) from %2$s and t.%1$I <= $2', source.at, source.rows) into left_out using person, after;
    end if;
    return next;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.person_records(person uuid, whole boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with kept as materialized (select k.* from app.own_data_kept(person) k)
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
    'clients', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'created_at', c.created_at)
          || case when whole or c.brokerage_id is null or c.brokerage_id = any (seen.joined)
            then jsonb_build_object('name', c.name, 'redirect_uris', c.redirect_uris, 'metadata_url', c.metadata_url, 'disabled', c.disabled,
              'deleted_at', c.deleted_at) else '{}' end
        order by c.id), '[]')
      from public.connected_clients c where c.created_by = person),
    'grants', (select coalesce(jsonb_agg(jsonb_build_object('client_id', f.client_id, 'scopes', f.scopes, 'consented_at', f.consented_at,
        'ends_at', f.ends_at, 'revoked_at', f.revoked_at, 'last_used_at', f.last_used_at) order by f.id), '[]')
      from vault.token_families f where f.user_id = person),
    'tool_grants', (select coalesce(jsonb_agg(to_jsonb(g) - 'user_id' order by g.client_id, g.tool), '[]')
      from public.tool_grants g where g.user_id = person),
    'deals_for_assistants', (select coalesce(jsonb_agg(to_jsonb(o) - 'user_id' order by o.deal_id), '[]')
      from public.deal_opt_ins o where o.user_id = person),
    'api_keys', (select coalesce(jsonb_agg(case when whole or k.brokerage_id = any (seen.administered) then to_jsonb(k) - 'revoked_by'
        else jsonb_build_object('id', k.id, 'brokerage_id', k.brokerage_id, 'created_at', k.created_at) end order by k.id), '[]')
      from public.api_keys k where k.created_by = person),
    'memberships', (select coalesce(jsonb_agg(jsonb_build_object('brokerage', b.name, 'joined_at', m.joined_at, 'created_at', m.created_at)
          || case when whole or m.status <> 'invited' or not app.address_in_doubt(b.id)
            then jsonb_build_object('role', m.role, 'status', m.status, 'invited_name', m.invited_name, 'invited_email', m.invited_email) else '{}' end
        order by b.id), '[]')
      from public.members m join public.brokerages b on b.id = m.brokerage_id
      where m.user_id = person and (whole or m.joined_at is not null)),
    'participations', (select coalesce(jsonb_agg(to_jsonb(p) - '{user_id,person_id,advises}'::text[]
          - case when whole or p.status <> 'invited' or not app.address_in_doubt(p.brokerage_id) then '{}'::text[]
            else '{role,status,invited_name,invited_email,updated_at}' end
        order by p.id), '[]')
      from public.participants p where p.user_id = person and (whole or p.joined_at is not null)),
    'notification_settings', (select to_jsonb(s) - 'user_id' from vault.notification_settings s where s.user_id = person),
    'notification_choices', (select coalesce(jsonb_agg(to_jsonb(s) - 'user_id' order by s.kind), '[]')
      from vault.notification_choices s where s.user_id = person),
    'deal_notification_choices', (select coalesce(jsonb_agg(to_jsonb(s) - 'user_id' order by s.deal_id), '[]')
      from vault.deal_notification_choices s where s.user_id = person),
    'notifications', (select coalesce(jsonb_agg(jsonb_build_object('kind', n.kind, 'deal_id', n.deal_id, 'at', n.at, 'read_at', n.read_at,
        'mailed_at', n.mailed_at) order by n.at), '[]')
      from vault.notifications n where n.user_id = person and n.at > (select k.after from kept k where k.list = 'notifications')),
    'mails', (select coalesce(jsonb_agg(jsonb_build_object('kind', o.kind, 'recipient', o.recipient, 'created_at', o.created_at,
        'sent_at', o.sent_at) order by o.id), '[]')
      from vault.outbox o where o.recipient_id = person and (whole or (o.brokerage_id is null and o.deal_id is null))),
    'questions', (select coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'deal_id', q.deal_id, 'category', q.category,
        'question_text', q.question_text, 'asked_at', q.asked_at)
          || case when whole or q.participant_id in (select unnest(seen.principals)) or q.deal_id in (select unnest(seen.brokered))
              or (q.status in ('with_seller', 'answered', 'distributed') and q.deal_id in (select unnest(seen.run)))
            then jsonb_build_object('status', q.status) else '{}' end
        order by q.id), '[]')
      from public.questions q where q.asked_by = person and q.asked_at > (select k.after from kept k where k.list = 'questions')),
    'answers', (select coalesce(jsonb_agg(case when whole or a.deal_id = any (seen.run) then to_jsonb(a) - 'answered_by'
        else jsonb_build_object('question_id', a.question_id, 'deal_id', a.deal_id, 'answered_at', a.answered_at) end order by a.answered_at), '[]')
      from public.question_answers a where a.answered_by = person and a.answered_at > (select k.after from kept k where k.list = 'answers')),
    'offers', (select coalesce(jsonb_agg(to_jsonb(o) - 'buyer_user_id' order by o.id), '[]')
      from public.offers o where o.buyer_user_id = person and o.submitted_at > (select k.after from kept k where k.list = 'offers')),
    'decisions_on_offers', (select coalesce(jsonb_agg(jsonb_build_object('offer_id', o.offer_id, 'deal_id', o.deal_id, 'decision', o.decision,
        'decided_at', o.decided_at) order by o.decided_at), '[]')
      from public.offer_decisions o where o.decided_by = person),
    'ndas', (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'deal_id', n.deal_id, 'terms', n.terms, 'sent_at', n.sent_at,
        'signed_at', n.signed_at, 'signed_name', n.signed_name, 'signed_address', host(n.signed_address), 'expires_at', n.expires_at)
          || case when n.shown then jsonb_build_object('status', n.status, 'revoked_at', n.revoked_at) else '{}' end
        order by n.id), '[]')
      from (select l.*, whole or l.participant_id in (select unnest(seen.principals)) or l.deal_id in (select unnest(seen.run)) as shown
        from public.ndas l join public.participants p on p.id = l.participant_id
        where p.user_id = person and l.sent_at > (select k.after from kept k where k.list = 'ndas')) n
      where n.shown or n.signed_at is not null),
    'documents', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'deal_id', d.deal_id, 'size_bytes', d.size_bytes, 'media_type', d.media_type,
        'uploaded_at', d.uploaded_at) || case when whole or d.deal_id = any (seen.run)
          then jsonb_build_object('filename', d.filename, 'category', d.category, 'removed_at', d.removed_at) else '{}' end order by d.id), '[]')
      from (select id, deal_id, filename, category, size_bytes, media_type, uploaded_at, removed_at, uploaded_by from public.documents
        union all select id, deal_id, filename, category, size_bytes, media_type, uploaded_at, removed_at, uploaded_by
          from public.production_documents) d
      where d.uploaded_by = person and d.uploaded_at > (select k.after from kept k where k.list = 'documents')),
    'document_openings', (select coalesce(jsonb_agg(jsonb_build_object('document_id', o.document_id, 'deal_id', o.deal_id,
        'opened_at', o.opened_at) order by o.opened_at), '[]')
      from public.document_openings o where o.user_id = person and o.opened_at > (select k.after from kept k where k.list = 'document_openings')),
    'findings', (select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'deal_id', f.deal_id, 'created_at', f.created_at)
          || case when whole or f.deal_id = any (seen.run) or f.participant_id = any (seen.principals)
            then jsonb_build_object('category', f.category, 'title', f.title, 'description', f.description, 'severity', f.severity) else '{}' end
        order by f.id), '[]')
      from public.findings f where f.created_by = person and f.created_at > (select k.after from kept k where k.list = 'findings')),
    'finding_comments', (select coalesce(jsonb_agg(to_jsonb(c) - 'created_by' order by c.id), '[]')
      from public.finding_comments c where c.created_by = person and c.created_at > (select k.after from kept k where k.list = 'finding_comments')),
    'finding_changes', (select coalesce(jsonb_agg(to_jsonb(c) - 'changed_by' order by c.id), '[]')
      from public.finding_changes c where c.changed_by = person and c.changed_at > (select k.after from kept k where k.list = 'finding_changes')),
    'normalizations', (select coalesce(jsonb_agg(to_jsonb(n) - 'created_by' order by n.id), '[]')
      from public.normalizations n where n.created_by = person and n.created_at > (select k.after from kept k where k.list = 'normalizations')),
    'accounting_snapshots', (select coalesce(jsonb_agg(case when whole or s.deal_id in (select unnest(seen.worked)) then to_jsonb(s) - 'requested_by'
        else jsonb_build_object('id', s.id, 'deal_id', s.deal_id, 'snapshot_type', s.snapshot_type, 'source_name', s.source_name,
          'account_lines', s.account_lines, 'requested_at', s.requested_at) end order by s.id), '[]')
      from public.accounting_snapshots s where s.requested_by = person and s.requested_at > (select k.after from kept k where k.list = 'accounting_snapshots')),
    'contradiction_answers', (select coalesce(jsonb_agg(case when whole or a.deal_id = any (seen.run) then to_jsonb(a) - 'answered_by' - 'released_by'
        else jsonb_build_object('id', a.id, 'deal_id', a.deal_id, 'answered_at', a.answered_at) end order by a.id), '[]')
      from public.contradiction_answers a where a.answered_by = person and a.answered_at > (select k.after from kept k where k.list = 'contradiction_answers')),
    'contradictions_released', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', a.deal_id, 'contradiction', a.contradiction,
        'released_at', a.released_at) order by a.id), '[]')
      from public.contradiction_answers a where a.released_by = person),
    'financing_sources', (select coalesce(jsonb_agg(
          case when whole or s.deal_id = any (seen.run) or s.participant_id = any (seen.principals) then to_jsonb(s) - 'created_by'
            else jsonb_build_object('id', s.id, 'deal_id', s.deal_id, 'created_at', s.created_at) end order by s.id), '[]')
      from public.financing_sources s where s.created_by = person and s.created_at > (select k.after from kept k where k.list = 'financing_sources')),
    'deals_opened', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'created_at', d.created_at) order by d.id), '[]')
      from public.deals d where d.created_by = person),
    'contacts_created', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'brokerage_id', c.brokerage_id, 'created_at', c.created_at) order by c.id), '[]')
      from public.contacts c where c.created_by = person and c.created_at > (select k.after from kept k where k.list = 'contacts_created')),
    'audit_records', (select coalesce(jsonb_agg(jsonb_build_object('at', a.at, 'action', a.action, 'outcome', a.outcome, 'deal_id', a.deal_id,
        'subject_id', a.subject_id, 'client_id', a.client_id, 'address', host(a.address), 'request_id', a.request_id, 'details', a.details)
        order by a.at, a.id), '[]')
      from public.audit_records a where a.user_id = person and a.at > (select k.after from kept k where k.list = 'audit_records')),
    'left_out', (select coalesce(jsonb_object_agg(k.list, k.left_out) filter (where k.left_out > 0), '{}') from kept k)
  )
  -- What others may have changed since is told of what the person sees now.
  from (select app.deals_as('broker', 'seller') as run, app.deals_as('broker') as brokered, app.principals() as principals, app.brokerages_as('admin') as administered,
    app.brokerages_as('admin', 'broker', 'staff') as joined, app.qoe_deals(false) as worked offset 0) seen
  where exists (select from public.users u where u.id = person)
$function$;

CREATE OR REPLACE FUNCTION app.person_data(person uuid, whole boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select app.person_records(person, whole) || app.notification_data(person) || app.person_acts(person, whole)
$function$;
