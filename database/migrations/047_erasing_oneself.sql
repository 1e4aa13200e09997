-- compatible: two functions are added.
-- People take their data along and erase themselves in the settings.

-- Whoever is signed in, and was so a moment ago, erases themself. Null: the session is over.
create function app.erase_oneself(session bytea, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  if not found then
    return null;
  end if;
  return app.erase_person(this.user_id, 'oneself', erase_oneself.request_id);
end
$$;
grant execute on function app.erase_oneself(bytea, text) to dealkeep_server;

-- The data of whoever is signed in, and was so a moment ago. Null: the session is over.
create function app.own_data(session bytea, address inet, request_id text) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  if not found then
    return null;
  end if;
  perform app.record(this.user_id, 'person.export', 'done', '{"by": "oneself"}', address, request_id);
  return app.person_data(this.user_id, false);
end
$$;
grant execute on function app.own_data(bytea, inet, text) to dealkeep_server;
