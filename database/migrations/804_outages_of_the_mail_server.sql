-- compatible: a parameter more, which comes last and has a default, and a column with a default.
--
-- While the mail server could not be reached, mails waited longer and longer as if they had been refused, so that they came up to six hours after it worked again,
-- and were given up after a day, as on a weekend.

alter table vault.outbox add refusals int not null default 0;
alter table vault.outbox alter give_up_at set default app.now() + interval '3 days';

-- Records why a mail was not delivered. An `outage` says nothing about the mail: it is tried again soon.
drop function app.mail_failed(uuid, integer, text, boolean);
create function app.mail_failed(mail uuid, attempt integer, reason text, final boolean, outage boolean default false)
  returns boolean
  language plpgsql security definer set search_path = '' as $$
begin
  update vault.outbox o set claimed_until = null, last_error = left(reason, 500),
      given_up_at = case when final or app.now() >= o.give_up_at then app.now() end,
      secret = case when final or app.now() >= o.give_up_at then null else o.secret end,
      refusals = o.refusals + case when outage then 0 else 1 end,
      next_attempt_at = least(o.give_up_at, app.now() + case
        when outage then (array['1 min', '5 min']::interval[])[least(o.attempts, 2)]
        else (array['1 min', '5 min', '15 min', '1 h', '3 h', '6 h']::interval[])[least(o.refusals + 1, 6)] end)
    where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$$;
grant execute on function app.mail_failed(uuid, integer, text, boolean, boolean) to dealkeep_server;

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
  if undelivered.given_up_at is not null and undelivered.link is not null then
    update vault.invitations i set digest = new_token, expires_at = app.now() + interval '14 days'
      where i.digest = undelivered.link and app.is_live_link(undelivered.link);
    if not found then
      perform app.refuse('link_expired', 'The link in this e-mail was used, withdrawn, or has expired: it has to be requested again.');
    end if;
    undelivered.link := new_token;
    undelivered.secret := new_secret;
  end if;
  update vault.outbox o set given_up_at = null, claimed_until = null, attempts = 0, refusals = 0, next_attempt_at = app.now(),
      give_up_at = app.now() + interval '3 days', link = undelivered.link, secret = undelivered.secret
    where o.id = undelivered.id;
  perform pg_notify('dealkeep_mail', '');
  return true;
end
$$;
