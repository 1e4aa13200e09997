-- Contacts in every order, archived or not, by their words and by their address: each by an index within the brokerage.
--
-- What is not leakproof (lower, LIKE) may not go before a policy, so that no index serves it in a query of the server. These
-- functions ask once whether the caller may read the brokerage's contacts, as the policy of contacts does, and then read as
-- the owner.

-- Word search needs two extensions that PostgreSQL comes with (Debian: in postgresql-15 itself). They are trusted: the owner
-- of the database may make them. In a schema of their own, which is nobody's: the server calls nothing of them by name.
create schema extensions;
create extension if not exists pg_trgm with schema extensions;
create extension if not exists btree_gin with schema extensions;

-- What is searched of a contact.
create function app.contact_text(display_name text, email text, phone text) returns text
language sql immutable parallel safe
return lower(display_name || ' ' || coalesce(email || ' ', '') || coalesce(phone, ''));

create index contacts_by_name on contacts (brokerage_id, "left"(lower(display_name), 100), id) where archived_at is null;
create index contacts_archived on contacts (brokerage_id, created_at desc, id desc) where archived_at is not null;
create index contacts_archived_by_name on contacts (brokerage_id, "left"(lower(display_name), 100), id) where archived_at is not null;
create index contacts_by_email on contacts (brokerage_id, lower(email), id) where archived_at is null and email is not null;

-- An extension that was there before may be in another schema.
do $$
begin
  execute format('create index contacts_by_words on public.contacts using gin (brokerage_id, app.contact_text(display_name, email, phone) %I.gin_trgm_ops)',
    (select e.extnamespace::regnamespace from pg_catalog.pg_extension e where e.extname = 'pg_trgm'));
end
$$;

-- The contacts of a brokerage whose text is like all of the patterns, in an order ('created_at', 'display_name', with '-' in front
-- backwards), those behind a place, at most so many; none when the caller may not read them. Words are found first and sorted
-- then: one that nobody has would otherwise be looked for in all contacts in their order.
create function app.contact_list(brokerage uuid, archived boolean, patterns text[], sort text, after_key text, after_id uuid, most int)
returns table (id uuid, type text, display_name text, email text, phone text, archived_at timestamptz, created_at timestamptz,
  updated_at timestamptz, place text)
language plpgsql stable security definer set search_path = '' as $$
declare
  by_name constant boolean := ltrim(sort, '-') = 'display_name';
  key constant text := case when by_name then '"left"(lower(c.display_name), 100)' else 'c.created_at' end;
  backwards constant boolean := starts_with(sort, '-');
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) or (archived and app.key_id() is not null) then
    return;
  end if;
  return query execute format(
    case when cardinality(patterns) = 0 then
      'select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s'
    else
      'with c as materialized (
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %3$s)
       select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from c where true %4$s'
    end || ' order by %1$s %5$s, c.id %5$s limit $4',
    key,
    case when archived then 'not' end,
    (select string_agg(format('and app.contact_text(c.display_name, c.email, c.phone) like %L', pattern), ' ') from unnest(patterns) pattern),
    case when after_key is not null
      then format('and (%s, c.id) %s ($2::%s, $3)', key, case when backwards then '<' else '>' end, case when by_name then 'text' else 'timestamptz' end) end,
    case when backwards then 'desc' else 'asc' end)
    using brokerage, after_key, after_id, most;
end
$$;

-- Which of these addresses, in lower case, a contact of the brokerage has, and the first such contact of each; none when the caller
-- may not read them.
create function app.contacts_with_emails(brokerage uuid, emails text[]) returns table (email text, id uuid)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    select distinct on (lower(c.email)) lower(c.email), c.id from public.contacts c
    where c.brokerage_id = brokerage and c.archived_at is null and c.email is not null and lower(c.email) = any (emails)
    order by lower(c.email), c.id;
end
$$;

-- An index of contacts computes it in the name of whoever adds one.
grant execute on function app.contact_text(text, text, text) to dealkeep_server;
grant execute on function app.contact_list(uuid, boolean, text[], text, text, uuid, int), app.contacts_with_emails(uuid, text[]) to dealkeep_server;

-- Brokerages ------------------------------------------------------------------------------------------------------------

-- The brokerages of the deals on which the caller is, each once: an array that is made once, where a look at every deal of a
-- brokerage was made for each brokerage. An admin's own are theirs as a member's.
create function app.brokerages_of_deals() returns uuid[]
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  deals constant uuid[] := array(
    select p.deal_id from app.participations() p where p.principal_role in ('broker', 'seller', 'buyer', 'viewer'));
begin
  return array(select distinct d.organization_id from public.deals d where d.id = any (deals));
end
$$;
grant execute on function app.brokerages_of_deals() to dealkeep_server;

drop policy people_of_its_deals_see_it on brokerages;
create policy people_of_its_deals_see_it on brokerages for select to dealkeep_server
  using (id = any ((select app.brokerages_of_deals())::uuid[]));

-- What time has done, by index -------------------------------------------------------------------------------------------

create index stages_of_exclusivity on deal_stages (deal_id) where state = 'exclusivity';
create index ndas_running_out on ndas (expires_at) where status in ('sent', 'active');
create index snapshots_under_way on accounting_snapshots (requested_at) where status in ('requested', 'processing');
