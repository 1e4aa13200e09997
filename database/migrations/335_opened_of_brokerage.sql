-- compatible: what is opened is told with one column more.
--
-- How many documents are downloaded at once is counted for each person and each brokerage, so that a request of a person has to know whose the document is.

drop function app.open_document(text, uuid, boolean);

create function app.open_document(source text, document_id uuid, reads_on boolean)
returns table (filename text, media_type text, size_bytes bigint, sha256 text, storage_key text, brokerage_id uuid)
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
    select o.filename, o.media_type, o.size_bytes, o.sha256, o.storage_key, e.organization_id
    from opened o join public.deals e on e.id = o.deal_id;
end
$$;
grant execute on function app.open_document(text, uuid, boolean) to dealkeep_server;
