-- compatible: the release before removes people by the same trigger, and tells of it as of any removal.
--
-- Who advised somebody that was removed from a deal lost it by what the lists leave out, and their own part stayed active. Invited again and joined, also in another role, the advised brought
-- them back: who had advised a buyer saw with the seller what every other buyer offered, though nobody had invited them. A successor who only looked at a deal made those who advised them
-- the broker's. Advisors now leave a deal with whom they advise, and where these get another role on it, as if they had been removed themselves, and come back by an invitation of their own.
--
-- They are locked before the deal, as by whoever accepts an invitation: principals first, then advisors, each by their ids.

create function app.remove_advisors() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  advisor uuid;
begin
  for advisor in
    update public.participants p set status = 'removed' where p.advises = new.id and p.status <> 'removed' returning p.id
  loop
    -- Who declines removes nobody, and the deal's people do not learn whose account it was.
    if old.status = 'invited' and new.user_id = app.user_id() then
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
        values (new.brokerage_id, new.deal_id, 'participant.remove', advisor::text, 'done');
    else
      perform app.audit('participant.remove', advisor::text, 'done', null, new.deal_id, null, null, '{}');
    end if;
  end loop;
  return null;
end
$$;
revoke execute on function app.remove_advisors() from public;

create trigger remove_advisors after update of role, status on public.participants for each row
when (old.role <> new.role or (new.status = 'removed' and old.status <> 'removed'))
execute function app.remove_advisors();

create or replace function app.lock_deal_of_change()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if tg_table_name = 'participants' then
    if new.role <> old.role or (new.status = 'removed' and old.status <> 'removed') then
      -- Those who leave with them (app.remove_advisors), before the deal, as whoever answers an invitation takes it.
      perform from public.participants p where p.advises = new.id order by p.id for no key update;
    end if;
  end if;
  if tg_table_name = 'participants' and new.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for no key update;
  elsif old.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for share;
  end if;
  return new;
end
$$;

create or replace function app.lock_parts(person uuid, of_brokerage uuid default null, successor uuid default null)
returns void
language plpgsql
security definer
set search_path = ''
as $$
declare
  part record;
begin
  -- Theirs, and those of who leaves with them (app.remove_advisors).
  perform from public.participants p
    where p.user_id = person and (of_brokerage is null or p.brokerage_id = of_brokerage)
      or p.user_id = successor and p.brokerage_id = of_brokerage and exists (
        select from public.participants o where o.deal_id = p.deal_id and o.user_id = person and o.role = 'broker' and o.status = 'active')
      or p.advises = any (array(select o.id from public.participants o
        where o.user_id in (person, successor) and (of_brokerage is null or o.brokerage_id = of_brokerage)))
    order by p.advises is not null, p.id for no key update;
  for part in
    select p.deal_id, bool_or(p.role = 'broker') as runs from public.participants p
    where (p.user_id = person or p.advises = any (array(select o.id from public.participants o where o.user_id = person)))
      and p.status = 'active' and (of_brokerage is null or p.brokerage_id = of_brokerage)
    group by p.deal_id order by p.deal_id
  loop
    -- Brokers leave a deal one after the other, or two who leave at once would each count on the other. Who only takes part leaves it while others write on it.
    if part.runs then
      perform from public.deals d where d.id = part.deal_id for no key update;
    else
      perform from public.deals d where d.id = part.deal_id for share;
    end if;
  end loop;
end
$$;

create or replace function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid)
returns table(participant_id uuid)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  sandbox uuid;
  address text := lower(invite_to_deal.email);
  invited uuid;
  part record;
begin
  select b.id into sandbox from public.deals d join public.brokerages b on b.id = d.organization_id and b.sandbox_of is not null where d.id = invite_to_deal.deal_id;
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  if sandbox is not null then
    address := coalesce((select u.email from public.users u where u.email = address and u.sandbox_id = sandbox), app.sandbox_address(sandbox, md5(address)));
  elsif address like '%.sandbox.invalid' then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  invited := app.account_at(address, invite_to_deal.name, sandbox);
  -- Before the deal, as whoever answers an invitation takes it.
  select p.id, p.role, p.status into part from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited for no key update;
  if part.status = 'active' then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  if part.role <> invite_to_deal.role then
    perform from public.participants p where p.advises = part.id order by p.id for no key update;
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      lower(invite_to_deal.email))
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
      where p.status <> 'active'
    returning p.id;
  if not found then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
end
$$;

-- Those who stayed behind.
update public.participants a set status = 'removed'
  from public.participants p
  where p.id = a.advises and p.status = 'removed' and a.status <> 'removed';
