-- compatible: adds functions that old nodes do not call.

-- For admins: to whom the present token of a key was given, and which of its scopes it has through whoever may use it now; null where nobody may.
create function app.key_reach(key uuid) returns table (issued_by uuid, scopes_in_force text[])
  language plpgsql stable security definer set search_path = ''
as $$
begin
  return query
    select (select d.issued_by from vault.api_key_digests d where d.key_id = k.id order by d.issued_at desc, d.valid_until desc, d.digest limit 1),
      app.scopes_in_force(k.id)
    from public.api_keys k
    where k.id = key and k.brokerage_id = any (app.brokerages_as('admin')) and app.client_id() is null;
end
$$;
grant execute on function app.key_reach(uuid) to dealkeep_server;

-- The keys in use whose present token was given to this person, in one brokerage or all.
create function app.keys_held_by(person uuid, in_brokerage uuid) returns setof public.api_keys
  language plpgsql stable set search_path = ''
as $$
begin
  return query
    select k.* from public.api_keys k
    cross join lateral (
      select d.issued_by, d.valid_until from vault.api_key_digests d where d.key_id = k.id order by d.issued_at desc, d.valid_until desc, d.digest limit 1) present
    where k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = person)
      and (in_brokerage is null or k.brokerage_id = in_brokerage) and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now())
      and present.issued_by = person and (present.valid_until is null or present.valid_until > app.now());
end
$$;

-- For admins, before a member leaves or is an admin no longer: the keys in use whose present token is theirs, and the webhooks that are turned off with them
-- (app.turn_off_webhooks). A brokerage has at most some hundred of either.
create function app.integrations_of_member(by_brokerage uuid, by_member uuid) returns table (keys jsonb, webhooks jsonb)
  language plpgsql stable security definer set search_path = ''
as $$
begin
  if (by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null) is not true then
    return;
  end if;
  return query
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'scopes', k.scopes,
        'kept', app.scopes_of(k.scopes, null)) order by k.name, k.id), '[]') from (
        select a.id, a.name, a.scopes from app.keys_held_by(by_member, by_brokerage) a where app.is_key_in_force(a.id)
        order by a.name, a.id limit 500) k),
      (select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'url', w.url, 'description', w.description) order by w.url, w.id), '[]') from (
        select e.id, e.url, e.description from public.webhook_endpoints e
        where e.brokerage_id = by_brokerage and e.state = 'on' and e.id = any (array(
          select own.id from public.webhook_endpoints own where own.created_by = by_member
          union all
          select by_key.id from vault.api_key_digests d join public.webhook_endpoints by_key on by_key.key_id = d.key_id and by_key.created_by is null
            where d.issued_by = by_member and (d.valid_until is null or d.valid_until > app.now())))
        order by e.url, e.id limit 500) w);
end
$$;
grant execute on function app.integrations_of_member(uuid, uuid) to dealkeep_server;
