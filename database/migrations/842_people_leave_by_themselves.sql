-- compatible: lets people leave whom old nodes answer with 403, and adds a kind of notification that old nodes leave out of their lists.

-- Nobody could leave by themselves: a participant of a deal had to ask a broker, and a member an admin, also when the brokerage barred them.
create policy people_leave on public.participants for update to dealkeep_server
  using (user_id = (select app.user_id()) and (select app.client_id()) is null
    and deal_id = any ((select app.deals_acting_as('broker', 'seller', 'buyer', 'advisor', 'viewer'))::uuid[]))
  with check (user_id = (select app.user_id()) and status = 'removed');

insert into app.notification_kinds select 'left', 225, k.delivery, k.security from app.notification_kinds k where k.kind = 'removed';
insert into vault.notification_choices (user_id, kind, delivery)
  select c.user_id, 'left', c.delivery from vault.notification_choices c where c.kind = 'removed';

-- The deals of a brokerage, not over, that would have no broker without this member.
create function app.open_deals_alone(of_brokerage uuid, of_member uuid) returns setof uuid
  language plpgsql stable set search_path = ''
as $$
begin
  return query
    select d.id from public.deals d
    join public.participants own on own.deal_id = d.id and own.user_id = of_member and own.role = 'broker' and own.status = 'active'
    where d.organization_id = of_brokerage and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
        where p.deal_id = d.id and p.user_id <> of_member and p.role = 'broker' and p.status = 'active');
end
$$;

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
  perform app.lock_parts(member, from_brokerage, successor);
  -- As it is now that nobody else leaves them.
  if not administers and exists (select from app.open_deals_alone(from_brokerage, member)) then
    perform app.refuse('only_broker', 'You are the only broker of a deal of this brokerage: ask an admin to invite another broker to it, or to remove you and choose who takes it over.');
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

CREATE OR REPLACE FUNCTION app.end_parts_of_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
begin
  if old.role = 'admin' then
    perform from public.brokerages b where b.id = new.brokerage_id for no key update;
  end if;
  perform app.lock_parts(new.user_id, new.brokerage_id);
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null,
      case when new.user_id = app.user_id() then '{"left": true}'::jsonb else '{}' end);
  end loop;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k
      where k.brokerage_id = new.brokerage_id and k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = new.user_id)
      order by k.id for no key update;
  end if;
  if leaves or old.role = 'admin' then
    perform app.turn_off_webhooks(new.user_id, new.brokerage_id, null);
  end if;
  if leaves then
    -- After the webhooks that may have been added with them. Whoever comes back is not given them again.
    update vault.api_key_digests d set valid_until = app.now()
      from public.api_keys k
      where d.issued_by = new.user_id and (d.valid_until is null or d.valid_until > app.now()) and k.id = d.key_id and k.brokerage_id = new.brokerage_id;
    update public.api_keys k set previous_last_four = null, previous_valid_until = null
      where k.brokerage_id = new.brokerage_id and k.previous_valid_until > app.now()
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = new.user_id)
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.valid_until > app.now());
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$function$;

