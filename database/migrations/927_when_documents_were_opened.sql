-- compatible: columns that may be null, which a trigger fills, and a function with the same parameters.
--
-- A document that was opened to more people was new to nobody, as its upload may be long ago. One that was closed to some and soon opened to them again was told to them as if it were
-- new.

set lock_timeout = '5s';

alter table documents add column confidentiality_before text, add column confidentiality_changed_at timestamptz;
alter table production_documents add column confidentiality_before text, add column confidentiality_changed_at timestamptz;
grant select (confidentiality_before, confidentiality_changed_at) on documents, production_documents to dealkeep_server;

create function app.is_wider(one text, than text) returns boolean
language sql immutable parallel safe
return array_position('{selected_buyer_only,nda_gated,public}'::text[], one) > array_position('{selected_buyer_only,nda_gated,public}'::text[], than);

create function app.note_confidentiality() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- Whoever could open it within the last day knows it.
  new.confidentiality_before := case
    when old.confidentiality_changed_at > app.now() - interval '1 day' and app.is_wider(old.confidentiality_before, old.confidentiality)
    then old.confidentiality_before else old.confidentiality end;
  new.confidentiality_changed_at := app.now();
  return new;
end $$;

create trigger note_confidentiality before update of confidentiality on documents
  for each row when (new.confidentiality <> old.confidentiality) execute function app.note_confidentiality();
create trigger note_confidentiality before update of confidentiality on production_documents
  for each row when (new.confidentiality <> old.confidentiality) execute function app.note_confidentiality();

create or replace function app.queue_opened_document() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- One that waits is told to everybody who may open it by then.
  if app.has_caller() and app.is_wider(new.confidentiality, new.confidentiality_before) and not exists (select from vault.events e
    where e.deal_id = new.deal_id and e.kind = 'document_added' and e.subject = tg_table_name and e.subject_id = new.id)
  then
    perform app.queue_event('document_added', new.deal_id, tg_table_name, new.id, app.user_id(), null, new.confidentiality_before);
  end if;
  return null;
end $$;
