-- compatible: answers the same.
--
-- A link to a new password that is asked for while the account changes its address is not mailed to the address that it had before. It was made after the change had taken back
-- all others, and opened the account to whoever reads the mailbox that was given up.

create or replace function app.ask_reset(given_email text, token bytea, address inet, request_id text)
returns table(email text, name text)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  person public.users;
  asker constant text := case family(address) when 6 then host(network(set_masklen(address, 64))) else coalesce(host(address), '') end;
begin
  -- The account first, as whoever changes its address does: waited for, the address is looked at again, and may be theirs no more.
  select u.* into person from public.users u
    where u.email = lower(given_email) and u.suspended_at is null
      and 5 > (select count(*) from vault.password_resets r where r.user_id = u.id and r.expires_at > app.now())
    for no key update;
  if not found then
    return;
  end if;
  -- Nobody is told: it would show that there is an account.
  if not app.count_mail('reset by ' || asker, 'hour', 60) or not app.count_mail('reset by ' || asker, 'day', 200)
    or not app.count_mail('reset to ' || person.id, 'hour', 10) or not app.count_mail('reset to ' || person.id, 'day', 20)
  then
    return;
  end if;
  delete from vault.password_resets r where r.user_id = person.id and r.expires_at <= app.now();
  insert into vault.password_resets (digest, user_id) values (token, person.id);
  perform app.record(person.id, 'password.reset_ask', 'done', null, address, request_id);
  return query select person.email, person.name;
end
$$;
