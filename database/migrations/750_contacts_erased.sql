-- compatible: new functions alone.
-- Who is only a contact of brokerages, without an account, could not be erased: not by the operator, and not by the admin who has to answer for the contacts.

-- Empties and archives contacts, with the duplicates merged into the same one, and returns how many. With an address only those of companies with this address lose anything, which is the address:
-- a company is not the person who wrote. Owner and app.erase_contact decide who may.
create function app.erase_contacts(chosen uuid[], of_address text, by_whom text, address inet, request_id text) returns integer
  language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  brokerages uuid[];
  targets uuid[];
  named text[];
  held record;
  erased record;
  counted int := 0;
begin
  select coalesce(array_agg(distinct c.brokerage_id order by c.brokerage_id), '{}') into brokerages from public.contacts c where c.id = any (chosen);
  lock table vault.legal_holds in row share mode;
  select b.id, b.name into held from vault.legal_holds h join public.brokerages b on b.id = h.subject_id
    where h.kind = 'brokerage' and h.subject_id = any (brokerages) order by b.id limit 1;
  if found then
    perform app.refuse('legal_hold', case by_whom when 'operator'
      then format('A legal hold on the brokerage "%s" stops this: when it has ended, dealkeep hold off brokerage %s.', held.name, held.id)
      else 'The contacts of this brokerage must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  -- As a merge does, which locks two contacts.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || b.id, 0)) from unnest(brokerages) with ordinality b (id, place) order by b.place;
  targets := array(
    with roots as (select distinct coalesce(c.merged_into, c.id) as id from public.contacts c where c.id = any (chosen))
    select r.id from roots r union select c.id from public.contacts c join roots r on c.merged_into = r.id);
  perform from public.contacts c where c.id = any (targets) order by c.id for update;
  targets := array(select c.id from public.contacts c
    where c.id = any (targets) and (of_address is null or c.type = 'person' or (c.email is not null and lower(c.email) = of_address)));
  select u.id, u.name into held from vault.legal_holds h join public.users u on u.id = h.subject_id
    where h.kind = 'person' and u.email = any (array(select lower(c.email) from public.contacts c where c.id = any (targets) and c.email is not null))
    order by u.id limit 1;
  if found then
    perform app.refuse('legal_hold', case by_whom when 'operator'
      then format('A legal hold on the person "%s" stops this: when it has ended, dealkeep hold off person %s.', held.name, held.id)
      else 'This contact must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  -- First answers that have them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice.
  named := array(select t.id::text from unnest(targets) t (id)
    union select to_json(lower(c.email))::text from public.contacts c where c.id = any (targets) and c.email is not null);
  update vault.idempotency_keys k set answer = null
    where k.answer is not null and app.named_in(k.answer) && named
      and exists (select from public.api_keys a where a.id = k.key_id and (a.brokerage_id = any (brokerages)
        or exists (select from public.brokerages s where s.id = any (brokerages) and s.sandbox_of = a.brokerage_id)));
  for erased in
    update public.contacts c
      set display_name = case when c.type = 'person' then 'Former participant' when of_address is null then 'Former company' else c.display_name end,
        email = null,
        phone = case when c.type = 'company' and of_address is not null then c.phone end,
        external_id = case when c.type = 'company' and of_address is not null then c.external_id end,
        archived_at = case when c.type = 'company' and of_address is not null then c.archived_at else coalesce(c.archived_at, now) end
      where c.id = any (targets)
      returning c.id, c.brokerage_id
  loop
    counted := counted + 1;
    perform app.audit('contact.erase', erased.id::text, 'done', erased.brokerage_id, null, address, request_id, jsonb_build_object('by', by_whom));
  end loop;
  perform app.clear_answers_about(targets);
  if of_address is not null then
    perform app.erase_in_sandboxes(of_address);
  end if;
  return counted;
end
$$;

-- For an admin of the brokerage, on the page; neither for keys nor for clients.
create function app.erase_contact(contact uuid, address inet, request_id text) returns boolean
  language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.key_id() is not null or app.client_id() is not null
    or not exists (select from public.contacts c where c.id = contact and c.brokerage_id = any (app.brokerages_as('admin'))) then
    return false;
  end if;
  perform app.erase_contacts(array[contact], null, 'admin', erase_contact.address, erase_contact.request_id);
  return true;
end
$$;
grant execute on function app.erase_contact(uuid, inet, text) to dealkeep_server;

-- What is kept about who is only a contact, for the operator's export: contacts with the address, and what was merged with them.
create function app.contact_data(of_address text) returns jsonb
  language sql stable security definer set search_path = '' as $$
  with roots as materialized (
    select distinct coalesce(c.merged_into, c.id) as id from app.contacts_with_address(of_address) k join public.contacts c on c.id = k.id
  ), known as (
    select r.id from roots r union select c.id from public.contacts c join roots r on c.merged_into = r.id)
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'brokerage', b.name, 'type', c.type, 'display_name', c.display_name, 'email', c.email,
      'phone', c.phone, 'external_id', c.external_id, 'archived_at', c.archived_at, 'merged_into', c.merged_into, 'created_at', c.created_at,
      'updated_at', c.updated_at) order by c.id), '[]')
    from known n join public.contacts c on c.id = n.id join public.brokerages b on b.id = c.brokerage_id
$$;
