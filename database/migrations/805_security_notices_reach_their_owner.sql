-- compatible: a function's content only.
--
-- Mails about the security of an account were dropped when the notification had been read meanwhile or the address of the account had changed, as by whoever they
-- warn of. They are sent in any case, to the address at the time of queueing. Other notifications go to where their reader is now.

create or replace function app.notification_mail(mail uuid)
  returns table(name text, daily boolean, kind text, deal_id uuid, deal_title text, count integer, token text)
  language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  sent vault.outbox;
  reader public.users;
  of_day boolean;
  one vault.notifications;
  of_account uuid[];
  others uuid[];
  left_over uuid[] := '{}';
  kinds text[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  select o.* into sent from vault.outbox o where o.id = mail and o.kind = 'notifications' and o.sent_at is null;
  select u.* into reader from public.users u where u.id = sent.recipient_id and u.suspended_at is null;
  if reader.id is null then
    return;
  end if;
  if reader.email <> sent.recipient then
    -- Who changed the address may be the one whom a notice about security warns of.
    select coalesce(array_agg(n.id order by n.at, n.id) filter (where k.security), '{}'), array_agg(n.id order by n.at, n.id) filter (where not k.security)
      into of_account, others
      from vault.notifications n join app.notification_kinds k on k.kind = n.kind
      where n.id in (select i::uuid from jsonb_array_elements_text(sent.facts -> 'notifications') i) and n.user_id = reader.id;
    if others is not null then
      perform app.queue_mail('notifications', reader.email, reader.id, sent.brokerage_id, sent.deal_id, false,
        sent.facts || jsonb_build_object('notifications', others), null, null);
      update vault.outbox o set facts = o.facts || jsonb_build_object('notifications', of_account) where o.id = mail returning o.* into sent;
    end if;
  end if;
  of_day := (sent.facts ->> 'daily')::boolean;
  for one in
    select n.* from vault.notifications n
    where n.id in (select i::uuid from jsonb_array_elements_text(sent.facts -> 'notifications') i)
      and n.user_id = reader.id
  loop
    -- Whoever has got into the account can also read what warns of it, and choose fewer mails: what was chosen at the time of queueing counts.
    if (select k.security from app.notification_kinds k where k.kind = one.kind)
      or one.read_at is null and app.delivery_of(reader.id, one.kind, one.deal_id) in ('daily', 'at_once') and app.still_holds(one)
        and app.person_could_open(reader.id, one.subject, one.subject_id, one.deal_id)
    then
      left_over := left_over || one.id;
    end if;
  end loop;
  select array_agg(distinct n.kind) into kinds from vault.notifications n where n.id = any (left_over);
  return query
    select reader.name, of_day, n.kind, n.deal_id, d.title, count(*)::int,
      -- Nobody at the address of before chooses for the reader.
      case when reader.email = sent.recipient then app.unsubscribe_token(reader.id, case when of_day then '{daily}' else kinds end) end
    from vault.notifications n
    join app.notification_kinds k on k.kind = n.kind
    left join public.deals d on d.id = n.deal_id
    where n.id = any (left_over)
    group by n.kind, n.deal_id, d.title, k.place
    order by n.deal_id is null, max(max(n.at)) over (partition by n.deal_id) desc, n.deal_id, k.place;
end
$$;
