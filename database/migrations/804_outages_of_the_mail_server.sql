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

