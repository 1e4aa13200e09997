-- compatible: the release before notes such a mail as given up, as it did; it has one function less to call.
--
-- A mail that is not sent because its link is dead, or because its reader has read what it tells, may not see it or does not want it any more, was kept for 90 days as one that was
-- given up. After some hours without a mail server there were many: doctor warned of them, an alert fired, and sending them again ended in the same way. They are deleted instead.

create or replace function app.claim_mails(most integer)
returns table(id uuid, kind text, recipient text, brokerage_name text, deal_id uuid, facts jsonb, secret text, attempts integer, created_at timestamptz)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
begin
  delete from vault.outbox o
    where o.sent_at is null and o.given_up_at is null and o.link is not null and o.next_attempt_at <= app.now()
      and (o.claimed_until is null or o.claimed_until <= app.now()) and not app.is_live_link(o.link);
  return query
    with due as (
      select o.id from vault.outbox o
      where o.sent_at is null and o.given_up_at is null and o.next_attempt_at <= app.now()
        and (o.claimed_until is null or o.claimed_until <= app.now())
      order by o.urgent desc, o.next_attempt_at limit least(most, 100)
      for update skip locked
    ), claimed as (
      update vault.outbox o set claimed_until = app.now() + interval '5 minutes', attempts = o.attempts + 1
      from due where o.id = due.id
      returning o.*
    )
    select c.id, c.kind, c.recipient, b.name, c.deal_id, c.facts, c.secret, c.attempts, c.created_at
    from claimed c left join public.brokerages b on b.id = c.brokerage_id
    order by c.urgent desc, c.next_attempt_at, c.id;
end
$$;

create function app.mail_not_needed(mail uuid, attempt integer) returns boolean
language plpgsql
security definer
set search_path = ''
as $$
begin
  delete from vault.outbox o where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$$;
revoke execute on function app.mail_not_needed(uuid, integer) from public;
grant execute on function app.mail_not_needed(uuid, integer) to dealkeep_server;

delete from vault.outbox o
  where o.given_up_at is not null
    and o.last_error in ('The link is used up, taken back or too old.', 'Its reader has read it, does not want it or may not see it any more.');
