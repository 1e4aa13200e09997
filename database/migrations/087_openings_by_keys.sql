-- compatible: an opening can be by a key instead of a person; releases before show it as somebody's.
-- Documents that API keys open: each opening is on the record beside those of people.

alter table document_openings alter column user_id drop not null,
  add column key_id uuid references api_keys (id),
  add constraint document_openings_by_one_check check (num_nonnulls(user_id, key_id) = 1);
create index document_openings_by_key on document_openings (key_id) where key_id is not null;

-- Where the body of a document of either source is, leaving a record that the calling key opened it; or, when it reads on in it, if there is none of the last hour; or
-- none where `reads_on` is null: then it asks for the head alone. Nothing when there is none on a deal that the key reaches with documents:content.
create function app.open_document_with_key(document_id uuid, reads_on boolean)
returns table (filename text, media_type text, size_bytes bigint, sha256 text, storage_key text)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  key constant uuid := app.key_id();
  brokerage constant uuid := app.key_brokerage('documents:content');
begin
  if key is null or brokerage is null then
    return;
  end if;
  return query
    with found as (
      select d.id, d.deal_id, 'simple' as source, d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex') as sha256, d.storage_key
        from public.documents d where d.id = open_document_with_key.document_id and d.removed_at is null
      union all
      select d.id, d.deal_id, 'production', d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex'), d.storage_key
        from public.production_documents d where d.id = open_document_with_key.document_id and d.removed_at is null
    ), opened as (
      select f.* from found f join public.deals e on e.id = f.deal_id where e.organization_id = brokerage and e.keys_admitted
    ), recorded as (
      insert into public.document_openings (deal_id, document_id, source, key_id)
      select o.deal_id, o.id, o.source, key from opened o
      where not reads_on or (reads_on and not exists (
        select from public.document_openings earlier
        where earlier.document_id = o.id and earlier.key_id = key and earlier.opened_at > app.now() - interval '1 hour'))
    )
    select o.filename, o.media_type, o.size_bytes, o.sha256, o.storage_key from opened o;
end
$$;
grant execute on function app.open_document_with_key(uuid, boolean) to dealkeep_server;
