-- compatible: functions that old nodes do not call.
--
-- An invitation to a brokerage was seen in its mail alone, could not be declined, and looked as if it waited long after its link had expired.

-- Until when the link of this invitation works; for admins of the brokerage. A past time when it has expired, whose row may be deleted by then.
create function app.member_link_until(of_brokerage uuid, person uuid) returns timestamptz
  language plpgsql stable security definer set search_path = ''
as $$
begin
  if (of_brokerage = any (app.brokerages_as('admin'))) is not true then
    return null;
  end if;
  return (
    select coalesce(
      (select max(i.expires_at) from vault.invitations i
        where i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null), m.updated_at)
    from public.members m where m.brokerage_id = of_brokerage and m.person_id = person and m.status = 'invited');
end
$$;
grant execute on function app.member_link_until(uuid, uuid) to dealkeep_server;

-- The same on a deal; for its brokers and the admins of its brokerage.
create function app.participant_link_until(participation uuid) returns timestamptz
  language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select coalesce(
      (select max(i.expires_at) from vault.invitations i
        where i.user_id = p.user_id and i.participant_id = p.id and i.used_at is null), p.updated_at)
    from public.participants p join public.deals d on d.id = p.deal_id
    where p.id = participation and p.status = 'invited'
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))));
end
$$;
grant execute on function app.participant_link_until(uuid) to dealkeep_server;

-- The brokerages that the caller is invited to, as long as the link works, the one that expires last first.
create function app.member_invitations() returns table(brokerage_id uuid, brokerage_name text, role text, expires_at timestamptz)
  language plpgsql stable security definer set search_path = ''
as $$
begin
  return query
    select b.id, b.name, m.role, max(i.expires_at)
    from public.members m
    join public.brokerages b on b.id = m.brokerage_id
    join vault.invitations i on i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null and i.expires_at > app.now()
    where m.user_id = app.user_id() and m.status = 'invited' and not app.address_in_doubt(b.id)
      and not exists (select from vault.deletions_begun g where g.brokerage_id = b.id)
    group by b.id, b.name, m.role
    order by 4 desc, 1 desc limit 20;
end
$$;
grant execute on function app.member_invitations() to dealkeep_server;

-- The caller accepts or declines such an invitation; false: there is none. Accepting does what the link does (app.use_invitation).
create function app.answer_member_invitation(of_brokerage uuid, accepts boolean, address inet, request_id text) returns boolean
  language plpgsql security definer set search_path = ''
as $$
declare
  me constant uuid := app.user_id();
  factor_required boolean;
  invited record;
begin
  if app.client_id() is not null or me is null then
    return false;
  end if;
  select b.requires_second_factor into factor_required from public.brokerages b where b.id = of_brokerage for share;
  if factor_required then
    perform from public.users u where u.id = me for no key update;
  end if;
  perform from public.members m where m.brokerage_id = of_brokerage and m.user_id = me for no key update;
  if not exists (select from app.member_invitations() i where i.brokerage_id = of_brokerage) then
    return false;
  end if;
  update public.members m set status = case when accepts then 'active' else 'removed' end
    where m.brokerage_id = of_brokerage and m.user_id = me and m.status = 'invited'
    returning m.person_id, m.joined_at is not null as had_joined into invited;
  delete from vault.invitations i where i.brokerage_id = of_brokerage and i.user_id = me and i.used_at is null;
  if accepts and factor_required then
    perform app.end_grants_without_factor(array[me], request_id);
  end if;
  if accepts or invited.had_joined then
    insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
      values (of_brokerage, me, case when accepts then 'invitation.accept' else 'invitation.decline' end, 'done', address, request_id);
  else
    -- As in app.answer_deal_invitation(): the brokerage does not learn whose account it was.
    perform app.record(me, 'invitation.decline', 'done', null, address, request_id);
    insert into public.audit_records (brokerage_id, action, subject_id, outcome)
      values (of_brokerage, 'invitation.decline', invited.person_id, 'done');
  end if;
  return true;
end
$$;
grant execute on function app.answer_member_invitation(uuid, boolean, inet, text) to dealkeep_server;
