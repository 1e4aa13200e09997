-- compatible: the function answers the same columns, without keys that nobody can use.
--
-- The keys that reach a deal were cut to the newest hundred before those that no admin issues any more were left out, so that a brokerage
-- with many of those was shown fewer than it has, or none.

create or replace function app.keys_for_deal(deal uuid)
returns table (id uuid, name text, environment text, scopes text[], created_by uuid, created_at timestamptz, expires_at timestamptz, last_used_at timestamptz)
language plpgsql
stable security definer
set search_path to ''
as $function$
declare
  run constant uuid[] := app.deals_acting_as('broker');
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select k.id, k.name, k.environment, reaching.scopes, k.created_by, k.created_at, k.expires_at, k.last_used_at
    from public.deals d
    join public.api_keys k on k.brokerage_id = d.organization_id
    cross join lateral (select array(select s from unnest(k.scopes) s where s = any (app.deal_scopes())) as scopes) reaching
    where d.id = deal and (d.id = any (run) or d.organization_id = any (administered)) and k.environment = 'live'
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()) and reaching.scopes <> '{}'
      and app.is_key_in_force(k.id)
    order by k.created_at desc, k.id desc
    limit 100;
end
$function$;
