-- Documents: the data room of a deal, who opens what, and the bodies, which are kept outside the database.

-- The deal's own data room. The body is in the store under `storage_key`, which never leaves the server.
create table documents (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  filename text not null check (length(filename) between 1 and 255 and filename !~ '[/\\[:cntrl:]]'),
  category text not null check (length(category) between 1 and 64),
  confidentiality text not null check (confidentiality in ('public', 'nda_gated', 'selected_buyer_only')),
  size_bytes bigint not null check (size_bytes >= 0),
  media_type text not null check (length(media_type) between 1 and 255),
  sha256 bytea check (length(sha256) = 32),
  storage_key text not null unique,
  uploaded_by uuid references users default app.user_id(),
  uploaded_at timestamptz not null default app.now(),
  removed_at timestamptz,
  -- Since when its body is gone from the store.
  body_cleared_at timestamptz
);
create index documents_by_deal on documents (deal_id, uploaded_at desc, id desc) where removed_at is null;
create index documents_to_clear on documents (removed_at) where removed_at is not null and body_cleared_at is null;
select app.protect('documents');

-- Documents produced for a diligence request.
create table production_documents (
  like documents including defaults including constraints,
  diligence_request text not null check (length(diligence_request) between 1 and 500),
  primary key (id),
  unique (storage_key),
  foreign key (deal_id) references deals,
  foreign key (uploaded_by) references users
);
create index production_documents_by_deal on production_documents (deal_id, uploaded_at desc, id desc) where removed_at is null;
create index production_documents_to_clear on production_documents (removed_at)
  where removed_at is not null and body_cleared_at is null;
select app.protect('production_documents');

-- Which confidentiality opens a document to whom: somebody who sees its deal, or not, is on the deal side of some deals, has an
-- active NDA on some and holds some exclusively. Like app.deal_is_visible it is put in the place of each call.
create function app.document_is_visible(deal_id uuid, confidentiality text, sees_deal boolean, deal_side uuid[], under_nda uuid[],
  held_exclusively uuid[]) returns boolean
language sql immutable parallel safe
return deal_id = any (deal_side)
  or (confidentiality = 'public' and sees_deal)
  or (confidentiality = 'nda_gated' and deal_id = any (under_nda))
  or (confidentiality = 'selected_buyer_only' and deal_id = any (held_exclusively));
grant execute on function app.document_is_visible(uuid, text, boolean, uuid[], uuid[], uuid[]) to dealkeep_server;

do $$
declare
  kept regclass;
begin
  foreach kept in array array['documents', 'production_documents']::regclass[] loop
    execute format('create policy by_confidentiality on %s for select to dealkeep_server using (removed_at is null
      and app.document_is_visible(deal_id, confidentiality, exists (select from deals d where d.id = deal_id),
        (select app.deals_as(''broker'', ''seller''))::uuid[], (select app.deals_under_nda())::uuid[],
        (select app.deals_held_exclusively())::uuid[]))', kept);
    execute format('create policy deal_side_adds on %s for insert to dealkeep_server '
      'with check (deal_id = any ((select app.deals_acting_as(''broker'', ''seller''))::uuid[]))', kept);
    execute format('create policy deal_side_changes on %s for update to dealkeep_server '
      'using (removed_at is null and deal_id = any ((select app.deals_acting_as(''broker'', ''seller''))::uuid[]))', kept);
    execute format('grant select (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, '
      'uploaded_by, uploaded_at), insert (deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, '
      'storage_key), update (filename, category, confidentiality) on %s to dealkeep_server', kept);
  end loop;
end
$$;
grant select (diligence_request), insert (diligence_request) on production_documents to dealkeep_server;

create trigger limit_a_day before insert on documents for each row
  execute function app.limit_a_day('1000', 'uploaded_by', 'uploaded_at', 'documents');
create trigger limit_a_day before insert on production_documents for each row
  execute function app.limit_a_day('1000', 'uploaded_by', 'uploaded_at', 'documents');

-- Whether the caller may open documents of this confidentiality: what the policy says, for functions that run as the owner,
-- and of documents that were taken out.
create function app.may_open(deal_id uuid, confidentiality text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return app.document_is_visible(deal_id, confidentiality, app.seen_deal(deal_id) is not null, app.deals_as('broker', 'seller'),
    app.deals_under_nda(), app.deals_held_exclusively());
end
$$;

-- Who opened what, and when.
create table document_openings (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  document_id uuid not null,
  source text not null check (source in ('simple', 'production')),
  user_id uuid not null references users,
  opened_at timestamptz not null default app.now()
);
create index document_openings_by_document on document_openings (document_id, opened_at desc);
create index document_openings_by_deal on document_openings (deal_id, opened_at desc);
select app.protect('document_openings');
create policy deal_side_and_oneself on document_openings for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[]) or user_id = (select app.user_id()));
grant select on document_openings to dealkeep_server;

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
