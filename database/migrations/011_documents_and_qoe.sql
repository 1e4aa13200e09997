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
