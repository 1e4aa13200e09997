-- compatible: writes the same record, with its brokerage and the participation.
--
-- Who joins a deal by the link that they were mailed stands in the brokerage's audit trail and in the activity of the deal, like who accepts on their first page. Only new
-- records have it: of a brokerage, the trail lists those that name it.

create or replace function app.use_invitation(token bytea, person uuid, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  used vault.invitations;
begin
  select i.* into used from vault.invitations i where i.digest = token and i.user_id = person;
  if used.brokerage_id is not null then
    perform from public.members m where m.brokerage_id = used.brokerage_id and m.user_id = person for no key update;
  else
    perform from public.participants p where p.id = used.participant_id for no key update;
  end if;
  update vault.invitations i set used_at = app.now()
    where i.digest = token and i.user_id = person and i.used_at is null and i.expires_at > app.now()
    returning i.* into used;
  if not found then
    return false;
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was taken back. Ask for a new one.');
  end if;
  if used.brokerage_id is not null then
    insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
      values (used.brokerage_id, person, 'invitation.accept', 'done', address, request_id);
  else
    -- As app.audit() writes it of whoever has entered.
    insert into public.audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, address, request_id)
      select d.organization_id, d.id, person, 'invitation.accept', p.id::text, 'done', address, request_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = used.participant_id;
  end if;
  return true;
end
$$;
