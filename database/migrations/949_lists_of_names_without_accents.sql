-- compatible: functions of the same names and parameters.
--
-- The brokerages that ask for a second factor, and the keys of a member who is removed, are sorted by name as other lists are: without case and accents.

CREATE OR REPLACE FUNCTION app.second_factor_owed()
 RETURNS TABLE(brokerage_id uuid, brokerage_name text, has_one boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query select b.id, b.name, app.has_second_factor(app.user_id()) from public.brokerages b
    where b.id = any (app.barred_in(app.identity())) order by app.folded(b.name), b.id;
end
$function$;

CREATE OR REPLACE FUNCTION app.integrations_of_member(by_brokerage uuid, by_member uuid)
 RETURNS TABLE(keys jsonb, webhooks jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null) is not true then
    return;
  end if;
  return query
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'scopes', k.scopes,
        'kept', app.scopes_of(k.scopes, null)) order by app.folded(k.name), k.id), '[]') from (
        select a.id, a.name, a.scopes from app.keys_held_by(by_member, by_brokerage) a where app.is_key_in_force(a.id)
        order by app.folded(a.name), a.id limit 500) k),
      (select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'url', w.url, 'description', w.description) order by w.url, w.id), '[]') from (
        select e.id, e.url, e.description from public.webhook_endpoints e
        where e.brokerage_id = by_brokerage and e.state = 'on' and e.id = any (array(
          select own.id from public.webhook_endpoints own where own.created_by = by_member
          union all
          select by_key.id from vault.api_key_digests d join public.webhook_endpoints by_key on by_key.key_id = d.key_id and by_key.created_by is null
            where d.issued_by = by_member and (d.valid_until is null or d.valid_until > app.now())))
        order by e.url, e.id limit 500) w);
end
$function$;
