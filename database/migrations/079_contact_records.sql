-- compatible: columns, indexes and functions more; what the release before asks for it sees as before.

-- `external_id` is a contact's id in another system. `version` counts the changes, so that two of them in one millisecond are told apart.
-- `merged_into` is the contact that an archived duplicate became a part of; it has no foreign key, since contacts are deleted with
-- their brokerage alone, part by part.
alter table public.contacts
  add column external_id text constraint contacts_external_id_check check (external_id ~ '^[\x21-\x7e]{1,255}$' and external_id not in ('.', '..')),
  add column version integer not null default 1,
  add column merged_into uuid constraint contacts_merged_into_check check (merged_into is null or archived_at is not null and merged_into <> id);

create unique index contacts_by_external_id on public.contacts (brokerage_id, external_id) where external_id is not null;
create index contacts_merged on public.contacts (merged_into) where merged_into is not null;
-- For whoever asks what has changed. There are two types, so that a list of both is a merge of two scans.
create index contacts_by_update on public.contacts (brokerage_id, type, updated_at, id) where archived_at is null;
create index contacts_archived_by_update on public.contacts (brokerage_id, type, updated_at, id) where archived_at is not null;
create index contacts_by_type on public.contacts (brokerage_id, type, created_at desc, id desc) where archived_at is null;
create index contacts_archived_by_email on public.contacts (brokerage_id, lower(email), id) where archived_at is not null and email is not null;

create function app.track_contact() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.version := old.version + 1;
  if new.archived_at is null then
    new.merged_into := null;
  end if;
  return new;
end
$$;
create trigger track_contact before update on public.contacts for each row execute function app.track_contact();

grant insert (external_id), update (external_id) on public.contacts to dealkeep_server;

-- An API key changes contacts, and sees those that are archived too: what asks for contacts says whether it wants them.
alter policy members_and_keys_see_them on public.contacts
  using (brokerage_id = any ((select app.brokerages_for('contacts:read'))::uuid[]));
alter policy members_change_them on public.contacts
  using (brokerage_id = any ((select app.brokerages_for('contacts:write'))::uuid[]));
alter policy members_change_them on public.contacts rename to members_and_keys_change_them;

-- The entity tag of a contact: other after every change of it.
create function app.contact_tag(id uuid, version int, updated_at timestamptz) returns text
language sql immutable parallel safe
return replace(id::text, '-', '') || '.' || version || '.' || (extract(epoch from updated_at) * 1000)::bigint;
grant execute on function app.contact_tag(uuid, int, timestamptz) to dealkeep_server;

