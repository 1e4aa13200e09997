-- compatible: withdraws invitations of those who leave, which old nodes do through the same functions.

-- Whoever left could be let back in by what they had sent before: an invitation outlived the place of who made it.
create function app.deal_invitations_made(person uuid, of_brokerage uuid) returns setof uuid
  language plpgsql stable set search_path = ''
as $$
begin
  -- The latest one counts: an invitation that somebody else has sent again is theirs.
  return query
    with made as materialized (
      select r.subject_id::uuid as id, max(r.at) as at from public.audit_records r
      where r.user_id = person and r.action not like 'tool:%' and r.action collate "C" = 'participant.invite' and r.outcome = 'done'
        and (of_brokerage is null or r.brokerage_id = of_brokerage)
      group by r.subject_id)
    select p.id from made m
    cross join lateral (select q.id, q.deal_id from public.participants q where q.id = m.id and q.status = 'invited' offset 0) p
    where not exists (select from public.audit_records l
      where l.deal_id = p.deal_id and l.noted and l.at > m.at and l.action = 'participant.invite' and l.subject_id = p.id::text
        and l.user_id is distinct from person);
end
$$;

create function app.member_invitations_made(person uuid, of_brokerage uuid) returns setof uuid
  language plpgsql stable set search_path = ''
as $$
begin
  return query
    with made as materialized (
      select r.subject_id as id, max(r.at) as at from public.audit_records r
      where r.user_id = person and r.action not like 'tool:%' and r.action collate "C" = 'member.invite' and r.outcome = 'done'
        and r.brokerage_id = of_brokerage
      group by r.subject_id)
    select i.user_id from public.members i join made m on m.id = i.person_id::text
    where i.brokerage_id = of_brokerage and i.status = 'invited'
      and not exists (select from public.audit_records l
        where l.brokerage_id = of_brokerage and l.action not like 'tool:%' and l.action collate "C" = 'member.invite' and l.at > m.at
          and l.subject_id = m.id and l.user_id is distinct from person);
end
$$;

