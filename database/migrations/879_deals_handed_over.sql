-- compatible: functions that old nodes do not call, and what one of them counts.
--
-- The deals of a member who is ill or on leave went to somebody else only by removing the member, or deal by deal by invitations that wait for an answer.

-- The open deals that a member of the brokerage runs, newest first, at most that many: whether another member of it runs the deal too, and the number of all of
-- them. For admins.
create function app.deals_run_by(of_brokerage uuid, member uuid, most integer)
  returns table(id uuid, title text, alone boolean, number_of_all integer)
  language plpgsql stable security definer set search_path = ''
as $$
begin
  return query
    with run as (
      select o.deal_id, o.title, o.created_at from vault.deals_of_people o
      where o.user_id = member and o.organization_id = of_brokerage and o.role = 'broker' and o.state not in ('closed', 'withdrawn')
        and of_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null),
    newest as (select r.* from run r order by r.created_at desc, r.deal_id desc limit most)
    select n.deal_id, n.title,
      not exists (select from public.participants p
        join public.members m on m.user_id = p.user_id and m.brokerage_id = of_brokerage and m.status = 'active'
        join public.users u on u.id = p.user_id and u.suspended_at is null
        where p.deal_id = n.deal_id and p.user_id <> member and p.role = 'broker' and p.status = 'active'),
      (select count(*)::integer from run)
    from newest n order by n.created_at desc, n.deal_id desc;
end
$$;
grant execute on function app.deals_run_by(uuid, uuid, integer) to dealkeep_server;

-- Makes the successor a broker of open deals that the member runs: of all, of those without another broker ('alone'), or of the chosen ones. The member keeps
-- their part, or leaves these deals. For admins. Returns the number of these deals; null: nobody of that id is an active member of the caller's brokerage.
create function app.hand_over_deals(of_brokerage uuid, member uuid, successor uuid, which text, chosen uuid[], leaves boolean, address inet, request_id text)
  returns integer
  language plpgsql security definer set search_path = ''
as $$
declare
  handed_over integer := 0;
  deal uuid;
  own uuid;
begin
  if app.client_id() is not null or (of_brokerage = any (app.brokerages_as('admin'))) is not true then
    return null;
  end if;
  -- In the order of app.remove_member().
  perform from public.users u where u.id = successor for share;
  perform from public.members m
    where m.brokerage_id = of_brokerage and m.user_id in (member, successor) order by m.user_id for no key update;
  if not exists (select from public.members m where m.brokerage_id = of_brokerage and m.user_id = member and m.status = 'active') then
    return null;
  end if;
  if successor = member or not exists (
    select from public.members m join public.users u on u.id = m.user_id and u.suspended_at is null
    where m.brokerage_id = of_brokerage and m.user_id = successor and m.status = 'active' and m.role in ('admin', 'broker'))
  then
    perform app.refuse('not_a_broker', 'The successor is another active admin or broker of the brokerage: choose one.');
  end if;
  if which = 'chosen' then
    perform from public.participants p
      where p.deal_id = any (chosen) and p.brokerage_id = of_brokerage
        and (p.user_id in (member, successor) or p.advises = any (array(
          select o.id from public.participants o where o.deal_id = any (chosen) and o.user_id in (member, successor))))
      order by p.advises is not null, p.id for no key update;
    perform from public.deals d where d.id = any (chosen) and d.organization_id = of_brokerage order by d.id for no key update;
  else
    -- Whoever loses their role next is removed from deals by app.end_parts_of_member(), which locks the brokerage of an admin, and whom they invited to it, before
    -- their deals.
    perform from public.brokerages b join public.members m on m.brokerage_id = b.id
      where b.id = of_brokerage and m.user_id = member and m.role = 'admin' for no key update of b;
    perform from public.members m
      where m.brokerage_id = of_brokerage and m.user_id = any (array(select app.member_invitations_made(member, of_brokerage)))
      order by m.user_id for update;
    perform app.lock_parts(member, of_brokerage, successor);
  end if;
  for deal, own in
    select d.id, p.id from public.participants p join public.deals d on d.id = p.deal_id
    where p.user_id = member and p.role = 'broker' and p.status = 'active' and d.organization_id = of_brokerage and d.state not in ('closed', 'withdrawn')
      and case which
        when 'all' then true
        when 'alone' then d.id in (select a.id from app.deals_run_alone(of_brokerage, member) a)
        else d.id = any (chosen) end
    order by d.id
  loop
    if not exists (select from public.participants p
      where p.deal_id = deal and p.user_id = successor and p.role = 'broker' and p.status = 'active')
    then
      perform app.audit('deal.hand_over', app.appoint_broker(deal, successor)::text, 'done', null, deal, address, request_id, '{}');
    end if;
    if leaves then
      update public.participants p set status = 'removed' where p.id = own;
      perform app.audit('participant.remove', own::text, 'done', null, deal, address, request_id,
        case when member = app.user_id() then '{"left": true}'::jsonb else '{}' end);
    end if;
    handed_over := handed_over + 1;
  end loop;
  return handed_over;
end
$$;
grant execute on function app.hand_over_deals(uuid, uuid, uuid, text, uuid[], boolean, inet, text) to dealkeep_server;

create or replace function app.count_mail_to(sender uuid, brokerage uuid, mailbox text, or_link boolean)
  returns void
  language plpgsql security definer set search_path = '' as $$
declare
  address constant text := app.mailbox_of(mailbox);
  -- Whoever enters addresses as new ones of their account acts for no brokerage, and takes nothing from what brokerages may send there.
  total constant text := case when brokerage is null then 'change to ' else 'to ' end;
  again constant text := 'try again after %s' || case when or_link then ', or create a link and pass it on.' else '.' end;
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse_mail('minute', 'You have sent 20 e-mails within a minute: continue in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'hour', 60) then
    perform app.refuse_mail('hour', 'You have sent 60 e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse_mail('day', 'You have sent 100 e-mails today: ' || again);
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse_mail('day', 'Your brokerage has sent 500 e-mails today: ' || again);
  end if;
  -- Colleagues invite each other to many deals a day. Somebody who has not proven the mailbox may have entered the address of a stranger.
  if brokerage is not null
    and exists (select from public.members m where m.brokerage_id = count_mail_to.brokerage and m.user_id = sender and m.status = 'active')
    and exists (select from public.users u
      join public.members m on m.user_id = u.id and m.brokerage_id = count_mail_to.brokerage and m.status = 'active'
      join vault.passwords w on w.user_id = u.id and w.address_proven_at is not null
      where u.email = lower(mailbox))
  then
    return;
  end if;
  if not app.count_mail(total || address, 'hour', 10) then
    perform app.refuse_mail('hour', 'This address was sent many e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || address, 'day', 5)
    or not app.count_mail(total || address, 'day', 20)
  then
    perform app.refuse_mail('day', 'This address was sent many e-mails today: ' || again);
  end if;
end
$$;