-- One change of a contact by the calling API key, under the policies, with its record in the audit trail. `act` is create, change, put,
-- archive or restore; `target` or `external` says which contact; `given` has the properties that are to change; `tags` are those that the contact
-- may have, null for any. An external id that a merged contact has leads to the one that it was merged into. The outcome is created,
-- done, unchanged, not_found, stale (another tag), archived or taken (the external id is another contact's).
create function app.write_contact(act text, target uuid, external text, given jsonb, tags text[], address inet, request_id text)
returns table (outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamptz,
  merged_into uuid, created_at timestamptz, updated_at timestamptz, tag text)
language plpgsql volatile set search_path = '' as $$
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
    select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = external for update;
    if c.merged_into is not null then
      select k.* into c from public.contacts k where k.id = c.merged_into for update;
    end if;
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
$$;
grant execute on function app.write_contact(text, uuid, text, jsonb, text[], inet, text) to dealkeep_server;

-- Several, in the order given, each as if it came alone; how many came to what is one record more.
create function app.write_contacts(items jsonb, address inet, request_id text)
returns table (outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamptz,
  merged_into uuid, created_at timestamptz, updated_at timestamptz, tag text)
language plpgsql volatile set search_path = '' as $$
#variable_conflict use_column
declare
  item jsonb;
  w record;
  counts jsonb := '{}';
begin
  -- Two batches of a brokerage come one after the other: with the same contacts in another order, each would wait for the other.
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
$$;
grant execute on function app.write_contacts(jsonb, inet, text) to dealkeep_server;

-- Makes one contact of two: `kept` takes over what it lacks, `other` is archived and points to it, as do those that were merged into `other`
-- before. Both are the calling API key's to read and to change. The outcome is done, unchanged, not_found, other_not_found, stale,
-- or of_another_type.
create function app.merge_contacts(kept uuid, other uuid, tags text[], address inet, request_id text)
returns table (outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamptz,
  merged_into uuid, created_at timestamptz, updated_at timestamptz, tag text)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  brokerage constant uuid := (select b.id from unnest(app.brokerages_for('contacts:write')) b (id) where b.id = any (app.brokerages_for('contacts:read')) limit 1);
  c public.contacts;
  o public.contacts;
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
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
$$;
grant execute on function app.merge_contacts(uuid, uuid, text[], inet, text) to dealkeep_server;

-- The contacts of the calling API key that fit, in pages. `archived` is false, only or true (both); `sort` is -createdAt, displayName or
-- updatedAt. Like app.contact_list it asks once whether the caller may read them, since no index serves `lower` and LIKE below a policy.
create function app.contacts_that_fit(archived text, of_type text, of_email text, patterns text[], since timestamptz, sort text, after_key text, after_id uuid, most int)
returns table (id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamptz, merged_into uuid,
  created_at timestamptz, updated_at timestamptz, place text)
language plpgsql stable security definer set search_path = '' as $$
declare
  brokerage constant uuid := case when app.key_id() is not null then (app.brokerages_for('contacts:read'))[1] end;
  key constant text := case sort when 'displayName' then '"left"(lower(c.display_name), 100)' when 'updatedAt' then 'c.updated_at' else 'c.created_at' end;
  direction constant text := case when starts_with(sort, '-') then 'desc' else 'asc' end;
  picked constant text := concat_ws(' and ',
    case when of_email is not null then 'c.email is not null and lower(c.email) = lower($2)' end,
    (select string_agg(format('app.contact_text(c.display_name, c.email, c.phone) like %L', pattern), ' and ') from unnest(patterns) pattern));
  -- Of what is picked out by address or words, few are left: they are sorted.
  ordered constant text := format('select c.*, (%1$s)::text as place from %2$s c where c.brokerage_id = $1 and %%s %3$s order by %1$s %4$s, c.id %4$s limit $7',
    key, case when picked = '' then 'public.contacts' else 'picked' end,
    concat(case when since is not null then ' and c.updated_at >= $3' end,
      case when after_key is not null then format(' and (%s, c.id) %s ($5::%s, $6)', key, case direction when 'desc' then '<' else '>' end,
        case when sort = 'displayName' then 'text' else 'timestamptz' end) end),
    direction);
  parts text;
begin
  if brokerage is null then
    return;
  end if;
  select string_agg('(' || format(ordered, concat_ws(' and ', a.condition, t.condition)) || ')', ' union all ') into parts
  from (values ('c.archived_at is null', '{false,true}'::text[]), ('c.archived_at is not null', '{only,true}')) a (condition, of),
    -- Where the index begins with the type, each type is a scan of its own.
    (select 'c.type = $4' as condition where of_type is not null
     union all select null where of_type is null and (sort <> 'updatedAt' or picked <> '')
     union all select format('c.type = %L', one) from unnest('{company,person}'::text[]) one where of_type is null and sort = 'updatedAt' and picked = '') t
  where archived = any (a.of);
  return query execute format(
    '%s select c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.created_at::timestamptz,
       c.updated_at::timestamptz, c.place from (%s) c order by %s %s, c.id %s limit $7',
    case when picked <> '' then format('with picked as materialized (%s)', (
      select string_agg(format('select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null and %s', a.is_not, picked), ' union all ')
      from (values ('', '{false,true}'::text[]), ('not', '{only,true}')) a (is_not, of) where archived = any (a.of))) end,
    parts, key, direction, direction)
    using brokerage, of_email, since, of_type, after_key, after_id, most;
end
$$;
grant execute on function app.contacts_that_fit(text, text, text, text[], timestamptz, text, text, uuid, int) to dealkeep_server;

-- The API key that is calling, and its brokerage.
create function app.calling_key()
returns table (id uuid, name text, environment text, last_four text, scopes text[], ceiling int, expires_at timestamptz, brokerage_id uuid, brokerage_name text)
language sql stable security definer set search_path = ''
begin atomic
  select k.id, k.name, k.environment, k.last_four, k.scopes, k.ceiling, k.expires_at, b.id, b.name
  from public.api_keys k join public.brokerages b on b.id = k.brokerage_id where k.id = app.key_id();
end;
grant execute on function app.calling_key() to dealkeep_server;
