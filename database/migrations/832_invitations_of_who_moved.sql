-- compatible: one more column at the end, which the release before does not read.
--
-- Somebody who follows a mailed invitation, but whose account is not the invited one, was told that it has expired. The additional column says that the invited
-- account has another address by now, to whoever has the mail: a link that was handed on does not.

drop function app.invitation(bytea);

CREATE OR REPLACE FUNCTION app.invitation(token bytea)
 RETURNS TABLE(user_id uuid, email text, name text, role text, brokerage_name text, deal_id uuid, deal_title text, has_password boolean, moved boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select u.id, coalesce(m.invited_email, p.invited_email, u.email), coalesce(m.invited_name, p.invited_name, u.name),
      coalesce(m.role, p.role), b.name, d.id, d.title,
      case when i.mailed then exists (select from vault.passwords w where w.user_id = u.id) end,
      i.mailed and u.email <> coalesce(m.invited_email, p.invited_email, u.email)
    from vault.invitations i
    join public.users u on u.id = i.user_id
    left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id and m.status = 'invited'
    left join public.participants p on p.id = i.participant_id and p.status = 'invited'
    left join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = coalesce(m.brokerage_id, d.organization_id)
    where i.digest = token and i.used_at is null and i.expires_at > app.now();
end
$function$;
GRANT EXECUTE ON FUNCTION app.invitation(bytea) TO dealkeep_server;
