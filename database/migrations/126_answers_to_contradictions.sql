-- compatible: a table more, and what tells of it.
-- What a broker says to a contradiction of a deal's uploaded books (docs/books.md), and whether buyers may read it. Contradictions are computed and kept
-- nowhere: an answer names one by a digest of its kind and dates, and by another of the figures that it had.

create table contradiction_answers (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  contradiction text not null check (contradiction ~ '^[0-9a-f]{32}$'),
  figures text not null check (figures ~ '^[0-9a-f]{32}$'),
  status text not null check (status in ('explained', 'to_correct')),
  why text not null check (length(why) between 1 and 2000),
  answered_by uuid references users default app.user_id(),
  answered_at timestamptz not null default app.now(),
  released_by uuid references users,
  released_at timestamptz,
  brokerage_id uuid not null,
  unique (deal_id, contradiction)
);
create index contradiction_answers_by_author on contradiction_answers (answered_by);
create index contradiction_answers_by_releaser on contradiction_answers (released_by);
select app.protect('contradiction_answers');

create policy deal_side_sees_them on contradiction_answers for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[]));
create policy workspace_sees_released on contradiction_answers for select to dealkeep_server
  using (released_at is not null and deal_id = any ((select app.qoe_deals(false))::uuid[])
    and deal_id = any ((select app.deals_as('buyer', 'viewer'))::uuid[]));
create policy brokers_answer on contradiction_answers for insert to dealkeep_server
  with check (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
create policy brokers_change on contradiction_answers for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
create policy brokers_take_back on contradiction_answers for delete to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select, insert (deal_id, contradiction, figures, status, why), update (figures, status, why, released_at), delete
  on contradiction_answers to dealkeep_server;

-- Who answered or released, and when, is written here. What was released is an answer as it stood: another one is released anew.
create function app.stamp_contradiction_answer() returns trigger
language plpgsql set search_path = '' as $$
begin
  if (new.figures, new.status, new.why) is distinct from (old.figures, old.status, old.why) then
    new.answered_by := app.user_id();
    new.answered_at := app.now();
    new.released_at := null;
  elsif new.released_at is not null then
    new.released_at := coalesce(old.released_at, app.now());
  end if;
  new.released_by := case when new.released_at is null then null when old.released_at is null then app.user_id() else old.released_by end;
  return new;
end
$$;

-- Told to whoever may read the answer; and to whoever could read it, when it is taken back or released no more.
create function app.announce_contradiction_answer() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  told constant public.contradiction_answers := case when tg_op = 'DELETE' then old else new end;
  was_released constant boolean := tg_op <> 'INSERT' and old.released_at is not null;
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  perform pg_notify('dealkeep_changes', json_build_object('topic', 'qoe',
    'table', case when was_released and (tg_op = 'DELETE' or new.released_at is null) then 'released_answers' else 'contradiction_answers' end,
    'record', told.id, 'deal_id', told.deal_id, 'gone', tg_op = 'DELETE' or (was_released and new.released_at is null))::text);
  return null;
end
$$;

create trigger set_tenant before insert or update of deal_id, brokerage_id on contradiction_answers for each row
  execute function app.set_tenant_by_deal();
create trigger a_keep_closed before insert or update or delete on contradiction_answers for each row execute function app.keep_closed();
create trigger limit_of_deal before insert on contradiction_answers for each row
  execute function app.limit_of_deal('500', 'answers to contradictions');
create trigger stamp before update on contradiction_answers for each row execute function app.stamp_contradiction_answer();
create trigger announce after insert or update or delete on contradiction_answers for each row
  execute function app.announce_contradiction_answer();

-- As before, and answers to contradictions; 'released_answers' are those that no buyer can read any more.
create or replace function app.sees_any(of_table text, records uuid[], deal uuid, gone boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if gone then
    case of_table
      when 'documents', 'production_documents' then return app.saw_any_document(deal, records);
      when 'qoe_checklist', 'normalizations' then return deal = any (app.qoe_deals(false));
      when 'contradiction_answers' then return deal = any (app.deals_as('broker', 'seller'));
      when 'released_answers' then return deal = any (app.qoe_deals(false));
      when 'qoe_workspace_members' then
        return deal = any (app.deals_as('broker', 'seller')) or records && app.principals();
      when 'closing_conditions' then
        return deal = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
          or exists (select from public.deals d where d.id = deal and d.organization_id = any (app.brokerages_as('admin')));
      when 'deal_opt_ins' then return app.user_id() = any (records);
      when 'deal_tool_stops' then return exists (select from public.deals d where d.id = deal);
      else return false;
    end case;
  end if;
  case of_table
    when 'deals' then return exists (select from public.deals r where r.id = any (records));
    when 'deal_stages' then return exists (select from public.deal_stages r where r.deal_id = any (records));
    when 'exclusivities' then return exists (select from public.exclusivities r where r.id = any (records));
    when 'participants' then return exists (select from public.participants r where r.id = any (records));
    when 'ndas' then return exists (select from public.ndas r where r.id = any (records));
    when 'documents' then return exists (select from public.documents r where r.id = any (records));
    when 'production_documents' then return exists (select from public.production_documents r where r.id = any (records));
    when 'document_openings' then return exists (select from public.document_openings r where r.id = any (records));
    when 'questions' then return exists (select from public.questions r where r.id = any (records));
    when 'question_answers' then return exists (select from public.question_answers r where r.question_id = any (records));
    when 'qoe_checklist' then return exists (select from public.qoe_checklist r where r.id = any (records));
    when 'accounting_snapshots' then return exists (select from public.accounting_snapshots r where r.id = any (records));
    when 'normalizations' then return exists (select from public.normalizations r where r.id = any (records));
    when 'contradiction_answers' then return exists (select from public.contradiction_answers r where r.id = any (records));
    when 'qoe_workspace_members' then return exists (select from public.qoe_workspace_members r
      where r.participant_id = any (records) and r.deal_id = deal);
    when 'offers', 'offer_decisions' then return exists (select from public.offers r where r.id = any (records));
    when 'closing_conditions' then return exists (select from public.closing_conditions r where r.id = any (records));
    when 'findings', 'finding_comments' then return exists (select from public.findings r where r.id = any (records));
    when 'financing_sources' then return exists (select from public.financing_sources r where r.id = any (records));
    when 'deal_opt_ins', 'notifications' then return app.user_id() = any (records);
    when 'deal_tool_stops' then return exists (select from public.deals r where r.id = any (records));
    else return false;
  end case;
end
$$;

-- As before, and answers to contradictions.
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
