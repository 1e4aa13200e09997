-- compatible: the functions take and answer the same.
--
-- A merge locks two contacts in the order of their ids, a batch those of its items in theirs, and a change by the external id of a merged contact that one before the other into which it was
-- merged: each could wait for the other, and one was refused.

create or replace function app.merge_contacts(kept uuid, other uuid, tags text[], address inet, request_id text)
returns table(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
language plpgsql
security definer
set search_path to ''
as $function$
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
  select k.* into c from public.contacts k where k.id = kept and k.brokerage_id = brokerage and k.archived_at is null;
  select k.* into o from public.contacts k where k.id = other and k.brokerage_id = brokerage;
  if c.id is null then
    outcome := 'not_found';
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  elsif o.merged_into = c.id then
    outcome := 'unchanged';
  elsif o.id is null or o.archived_at is not null then
    outcome := 'other_not_found';
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
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;

create or replace function app.write_contact(act text, target uuid, external text, given jsonb, tags text[], address inet, request_id text)
returns table(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
language plpgsql
set search_path to ''
as $function$
#variable_conflict use_column
declare
  brokerage constant uuid := (app.brokerages_for('contacts:write'))[1];
  c public.contacts;
  before public.contacts;
  changed text[] := '{}';
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
  outcome := 'not_found';
  if target is not null then
    select k.* into c from public.contacts k where k.id = target for update;
  elsif external is not null then
    -- One that was merged leads to the other, which alone is locked: a merge locks both, in the order of their ids. What changes meanwhile is looked up anew.
    for look in 1..5 loop
      select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = external;
      exit when c.id is null;
      select k.* into c from public.contacts k
        where k.id = coalesce(c.merged_into, c.id) and k.merged_into is null and (c.merged_into is not null or k.external_id = external) for update;
      exit when c.id is not null;
    end loop;
  end if;

  if c.id is null and act in ('create', 'put') then
    if tags is not null then
      outcome := 'stale';
    else
      insert into public.contacts as k (brokerage_id, type, display_name, email, phone, external_id)
        values (brokerage, given ->> 'type', given ->> 'displayName', given ->> 'email', given ->> 'phone', coalesce(external, given ->> 'externalId'))
        on conflict (brokerage_id, external_id) where external_id is not null do nothing
        returning k.* into c;
      if c.id is not null then
        outcome := 'created';
        perform app.audit('contact.create', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('type', c.type));
      elsif act = 'put' then
        -- Somebody made it meanwhile.
        return query select w.* from app.write_contact(act, target, external, given, tags, address, request_id) w;
        return;
      else
        outcome := 'taken';
      end if;
    end if;
  elsif c.id is null then
    outcome := 'not_found';
  elsif act in ('change', 'put') and c.archived_at is not null then
    outcome := 'archived';
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  else
    before := c;
    if act in ('change', 'put') then
      c.type := case when given ? 'type' then given ->> 'type' else c.type end;
      c.display_name := case when given ? 'displayName' then given ->> 'displayName' else c.display_name end;
      c.email := case when given ? 'email' then given ->> 'email' else c.email end;
      c.phone := case when given ? 'phone' then given ->> 'phone' else c.phone end;
      c.external_id := case when given ? 'externalId' then given ->> 'externalId' else c.external_id end;
    else
      c.archived_at := case when act = 'archive' then coalesce(c.archived_at, app.now()) end;
    end if;
    changed := array_remove(array[
      case when c.type <> before.type then 'type' end,
      case when c.display_name <> before.display_name then 'displayName' end,
      case when c.email is distinct from before.email then 'email' end,
      case when c.phone is distinct from before.phone then 'phone' end,
      case when c.external_id is distinct from before.external_id then 'externalId' end,
      case when c.archived_at is distinct from before.archived_at then 'archivedAt' end], null);
    outcome := case when changed = '{}' then 'unchanged' else 'done' end;
    if changed <> '{}' then
      begin
        update public.contacts k set type = c.type, display_name = c.display_name, email = c.email, phone = c.phone,
          external_id = c.external_id, archived_at = c.archived_at where k.id = c.id returning k.* into c;
      exception when unique_violation then
        outcome := 'taken';
        c := before;
      end;
    end if;
    if outcome <> 'taken' then
      perform app.audit('contact.' || case act when 'archive' then 'archive' when 'restore' then 'restore' else 'update' end,
        c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('changed', to_jsonb(changed)));
    end if;
  end if;
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;

create or replace function app.write_contacts(items jsonb, address inet, request_id text)
returns table(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
language plpgsql
set search_path to ''
as $function$
#variable_conflict use_column
declare
  item jsonb;
  w record;
  counts jsonb := '{}';
begin
  -- Batches and merges of a brokerage come one after the other: with the same contacts in another order, each would wait for the other.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || b.id, 0)) from unnest(app.brokerages_for('contacts:write')) b (id)
    where app.key_id() is not null;
  for item in select i.value from jsonb_array_elements(items) with ordinality i order by i.ordinality loop
    for w in
      select * from app.write_contact(item ->> 'act', (item ->> 'id')::uuid, item ->> 'externalId', item -> 'given',
        case when item ? 'tags' then array(select jsonb_array_elements_text(item -> 'tags')) end, address, request_id)
    loop
      counts := counts || jsonb_build_object(w.outcome, coalesce((counts ->> w.outcome)::int, 0) + 1);
      return query select w.outcome, w.id, w.type, w.display_name, w.email, w.phone, w.external_id, w.archived_at, w.merged_into,
        w.created_at, w.updated_at, w.tag;
    end loop;
  end loop;
  if app.key_id() is not null then
    perform app.audit('contact.batch', null, 'done', null, null, address, request_id, counts);
  end if;
end
$function$;
