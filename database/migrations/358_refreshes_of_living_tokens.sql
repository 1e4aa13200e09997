-- compatible: a function more.
--
-- Requests that refresh a token wait for a moment for those that came together with them. Whether there is anything to wait for is asked before.

create function app.is_refreshable(client_id uuid, presented bytea)
returns boolean
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return exists (select from vault.refresh_tokens t join vault.token_families f on f.id = t.family_id
    where t.digest = presented and f.client_id = is_refreshable.client_id and f.revoked_at is null);
end
$$;
grant execute on function app.is_refreshable(uuid, bytea) to dealkeep_server;
