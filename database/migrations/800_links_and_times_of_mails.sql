-- compatible: two functions more.
--
-- A mail that was late said that its link "expires in 30 minutes" when 9 were left, and one about a new device did not say when somebody had signed in.

-- When the link of a waiting mail stops working, and the address of whoever invites, to which the invited person may reply while they belong to the brokerage or
-- the deal.
create function app.link_of_mail(mail uuid) returns table (expires_at timestamptz, reply_to text)
  language plpgsql stable security definer set search_path = '' as $$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return query
    select coalesce(i.expires_at, r.expires_at, a.expires_at),
      case when o.kind = 'invitation' and u.suspended_at is null and u.email not like '%.invalid'
          and (exists (select from public.members m where m.brokerage_id = o.brokerage_id and m.user_id = u.id and m.status = 'active')
            or exists (select from public.participants p where p.deal_id = o.deal_id and p.user_id = u.id and p.status = 'active'))
        then u.email end
    from vault.outbox o
    left join vault.invitations i on i.digest = o.link
    left join vault.password_resets r on r.digest = o.link
    left join vault.address_changes a on a.digest = o.link
    left join public.users u on u.id = o.caused_by
    where o.id = link_of_mail.mail and o.sent_at is null;
end
$$;
grant execute on function app.link_of_mail(uuid) to dealkeep_server;

-- The latest time of each kind of notification about the security of the reader's account in a waiting mail.
create function app.times_of_mail(mail uuid) returns table (kind text, at timestamptz)
  language plpgsql stable security definer set search_path = '' as $$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return query
    select n.kind, max(n.at)
    from vault.outbox o
    cross join lateral jsonb_array_elements_text(o.facts -> 'notifications') i (id)
    join vault.notifications n on n.id = i.id::uuid and n.user_id = o.recipient_id
    join app.notification_kinds k on k.kind = n.kind and k.security
    where o.id = times_of_mail.mail and o.kind = 'notifications' and o.sent_at is null
    group by n.kind;
end
$$;
grant execute on function app.times_of_mail(uuid) to dealkeep_server;
