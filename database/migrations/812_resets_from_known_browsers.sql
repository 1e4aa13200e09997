-- compatible: a parameter more, which comes last and has a default.
--
-- Anybody could use up the links to a new password that a mailbox may get in a day: those that are asked for in a browser in which the account was signed in before
-- are counted apart, as failed sign-ins are.

drop function app.ask_reset(text, bytea, inet, text);
create function app.ask_reset(given_email text, token bytea, address inet, request_id text, device bytea default null)
  returns table(email text, name text)
  language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
  known boolean;
  asker constant text := case family(address) when 6 then host(network(set_masklen(address, 64))) else coalesce(host(address), '') end;
begin
  -- The account first, as whoever changes its address does: waited for, the address is looked at again, and may be theirs no more.
  select u.* into person from public.users u
    where u.email = lower(given_email) and u.suspended_at is null
      and case when app.is_known_device(u.id, device) then 10 else 5 end > (select count(*) from vault.password_resets r where r.user_id = u.id and r.expires_at > app.now())
    for no key update;
  if not found then
    return;
  end if;
  -- Whoever asks again and again for somebody else leaves them what they ask for in a browser of their own.
  known := app.is_known_device(person.id, device);
  -- Nobody is told: it would show that there is an account.
  if not app.count_mail('reset by ' || asker, 'hour', 60) or not app.count_mail('reset by ' || asker, 'day', 200)
    or not app.count_mail(case when known then 'known reset to ' else 'reset to ' end || person.id, 'hour', 10)
    or not app.count_mail(case when known then 'known reset to ' else 'reset to ' end || person.id, 'day', 20)
  then
    return;
  end if;
  delete from vault.password_resets r where r.user_id = person.id and r.expires_at <= app.now();
  insert into vault.password_resets (digest, user_id) values (token, person.id);
  perform app.record(person.id, 'password.reset_ask', 'done', null, address, request_id);
  return query select person.email, person.name;
end
$$;
grant execute on function app.ask_reset(text, bytea, inet, text, bytea) to dealkeep_server;