CREATE OR REPLACE FUNCTION app.lock_parts(person uuid, of_brokerage uuid DEFAULT NULL::uuid, successor uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- Withdrawn with them (app.end_parts_of_member).
  made constant uuid[] := array(select app.deal_invitations_made(person, of_brokerage));
  part record;
begin
  -- Theirs, and those of who leaves with them (app.remove_advisors).
  perform from public.participants p
    where p.user_id = person and (of_brokerage is null or p.brokerage_id = of_brokerage)
      or p.user_id = successor and p.brokerage_id = of_brokerage and exists (
        select from public.participants o where o.deal_id = p.deal_id and o.user_id = person and o.role = 'broker' and o.status = 'active')
      or p.advises = any (array(select o.id from public.participants o
        where o.user_id in (person, successor) and (of_brokerage is null or o.brokerage_id = of_brokerage)))
      or p.id = any (made) or p.advises = any (made)
    order by p.advises is not null, p.id for no key update;
  for part in
    select p.deal_id, bool_or(p.role in ('broker', 'seller')) as runs from public.participants p
    where (p.user_id = person or p.advises = any (made) or p.advises = any (array(select o.id from public.participants o where o.user_id = person)))
      and p.status = 'active' and (of_brokerage is null or p.brokerage_id = of_brokerage)
    group by p.deal_id order by p.deal_id
  loop
    -- Brokers and sellers leave a deal one after the other, or two who leave at once would each count on the other. Others leave it while people write on it.
    if part.runs then
      perform from public.deals d where d.id = part.deal_id for no key update;
    else
      perform from public.deals d where d.id = part.deal_id for share;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.remove_member(from_brokerage uuid, member uuid, successor uuid, address inet, request_id text)
 RETURNS TABLE(deals jsonb, handed_over boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  administers constant boolean := from_brokerage = any (app.brokerages_as('admin'));
  -- Also a member whom the brokerage bars until they use a second factor.
  leaves constant boolean := coalesce(member = app.user_id(), false) and exists (
    select from public.members m where m.brokerage_id = from_brokerage and m.user_id = member and m.status = 'active');
  alone jsonb;
  deal uuid;
begin
  if from_brokerage is null or app.client_id() is not null or (administers or leaves and successor is null) is not true then
    return;
  end if;
  -- Whoever makes the successor a broker needs their account, and an erasure has it first.
  perform from public.users u where u.id = successor for share;
  perform from public.members m
    where m.brokerage_id = from_brokerage and (m.person_id = member or m.user_id = successor) order by m.user_id for update;
  if not exists (select from public.members m where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed') then
    return;
  end if;
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where b.id = from_brokerage and m.person_id = member and m.role = 'admin' and m.status = 'active' for no key update of b;
  -- Withdrawn with them (app.end_parts_of_member): before parts of deals, as whoever invites to a deal has the member first.
  perform from public.members m
    where m.brokerage_id = from_brokerage and m.user_id = any (array(select app.member_invitations_made(member, from_brokerage)))
    order by m.user_id for update;
  perform app.lock_parts(member, from_brokerage, successor);
  -- As it is now that nobody else leaves them.
  if not administers and exists (select from app.open_deals_alone(from_brokerage, member)) then
    perform app.refuse('only_broker', 'On a deal of this brokerage you are its only broker: ask an admin to invite another broker to it, or to remove you and choose who takes it over.');
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'title', a.title)), '[]') into alone
    from app.deals_run_alone(from_brokerage, member) a;
  update public.members m set status = 'removed'
    where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed';
  perform app.audit('member.remove', member::text, 'done', from_brokerage, null, address, request_id,
    case when jsonb_array_length(alone) = 0 then '{}'::jsonb else jsonb_build_object('deals', jsonb_array_length(alone)) end
      || case when leaves then '{"left": true}'::jsonb else '{}'::jsonb end);
  if successor is not null then
    perform from public.members m join public.users u on u.id = m.user_id
      where m.brokerage_id = from_brokerage and m.user_id = successor and m.status = 'active' and m.role in ('admin', 'broker')
        and u.suspended_at is null for update of m;
    if not found then
      perform app.refuse('not_a_broker', 'The successor is an active admin or broker of the brokerage: choose one.');
    end if;
    for deal in select (a.deal ->> 'id')::uuid from jsonb_array_elements(alone) a (deal) loop
      perform app.audit('deal.hand_over', app.appoint_broker(deal, successor)::text, 'done', null, deal, address, request_id, '{}');
    end loop;
  end if;
  return query select alone, successor is not null;
end
$function$;

-- For the admin who is about to remove a member: which of their deals have brokers from elsewhere, who stay, and how many invitations end.
create function app.left_by_member(by_brokerage uuid, by_member uuid)
  returns table (outsiders jsonb, outsider_count int, deal_invitations int, member_invitations int)
  language plpgsql stable security definer set search_path = ''
as $$
begin
  if (by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null) is not true then
    return;
  end if;
  return query
    with others as materialized (
      select d.id, d.title, d.created_at, p.id as participant_id, u.name, u.email
      from public.deals d
      join public.participants own on own.deal_id = d.id and own.user_id = by_member and own.role = 'broker' and own.status = 'active'
      join public.participants p on p.deal_id = d.id and p.user_id <> by_member and p.role = 'broker' and p.status = 'active'
      join public.users u on u.id = p.user_id
      where d.organization_id = by_brokerage
        and not exists (select from public.members m where m.brokerage_id = by_brokerage and m.user_id = p.user_id and m.status = 'active'))
    select
      (select coalesce(jsonb_agg(jsonb_build_object('deal_id', o.id, 'title', o.title, 'name', o.name, 'email', o.email)
          order by o.created_at desc, o.id desc, o.participant_id), '[]')
        from (select * from others order by created_at desc, id desc, participant_id limit 100) o),
      (select count(*)::int from others),
      (select count(*)::int from app.deal_invitations_made(by_member, by_brokerage)),
      (select count(*)::int from app.member_invitations_made(by_member, by_brokerage));
end
$$;
grant execute on function app.left_by_member(uuid, uuid) to dealkeep_server;
