-- compatible: nodes of the release before do not know this kind of notifications: the list tells of it in general words, and its mails wait for a newer node.

-- Whose sessions an admin ended found themselves signed out, and their assistants refused, with nothing in their trail and no notice of it.
insert into app.notification_kinds values ('sessions_ended', 1000, 'at_once', true);

create or replace function app.end_member_sessions(of_brokerage uuid, member uuid, address inet, request_id text) returns integer
  language plpgsql security definer set search_path = ''
as $$
declare
  person uuid;
  alive int;
  ended jsonb;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  select m.user_id into person from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active';
  if not found then
    return null;
  end if;
  perform app.check_recent_sign_in();
  select count(*) into alive from vault.live_sessions l where l.user_id = person;
  ended := jsonb_build_object('sessions', alive,
    'grants', (select count(*) from vault.token_families f where f.user_id = person and f.revoked_at is null and f.ends_at > app.now()),
    'calendar_links', (select count(*) from vault.calendar_links l where l.user_id = person));
  perform app.audit('member.end_sessions', member::text, 'done', of_brokerage, null, address, request_id, ended);
  -- Theirs alone, without the address of the admin.
  perform app.record(person, 'session.end', 'done', '{"by": "admin"}'::jsonb || ended, null, request_id);
  perform app.queue_event('sessions_ended', null, null, of_brokerage, app.user_id(), person);
  perform app.end_sessions_of(person);
  return alive;
end
$$;

-- The brokerages that the notices of this kind in a mail are about: notices of keys and of sessions that an admin ended.
create function app.brokerages_of_notices(mail uuid, of_kind text) returns jsonb
  language plpgsql stable security definer set search_path = ''
as $$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select jsonb_agg(jsonb_build_object('id', b.id, 'name', b.name) order by b.name, b.id)
    from public.brokerages b
    where b.id in (
      select coalesce(k.brokerage_id, case when n.kind = 'sessions_ended' then n.subject_id end)
      from vault.outbox o
      join vault.notifications n on n.id in (select i::uuid from jsonb_array_elements_text(o.facts -> 'notifications') i)
        and n.user_id = o.recipient_id and n.kind = of_kind and n.deal_id is null
        and app.person_could_open(n.user_id, n.subject, n.subject_id, null)
      left join public.api_keys k on n.subject = 'api_keys' and k.id = n.subject_id
      where o.id = brokerages_of_notices.mail and o.kind = 'notifications'));
end
$$;
grant execute on function app.brokerages_of_notices(uuid, text) to dealkeep_server;
