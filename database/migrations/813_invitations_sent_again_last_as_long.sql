-- compatible: the content of a function.
--
-- An invitation that was sent again while its mail waited kept its link, of which little time was left.

create or replace function app.retry_mail(mail uuid, new_token bytea, new_secret text)
  returns boolean
  language plpgsql security definer set search_path = '' as $$
declare
  undelivered vault.outbox;
begin
  select o.* into undelivered from vault.outbox o where o.id = mail and o.sent_at is null for update;
  if not found then
    return false;
  end if;
  if undelivered.claimed_until > app.now() then
    perform app.refuse('mail_under_way', 'This e-mail is being sent right now: check again in a few minutes.');
  end if;
  -- Somebody who sends an invitation again gives its reader the whole time, as when it is sent first. Others are asked for again when they have expired.
  if undelivered.link is not null and (undelivered.given_up_at is not null or undelivered.kind = 'invitation') then
    update vault.invitations i set digest = new_token, expires_at = app.now() + interval '14 days'
      where i.digest = undelivered.link and app.is_live_link(undelivered.link);
    if not found then
      perform app.refuse('link_expired', 'The link in this e-mail was used, withdrawn, or has expired: it has to be requested again.');
    end if;
    undelivered.link := new_token;
    undelivered.secret := new_secret;
  end if;
  update vault.outbox o set given_up_at = null, claimed_until = null, attempts = 0, refusals = 0, rank = o.rank % 10, next_attempt_at = app.now(), turn_at = app.now(),
      give_up_at = app.now() + interval '3 days', link = undelivered.link, secret = undelivered.secret
    where o.id = undelivered.id;
  perform pg_notify('dealkeep_mail', '');
  return true;
end
$$;
