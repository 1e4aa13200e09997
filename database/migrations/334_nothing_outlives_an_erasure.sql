-- compatible: the same is answered but while people are erased.
--
-- An erasure deletes the sessions where all else ends them: what one of them began at that moment (a client, tools and deals for it, an API key, a link to the
-- calendar) took it for one that goes on, and outlived the person.

create or replace function app.session_goes_on() returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  session constant uuid := app.identity_part(6)::uuid;
begin
  perform from public.users u where u.id = app.user_id() for share;
  return session is null or exists (select from vault.sessions s where s.id = session and s.ended_at is null);
end
$$;
