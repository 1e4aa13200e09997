-- compatible: the same outcomes, of one contact more.
--
-- A contact that was archived or erased was not found when another one was to be merged into it, though keys see it: now the answer says what it is.

CREATE OR REPLACE FUNCTION app.merge_contacts(kept uuid, other uuid, tags text[], address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := (select b.id from unnest(app.brokerages_for('contacts:write')) b (id) where b.id = any (app.brokerages_for('contacts:read')) limit 1);
  c public.contacts;
  o public.contacts;
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
  -- As app.write_contacts, which locks contacts in the order of its items.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || brokerage, 0));
  perform from public.contacts k where k.id in (kept, other) and k.brokerage_id = brokerage order by k.id for update;
  select k.* into c from public.contacts k where k.id = kept and k.brokerage_id = brokerage;
  select k.* into o from public.contacts k where k.id = other and k.brokerage_id = brokerage;
  if c.id is null then
    outcome := 'not_found';
  elsif c.archived_at is not null then
    outcome := case when c.erased_at is null then 'archived' else 'erased' end;
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  elsif o.merged_into = c.id then
    outcome := 'unchanged';
    perform app.audit('contact.merge', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('from', o.id, 'changed', '[]'::jsonb));
  elsif o.id is null then
    outcome := 'other_not_found';
  elsif o.archived_at is not null then
    outcome := case when o.erased_at is null then 'archived' else 'erased' end;
    c := o;
  elsif o.type <> c.type then
    outcome := 'of_another_type';
  else
    outcome := 'done';
    update public.contacts k set archived_at = app.now(), merged_into = c.id,
      external_id = case when c.external_id is not null then k.external_id end where k.id = o.id;
    update public.contacts k set merged_into = c.id where k.merged_into = o.id;
    update public.contacts k set email = coalesce(c.email, o.email), phone = coalesce(c.phone, o.phone),
      external_id = coalesce(c.external_id, o.external_id) where k.id = c.id returning k.* into c;
    perform app.audit('contact.merge', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('from', o.id));
  end if;
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;
