-- compatible: the same function returns more text.

-- The name of a client by its document is what its host says, and anybody can publish one that is called like another:
-- the trail names the host, too.
create or replace function app.client_of_record(record uuid, recorded_at timestamptz) returns text
language plpgsql stable security definer set search_path to '' as $$
declare
  me constant uuid := app.user_id();
  narrowed constant uuid := app.narrowed_to();
begin
  if me is null then
    return null;
  end if;
  return (
    select case when by.host <> c.name then c.name || ' (' || by.host || ')' else c.name end
    from public.audit_records a join public.connected_clients c on c.id = a.client_id
    cross join lateral (select regexp_replace(substring(c.metadata_url from '^https://([^/]+)'), ':[0-9]+$', '') as host) by
    where a.id = record and a.at = recorded_at and (narrowed is null or a.deal_id = narrowed)
      and (a.user_id = me or a.brokerage_id = any (app.brokerages_as('admin'))
        -- Of this deal alone: all of those of the caller would be read for each record.
        or exists (select from vault.deals_of_people o
          where o.user_id = me and o.deal_id = a.deal_id and o.role = 'broker' and o.organization_id <> all (app.barred_in(app.identity())))));
end
$$;
