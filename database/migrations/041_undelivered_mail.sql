-- compatible: what there is stays as it is; functions are added.
-- Who learns of mails that have not arrived, and sends them again.

-- Whether the link of a mail still leads somewhere: it was not used, taken back, replaced, and is not too old.
create or replace function app.is_live_link(link bytea) returns boolean
language sql stable security definer set search_path = '' as $$
  select exists (
      select from vault.invitations i
      left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id
      left join public.participants p on p.id = i.participant_id
      where i.digest = link and i.used_at is null and i.expires_at > app.now() and coalesce(m.status, p.status) = 'invited')
    or exists (select from vault.password_resets r where r.digest = link and r.expires_at > app.now())
    or exists (select from vault.address_changes a where a.digest = link and a.expires_at > app.now())
$$;

-- Tries a mail again at once, and for a day. One that was given up has lost the token of its link: an invitation gets the
-- new one that is handed in, other links are too old by then. False: there is no such mail that waits or was given up.
create function app.retry_mail(mail uuid, new_token bytea, new_secret text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  undelivered vault.outbox;
begin
  select o.* into undelivered from vault.outbox o where o.id = mail and o.sent_at is null for update;
  if not found then
    return false;
  end if;
  if undelivered.claimed_until > app.now() then
    perform app.refuse('mail_under_way', 'This mail is being sent at this moment: look again in a few minutes.');
  end if;
  if undelivered.given_up_at is not null and undelivered.link is not null then
    update vault.invitations i set digest = new_token, expires_at = app.now() + interval '14 days'
      where i.digest = undelivered.link and app.is_live_link(undelivered.link);
    if not found then
      perform app.refuse('link_expired', 'The link of this mail is used up, taken back or too old: it has to be asked for again.');
    end if;
    undelivered.link := new_token;
    undelivered.secret := new_secret;
  end if;
  update vault.outbox o set given_up_at = null, claimed_until = null, attempts = 0, next_attempt_at = app.now(),
      give_up_at = app.now() + interval '1 day', link = undelivered.link, secret = undelivered.secret
    where o.id = undelivered.id;
  perform pg_notify('dealkeep_mail', '');
  return true;
end
$$;

-- The mails that a brokerage has sent and that have not arrived, the latest first: for its admins. Not what they say.
create function app.undelivered_mails(of_brokerage uuid)
returns table (id uuid, kind text, recipient text, created_at timestamptz, given_up boolean, attempts int,
  next_attempt_at timestamptz, last_error text)
language plpgsql stable security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select o.id, o.kind, o.recipient, o.created_at, o.given_up_at is not null, o.attempts, o.next_attempt_at, o.last_error
    from vault.outbox o
    where o.brokerage_id = of_brokerage and o.sent_at is null and (o.link is null or app.is_live_link(o.link))
    order by o.created_at desc, o.id desc limit 200;
end
$$;

-- Sends one of them again; for the admins of its brokerage, and counted like the first time. False: there is no such mail.
create function app.resend_mail(of_brokerage uuid, mail uuid, new_token bytea, new_secret text, address inet, request_id text)
returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  to_whom text;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  select o.recipient into to_whom from vault.outbox o
    where o.id = mail and o.brokerage_id = of_brokerage and o.sent_at is null;
  if not found or not app.retry_mail(mail, new_token, new_secret) then
    return false;
  end if;
  perform app.count_mail_to(app.user_id(), of_brokerage, to_whom);
  perform app.audit('mail.resend', mail::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$$;

-- How the mail of a link fares: 'delayed' after a failed attempt, 'undelivered' when it was given up, else null.
create function app.mail_trouble(link bytea) returns text
language sql stable security definer set search_path = '' as $$
  select case when o.given_up_at is not null then 'undelivered' when o.attempts > 0 and o.last_error is not null then 'delayed' end
  from vault.outbox o where o.link = mail_trouble.link and o.sent_at is null
$$;

-- The same of the invitation of a member, for the admins of the brokerage, and of a participant, for the deal's brokers and
-- the admins of its brokerage.
create function app.member_mail_trouble(of_brokerage uuid, person uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  if not of_brokerage = any (app.brokerages_as('admin')) then
    return null;
  end if;
  return (
    select app.mail_trouble(i.digest) from public.members m
    join vault.invitations i on i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null
    where m.brokerage_id = of_brokerage and m.person_id = person and m.status = 'invited');
end
$$;
create function app.participant_mail_trouble(participation uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select app.mail_trouble(i.digest) from public.participants p
    join public.deals d on d.id = p.deal_id
    join vault.invitations i on i.user_id = p.user_id and i.participant_id = p.id and i.used_at is null
    where p.id = participation and p.status = 'invited'
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))));
end
$$;

grant execute on function app.undelivered_mails(uuid), app.resend_mail(uuid, uuid, bytea, text, inet, text),
  app.member_mail_trouble(uuid, uuid), app.participant_mail_trouble(uuid) to dealkeep_server;
