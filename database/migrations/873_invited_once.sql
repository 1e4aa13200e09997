-- compatible: a function with the same parameters; the pages of old nodes show the message.
--
-- Inviting an address again gave the invitation that waited there another role and name, and its link stopped working, without a word. Now the admin is told that it
-- waits, and sends it again or withdraws it. One whose link has expired waits no more.

CREATE OR REPLACE FUNCTION app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea, mailed boolean, address inet, request_id text, again uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  typed text := lower(given_email);
  invited uuid;
  present text;
  elsewhere record;
  other uuid;
  known_as uuid;
  lapsed boolean;
  waits constant text := 'An invitation to this address is waiting already: choose “Invite again” beside it, or withdraw it first.';
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  -- Whoever was once a member is invited themselves, whatever address they have now.
  select m.user_id into invited from public.members m
    where m.brokerage_id = to_brokerage and m.person_id = again and m.joined_at is not null;
  if found then
    select u.email into present from public.users u where u.id = invited and u.erased_at is null for share;
    if not found then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    if invite_member.mailed then
      typed := present;
    end if;
  else
    invited := app.account_at(typed, given_name);
  end if;
  if exists (select from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active')
  then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  perform from public.members m
    where m.brokerage_id = to_brokerage and m.status = 'invited' and m.invited_email = typed order by m.user_id for update;
  lapsed := found;
  -- Read after the lock: whoever had it may have sent a link.
  if again is null and exists (select from public.members m
    join vault.invitations i on i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null and i.expires_at > app.now()
    where m.brokerage_id = to_brokerage and m.status = 'invited' and m.invited_email = typed)
  then
    perform app.refuse('already_invited', waits);
  end if;
  -- As in app.invite_to_deal().
  select m.invited_email, m.invited_name into elsewhere from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited
      and m.joined_at is null and m.invited_email <> typed and m.invited_email not like '%@erased.invalid';
  if found then
    other := app.account_at(elsewhere.invited_email, elsewhere.invited_name);
    update public.members m set user_id = other
      where m.brokerage_id = to_brokerage and m.user_id = invited and m.joined_at is null
        and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = other);
    if found then
      update vault.invitations i set user_id = other where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
    end if;
  end if;
  update public.members m set user_id = invited
    where m.brokerage_id = to_brokerage
      and m.user_id = (select o.user_id from public.members o
        where o.brokerage_id = to_brokerage and o.joined_at is null and o.invited_email = typed order by o.user_id limit 1)
      and m.user_id <> invited and m.joined_at is null
      and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = invited);
  -- Or they have just accepted, or been invited.
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, typed)
    on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited',
      invited_name = excluded.invited_name, invited_email = excluded.invited_email
    where m.status = 'removed' or m.status = 'invited' and (again is not null or lapsed or m.invited_email <> excluded.invited_email)
    returning m.person_id into known_as;
  if not found then
    if exists (select from public.members m where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active') then
      perform app.refuse('already_member', 'This person is a member already.');
    end if;
    perform app.refuse('already_invited', waits);
  end if;
  delete from vault.invitations i where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
  insert into vault.invitations (digest, user_id, brokerage_id, mailed) values (token, invited, to_brokerage, invite_member.mailed);
  perform app.audit('member.invite', known_as::text, 'done', to_brokerage, null, address, request_id,
    jsonb_build_object('role', as_role));
  return known_as;
end
$function$;
