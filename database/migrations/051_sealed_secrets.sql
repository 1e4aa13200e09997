-- compatible: whoever asks for the columns that there were gets them.
--
-- The server encrypts authenticators' secrets for the row that they are in (server/secrets.ts), so it has to know whose they are,
-- and at its start which keys it needs.

drop function app.step_secret(bytea);
create function app.step_secret(step bytea) returns table (secret text, email text, user_id uuid)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select t.secret, u.email, u.id
    from vault.sign_in_steps s
    join public.users u on u.id = s.user_id
    join vault.totp t on t.user_id = s.user_id and t.confirmed_at is not null
    where s.digest = step and s.expires_at > app.now();
end
$$;
grant execute on function app.step_secret(bytea) to dealkeep_server;

-- The ids of the keys with which secrets are encrypted.
create function app.keys_of_secrets() returns text[]
language sql stable security definer set search_path = '' as $$
  select coalesce(array_agg(distinct split_part(s.secret, '.', 2)), '{}') from (
    select t.secret from vault.totp t
    union all select convert_from(c.secret, 'UTF8') from vault.cursor_secret c where substring(c.secret from 1 for 4) = '\x646b312e'
    union all select o.secret from vault.outbox o where o.sent_at is null and o.given_up_at is null
  ) s
  where s.secret like 'dk1.%'
$$;
grant execute on function app.keys_of_secrets() to dealkeep_server;
