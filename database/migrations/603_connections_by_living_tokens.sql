-- compatible: a function that reads less for the same answer.
--
-- Whether a grant has a refresh token that still works was asked once for each of its scopes, each time among all that it ever had: a client that refreshes often has a hundred thousand.

CREATE OR REPLACE FUNCTION app.connections()
 RETURNS TABLE(client_id uuid, scopes text[], connected_at timestamp with time zone, last_used_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select f.client_id, array_agg(distinct scope order by scope), min(f.consented_at), max(f.last_used_at)
    from (
      select l.client_id, l.scopes, l.consented_at, l.last_used_at from vault.token_families l
      where l.user_id = app.user_id() and l.revoked_at is null and l.ends_at > app.now()
        and exists (select from vault.refresh_tokens t
          where t.family_id = l.id and t.consumed_at is null and t.expires_at > app.now())
      offset 0) f, unnest(f.scopes) scope
    group by f.client_id;
end
$function$;
