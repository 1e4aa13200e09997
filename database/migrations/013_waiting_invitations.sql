-- Whom an invitation waits for inside the application, and what an invitation tells of other deals.

-- Whether the caller's account could be a stranger's to this brokerage: its password was chosen with a link that did not
-- come by mail, nobody has shown since that the mailbox is theirs, and no admin of the brokerage has made them a member.
create function app.address_in_doubt(brokerage uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.passwords w where w.user_id = app.user_id() and w.address_proven_at is null)
    and not brokerage = any (app.brokerages_as('admin', 'broker', 'staff'));
end
$$;

-- Invitations that wait for the caller: no more of the deal than they need to answer. Any broker may pass a link on, and
-- with it somebody else's account can be opened: such an account learns of invitations by their links alone.
create or replace function app.deal_invitations()
returns table (participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamptz)
language sql stable security definer set search_path = '' as $$
  select p.id, p.role, b.name, d.title, p.updated_at
  from public.participants p
  join public.deals d on d.id = p.deal_id
  join public.brokerages b on b.id = d.organization_id
  where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)
  order by p.updated_at desc
$$;

-- The caller joins a deal that they were invited to, or declines; the deal, or null when no such invitation waits for them.
create or replace function app.answer_deal_invitation(participation uuid, accepts boolean, address inet, request_id text)
returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  answered uuid;
begin
  if app.client_id() is not null then
    return null;
  end if;
  update public.participants p set status = case when accepts then 'active' else 'removed' end
    from public.deals d
    where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
      and d.id = p.deal_id and not app.address_in_doubt(d.organization_id)
    returning p.deal_id into answered;
  if found then
    delete from vault.invitations i where i.participant_id = participation and i.used_at is null;
    perform app.audit(case when accepts then 'invitation.accept' else 'invitation.decline' end, participation::text, 'done',
      null, answered, address, request_id, '{}');
  end if;
  return answered;
end
$$;

-- An advisor of another deal is like nobody: the reference, which is to a participant of this deal, refuses both.
create or replace function app.check_advised() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from public.participants p
    where p.id = new.advises and p.deal_id = new.deal_id and p.role = 'advisor')
  then
    perform app.refuse('advisor_of_advisor', 'An advisor advises a broker, seller, buyer or viewer, not another advisor.');
  end if;
  return new;
end
$$;
