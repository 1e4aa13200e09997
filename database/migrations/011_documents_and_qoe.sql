-- What the pages of documents and of quality of earnings need: opening and taking out documents, whom a broker lets into
-- the QoE workspace, and snapshots that were left behind.

-- Documents ------------------------------------------------------------------------------------------------------------

-- Whether the caller may open a document of this confidentiality: the rule of the policies, for functions that look past them.
create function app.may_open(deal_id uuid, confidentiality text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return deal_id = any (app.deals_as('broker', 'seller')) or case confidentiality
    when 'public' then deal_id = any (app.deals_as('buyer', 'viewer')) or exists (
      select from public.deals d where d.id = may_open.deal_id and d.organization_id = any (app.brokerages_as('admin')))
    when 'nda_gated' then deal_id = any (app.deals_under_nda())
    when 'selected_buyer_only' then deal_id = any (app.deals_held_exclusively())
    else false
  end;
end
$$;

-- Where the body of a document is that the caller may see, leaving a record that they opened it; no row when there is
-- none. Who `reads_on`, asking for a later part, goes on with what they opened within the last hour.
create function app.open_document(source text, document_id uuid, reads_on boolean)
returns table (filename text, media_type text, size_bytes bigint, sha256 text, storage_key text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
begin
  if app.user_id() is null then
    return;
  end if;
  return query
    with opened as (
      select d.id, d.deal_id, d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex') as sha256, d.storage_key
        from public.documents d
        where open_document.source = 'simple' and d.id = open_document.document_id and d.removed_at is null
          and app.may_open(d.deal_id, d.confidentiality)
      union all
      select d.id, d.deal_id, d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex'), d.storage_key
        from public.production_documents d
        where open_document.source = 'production' and d.id = open_document.document_id and d.removed_at is null
          and app.may_open(d.deal_id, d.confidentiality)
    ), recorded as (
      insert into public.document_openings (deal_id, document_id, source, user_id)
      select o.deal_id, o.id, open_document.source, app.user_id() from opened o
      where not reads_on or not exists (
        select from public.document_openings earlier
        where earlier.document_id = o.id and earlier.user_id = app.user_id()
          and earlier.opened_at > app.now() - interval '1 hour')
    )
    select o.filename, o.media_type, o.size_bytes, o.sha256, o.storage_key from opened o;
end
$$;

-- Takes a document out of the deal, or with `back` puts it in again within an hour, for its brokers and sellers; the
-- deal, or null when there is none. Its body stays for a week.
create function app.remove_document(source text, document_id uuid, back boolean) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  deal uuid;
begin
  execute format(
    'update public.%I d set removed_at = case when $2 then null else app.now() end
     where d.id = $1 and d.deal_id = any (app.deals_acting_as(''broker'', ''seller''))
       and case when $2 then d.removed_at > app.now() - interval ''1 hour'' else d.removed_at is null end
     returning d.deal_id',
    case source when 'simple' then 'documents' else 'production_documents' end)
    into deal using document_id, back;
  return deal;
end
$$;

-- Bodies are kept outside the database. What is noted here came, or was to come, and has no document yet; so that nothing
-- is ever cleared away from the store but what this database knows.
create table vault.uploads (
  storage_key text primary key check (length(storage_key) between 16 and 64),
  begun_at timestamptz not null default app.now()
);
select app.protect('vault.uploads');

-- Notes a body that is about to come for a deal; false, and nothing noted, when the caller may not add documents to it.
create function app.begin_upload(deal_id uuid, storage_key text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if not deal_id = any (app.deals_acting_as('broker', 'seller')) then
    return false;
  end if;
  perform app.refuse_if_closed(begin_upload.deal_id);
  insert into vault.uploads (storage_key) values (begin_upload.storage_key);
  return true;
end
$$;

create function app.finish_upload() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from vault.uploads u where u.storage_key = new.storage_key;
  return null;
end
$$;
create trigger finish_upload after insert on documents for each row execute function app.finish_upload();
create trigger finish_upload after insert on production_documents for each row execute function app.finish_upload();

alter table documents add body_cleared_at timestamptz;
alter table production_documents add body_cleared_at timestamptz;
create index documents_to_clear on documents (removed_at) where removed_at is not null and body_cleared_at is null;
create index production_documents_to_clear on production_documents (removed_at)
  where removed_at is not null and body_cleared_at is null;

-- Bodies that can go: of uploads that never became a document, and of documents taken out a week ago. The week lets a
-- backup of the database of those days find its bodies.
create function app.bodies_to_clear() returns setof text
language sql stable security definer set search_path = '' as $$
  (select u.storage_key from vault.uploads u where u.begun_at < app.now() - interval '2 days'
   union all
   select d.storage_key from public.documents d
     where d.removed_at < app.now() - interval '7 days' and d.body_cleared_at is null
   union all
   select d.storage_key from public.production_documents d
     where d.removed_at < app.now() - interval '7 days' and d.body_cleared_at is null)
  limit 500
$$;

-- Notes that a body has gone, or never came.
create function app.body_cleared(storage_key text) returns void
language sql security definer set search_path = '' as $$
  delete from vault.uploads u where u.storage_key = body_cleared.storage_key;
  update public.documents d set body_cleared_at = app.now()
    where d.storage_key = body_cleared.storage_key and d.removed_at is not null;
  update public.production_documents d set body_cleared_at = app.now()
    where d.storage_key = body_cleared.storage_key and d.removed_at is not null
$$;

-- Whether the caller saw a document before it was taken out.
create function app.saw_document(document_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.documents d
      where d.id = saw_document.document_id and app.may_open(d.deal_id, d.confidentiality))
    or exists (select from public.production_documents d
      where d.id = saw_document.document_id and app.may_open(d.deal_id, d.confidentiality));
end
$$;
grant execute on function app.open_document(text, uuid, boolean), app.remove_document(text, uuid, boolean),
  app.begin_upload(uuid, text), app.bodies_to_clear(), app.body_cleared(text), app.saw_document(uuid) to dealkeep_server;

-- Quality of earnings ----------------------------------------------------------------------------------------------------

-- A broker lets in active people of the deal who are not in by what they are; a buyer's side only under an NDA.
create function app.check_workspace_member() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  side text;
  principal uuid;
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  select coalesce(advised.role, p.role), coalesce(advised.id, p.id) into side, principal
    from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.status = 'active' and p.role not in ('broker', 'seller');
  if not found then
    perform app.refuse('not_to_let_in', 'Only active buyers, advisors and viewers of the deal are let in; brokers and sellers are in already.');
  end if;
  if side = 'buyer' and not exists (
    select from public.ndas n
    where n.participant_id = principal and n.status = 'active' and (n.expires_at is null or n.expires_at > app.now()))
  then
    perform app.refuse('no_active_nda', 'The buyer has no active NDA: have it signed first.');
  end if;
  return new;
end
$$;
create trigger check_member before insert or update on qoe_workspace_members for each row
  execute function app.check_workspace_member();

-- A snapshot that nobody works on any more will not be completed.
create function app.fail_abandoned_snapshots() returns void
language sql security definer set search_path = '' as $$
  update public.accounting_snapshots s
    set status = 'failed', failure = 'The service was interrupted while it read this file: upload it again.'
    where s.status in ('requested', 'processing') and s.requested_at < app.now() - interval '1 day'
$$;
grant execute on function app.fail_abandoned_snapshots() to dealkeep_server;

-- A closed deal ----------------------------------------------------------------------------------------------------------
--
-- What belongs to a closed deal stays as it is, for everybody but the owner. What is no change of the record stays possible:
-- reading, leaving (taking a person off the deal, an NDA back, somebody out of the workspace), accepting an invitation
-- that was sent before, and putting a broker on the deal, without whom its brokerage could not read it.

-- Refuses a change of a deal that is closed. It waits for a closing that is under way, and a closing for it. Who has no
-- part in the deal is turned away by the policies, like from a deal that does not exist.
create function app.refuse_if_closed(deal_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  deal public.deals;
begin
  if app.user_id() is null then
    return;
  end if;
  select d.* into deal from public.deals d where d.id = refuse_if_closed.deal_id for share;
  if deal.state = 'closed' and (deal.id = any (app.deals_as('broker', 'seller', 'buyer', 'viewer'))
    or deal.organization_id = any (app.brokerages_as('admin')))
  then
    perform app.refuse('deal_closed', 'The deal is closed and takes no more changes.');
  end if;
end
$$;

create function app.keep_closed() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform app.refuse_if_closed(case tg_table_name
    when 'finding_comments' then (select f.deal_id from public.findings f where f.id = (changed ->> 'finding_id')::uuid)
    else (changed ->> 'deal_id')::uuid
  end);
  return case when tg_op = 'DELETE' then old else new end;
end
$$;

-- The names put these triggers in front of all others of their tables.
do $$
declare
  kept text;
begin
  foreach kept in array array['offers', 'offer_decisions', 'qoe_checklist', 'pl_periods', 'customer_revenues', 'normalizations',
    'questions', 'question_answers', 'documents', 'production_documents', 'closing_conditions', 'findings', 'finding_comments',
    'financing_sources']
  loop
    execute format('create trigger a_keep_closed before insert or update or delete on %I for each row execute function app.keep_closed()', kept);
  end loop;
  foreach kept in array array['qoe_workspace_members', 'exclusivities', 'accounting_snapshots', 'ndas'] loop
    execute format('create trigger a_keep_closed before insert on %I for each row execute function app.keep_closed()', kept);
  end loop;
end
$$;
create trigger a_keep_closed_update before update on qoe_workspace_members for each row execute function app.keep_closed();
create trigger a_keep_closed_update before update on exclusivities for each row execute function app.keep_closed();
create trigger a_keep_closed_update before update on accounting_snapshots for each row
  when (new.status <> 'failed') execute function app.keep_closed();
create trigger a_keep_closed_update before update on ndas for each row
  when (new.status not in ('revoked', 'expired')) execute function app.keep_closed();
create trigger a_keep_closed before insert on participants for each row
  when (new.role <> 'broker') execute function app.keep_closed();
create trigger a_keep_closed_update before update on participants for each row
  when (new.role <> 'broker' and new.status = 'invited') execute function app.keep_closed();

create function app.keep_closed_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.refuse_if_closed(old.id);
  return new;
end
$$;
create trigger a_keep_closed before update on deals for each row
  when (old.state = 'closed') execute function app.keep_closed_deal();

-- What is missing for a closing, a sentence each; for the deal's brokers, {} for everybody else.
create function app.closing_warnings(deal_id uuid) returns text[]
language plpgsql stable security definer set search_path = '' as $$
declare
  warnings text[] := '{}';
  open_conditions text[];
  questions int;
  selected uuid;
  buyer text;
begin
  if not deal_id = any (app.deals_acting_as('broker')) then
    return '{}';
  end if;
  select array_agg(c.name order by c.deadline nulls last, c.id) into open_conditions from public.closing_conditions c
    where c.deal_id = closing_warnings.deal_id and c.status in ('open', 'in_progress');
  if cardinality(open_conditions) = 1 then
    warnings := array_append(warnings, format('A closing condition is not met: %s.', open_conditions[1]));
  elsif cardinality(open_conditions) > 1 then
    warnings := array_append(warnings, format('%s closing conditions are not met: %s%s.', cardinality(open_conditions),
      array_to_string(open_conditions[1:5], ', '), case when cardinality(open_conditions) > 5 then ' and others' end));
  end if;
  select x.participant_id, u.name into selected, buyer
    from public.exclusivities x
    join public.participants p on p.id = x.participant_id and p.status = 'active'
    join public.users u on u.id = x.buyer_user_id
    where x.deal_id = closing_warnings.deal_id and x.ended_at is null;
  if selected is null then
    warnings := array_append(warnings, 'No buyer holds the exclusivity: the record will not say who bought.');
  end if;
  if app.accepted_offer(deal_id) is null then
    warnings := array_append(warnings, 'No offer is accepted: the record will not say on which terms.');
  elsif exists (select from public.offers o where o.participant_id = selected and o.is_current
    and not exists (select from public.offer_decisions c where c.offer_id = o.id))
  then
    warnings := array_append(warnings, 'A proposed change of the accepted terms is not decided.');
  end if;
  if not (select d.needs_nda from public.deals d where d.id = closing_warnings.deal_id) then
    null;
  elsif selected is not null and not exists (select from public.ndas n
    where n.participant_id = selected and n.status = 'active' and (n.expires_at is null or n.expires_at > app.now()))
  then
    warnings := array_append(warnings, format('%s has no active NDA.', buyer));
  elsif selected is null and not exists (select from public.ndas n
    where n.deal_id = closing_warnings.deal_id and n.status = 'active' and (n.expires_at is null or n.expires_at > app.now()))
  then
    warnings := array_append(warnings, 'Nobody has an active NDA.');
  end if;
  select count(*) into questions from public.questions q
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered');
  if questions = 1 then
    warnings := array_append(warnings, 'A question is still without its answer.');
  elsif questions > 1 then
    warnings := array_append(warnings, format('%s questions are still without their answers.', questions));
  end if;
  return warnings;
end
$$;

-- True, or a refusal: a deal is closed only when nothing is missing, or its broker has said that they know what is.
create function app.may_move(deal_id uuid, target text, confirmed boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if target = 'closed' and not coalesce(confirmed, false) and app.state_shown(deal_id) = 'closing'
    and app.closing_warnings(deal_id) <> '{}'
  then
    perform app.refuse('closing_unconfirmed', 'Something is missing for a closing: look at it, and confirm that the deal is closed all the same.');
  end if;
  return true;
end
$$;
grant execute on function app.closing_warnings(uuid), app.may_move(uuid, text, boolean) to dealkeep_server;
