-- compatible: the function takes and refuses what it did, but for names of places that are written in capitals.
-- pg_timezone_names reads some 600 files to answer, 18 ms each time that somebody chose a zone. A place is read by its own file. What has a figure in it may be
-- an offset, which PostgreSQL takes for a zone, too, and what has no slash an abbreviation: they are looked for in the list.

create or replace function app.is_time_zone(zone text) returns boolean
  language plpgsql stable parallel safe set search_path = '' as $$
begin
  if zone !~ '^[A-Z][A-Za-z_-]*(/[A-Z][A-Za-z_-]*)+$' then
    return zone = 'UTC' or exists (select from pg_catalog.pg_timezone_names z where z.name = zone);
  end if;
  perform pg_catalog.timezone(zone, timestamptz 'epoch');
  return true;
exception
  when invalid_parameter_value then return false;
end $$;

create or replace function app.set_notification_settings(zone text, hour integer) returns void
  language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to choose what you hear of.');
  end if;
  if not app.is_time_zone(zone) then
    perform app.refuse_value('time_zone', 'Choose a time zone from the list.');
  end if;
  insert into vault.notification_settings (user_id, time_zone, digest_hour) values (app.user_id(), zone, hour)
    on conflict (user_id) do update set time_zone = excluded.time_zone, digest_hour = excluded.digest_hour;
  update vault.notifications n set mail_due_at = app.next_digest(app.user_id())
    where n.user_id = app.user_id() and n.mail = 'daily' and n.mail_due_at is not null;
end $$;
