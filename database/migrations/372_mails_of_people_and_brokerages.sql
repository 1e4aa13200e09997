-- compatible: functions more.
--
-- Where no mail server is configured mails are files, named by the ids of their rows in the outbox. Those of a person who is erased and of a brokerage that is deleted were found by the names of these,
-- which everybody chooses freely: whoever was named "Hello" took the invitations and links of all others along. They are found by their rows now, before these are deleted.

-- The mails which a person got or caused. For the operator, and for the functions of those who may.
create function app.mails_of_person(person uuid)
returns setof uuid
language sql
stable
security definer
set search_path = ''
as $$
  select o.id from vault.outbox o
  where o.recipient_id = person or o.caused_by = person or o.recipient = (select u.email from public.users u where u.id = person)
$$;

-- The same of the session's owner, who has just signed in; no row: the session is over.
create function app.mails_of_oneself(session bytea)
returns setof uuid
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return query select m.id from app.recent_session(session) r cross join lateral app.mails_of_person(r.user_id) m (id);
end
$$;
grant execute on function app.mails_of_oneself(bytea) to dealkeep_server;

-- Which of these mails were sent in the name of a brokerage whose time has come and that nothing holds, or of one of its deals. For the scheduled job that deletes it; nobody has entered.
create function app.mails_of_deleted_brokerage(of_brokerage uuid, among uuid[])
returns setof uuid
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Brokerages are deleted by a scheduled job.');
  end if;
  if among = '{}' or not exists (select from vault.brokerage_deletions d where d.brokerage_id = of_brokerage and d.due_at <= app.now())
    or exists (select from app.hold_on_brokerage(of_brokerage))
  then
    return;
  end if;
  return query
    select o.id from vault.outbox o
    where o.id = any (among)
      and (o.brokerage_id = of_brokerage or exists (select from public.deals l where l.id = o.deal_id and l.organization_id = of_brokerage));
end
$$;
grant execute on function app.mails_of_deleted_brokerage(uuid, uuid[]) to dealkeep_server;
