-- compatible: functions with the same parameters.
--
-- A brokerage that asks its members for a second factor closes its deals to a session without one, but such a session still saw and answered its invitations.

CREATE OR REPLACE FUNCTION app.deal_invitations()
 RETURNS TABLE(participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select i.id, i.role, i.name, i.title, i.updated_at
  from (
    select p.id, p.role, b.name, d.title, p.updated_at, row_number() over (partition by d.organization_id order by p.updated_at desc, p.id desc) as nth
    from public.participants p
    join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = d.organization_id
    where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)
      and not d.organization_id = any (app.barred_in((select app.identity())))
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)) i
  where i.nth <= 20
  order by i.updated_at desc, i.id desc limit 200
$function$;

CREATE OR REPLACE FUNCTION app.answer_deal_invitation(participation uuid, accepts boolean, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  answered uuid;
  had_joined boolean;
  known_as text;
begin
  if app.client_id() is not null then
    return null;
  end if;
  select p.joined_at is not null, p.invited_name into had_joined, known_as from public.participants p where p.id = participation;
  if exists (select from public.participants p where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
    and p.brokerage_id = any (app.barred_in(app.identity())))
  then
    perform app.refuse_without_factor(app.user_id());
  end if;
  update public.participants p set status = case when accepts then 'active' else 'removed' end
    from public.deals d
    where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
      and d.id = p.deal_id and not app.address_in_doubt(d.organization_id)
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)
    returning p.deal_id into answered;
  if found then
    delete from vault.invitations i where i.participant_id = participation and i.used_at is null;
    if accepts or had_joined then
      perform app.audit(case when accepts then 'invitation.accept' else 'invitation.decline' end, participation::text, 'done',
        null, answered, address, request_id, '{}');
    else
      -- The person's own record, and another for the deal's people, who do not learn whose account it was.
      perform app.record(app.user_id(), 'invitation.decline', 'done', null, address, request_id);
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        select d.organization_id, d.id, 'invitation.decline', participation, 'done', jsonb_build_object('name', known_as)
        from public.deals d where d.id = answered;
    end if;
  end if;
  return answered;
end
$function$;

CREATE OR REPLACE FUNCTION app.use_invitation(token bytea, person uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  used vault.invitations;
  factor_required boolean;
begin
  select i.* into used from vault.invitations i where i.digest = token and i.user_id = person;
  if used.brokerage_id is not null then
    -- Whoever comes to require a second factor at this moment is waited for, or waits and finds the member.
    select b.requires_second_factor into factor_required from public.brokerages b where b.id = used.brokerage_id for share;
    if factor_required then
      perform from public.users u where u.id = person for no key update;
    end if;
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
  -- Whoever opens an account with the link has not entered, and is no member yet.
  if exists (select from public.participants p where p.id = used.participant_id and p.brokerage_id = any (app.barred_in(app.identity()))) then
    perform app.refuse_without_factor(person);
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was withdrawn. Ask for a new one.');
  end if;
  if factor_required then
    perform app.end_grants_without_factor(array[person], request_id);
  end if;
  if used.mailed then
    update vault.passwords p set address_proven_at = app.now() where p.user_id = person and p.address_proven_at is null;
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
$function$;
