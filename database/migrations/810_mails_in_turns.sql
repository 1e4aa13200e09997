-- compatible: functions more, and the content of others; those that wait get their ranks and turns.
--
-- Mails went in the order in which they were due, so that the daily mails of a morning, or hundreds of mails of one brokerage, went before everybody else's.

update vault.outbox o set turn_at = greatest(o.turn_at, o.next_attempt_at),
    rank = case when o.urgent then 0 when o.kind = 'notifications' and o.facts ->> 'daily' = 'true' then 2 else 1 end
      + case when o.last_error is not null then 10 else 0 end
  where o.sent_at is null and o.given_up_at is null;

-- The last turn of a brokerage's mails of this rank.
create function app.last_turn(brokerage uuid, of_rank int) returns timestamptz
  language sql stable set search_path = '' set enable_seqscan = 'off' set enable_bitmapscan = 'off' set enable_sort = 'off' as $$
  select o.turn_at from vault.outbox o
  where o.brokerage_id = brokerage and o.rank = of_rank and o.sent_at is null and o.given_up_at is null
  order by o.turn_at desc limit 1
$$;

-- The next mails of a rank that are due and nobody has claimed: those that have their turn, or (`early`) those before their turn. Mails that were not accepted and
-- are not due stand apart from these, however many they are.
-- Read in the order of the index also where PostgreSQL does not know how many wait.
create function app.mails_in_turn(of_rank int, early boolean, most int) returns setof uuid
  language sql stable set search_path = '' set enable_seqscan = 'off' set enable_bitmapscan = 'off' set enable_sort = 'off' as $$
  select n.id from (
    (select o.id, o.turn_at from vault.outbox o
      where o.sent_at is null and o.given_up_at is null and o.rank = of_rank and o.next_attempt_at <= app.now()
        and o.turn_at > case when early then app.now() else '-infinity' end and o.turn_at <= case when early then 'infinity' else app.now() end
        and (o.claimed_until is null or o.claimed_until <= app.now())
      order by o.turn_at limit most)
    union all
    (select o.id, o.turn_at from vault.outbox o
      where o.sent_at is null and o.given_up_at is null and o.rank = of_rank + 10 and o.turn_at <= app.now() and not early
        and (o.claimed_until is null or o.claimed_until <= app.now())
      order by o.turn_at limit most)) n
  order by n.turn_at limit most
$$;

-- The mails that a brokerage writes at once have turns a second apart, so that the mails of others come between. None waits for its turn while nothing else is
-- to be sent, and none has a turn before it is due.
create or replace function app.queue_mail(kind text, recipient text, recipient_id uuid, brokerage uuid, deal uuid, urgent boolean, facts jsonb, secret text, link bytea)
  returns uuid
  language plpgsql security definer set search_path = '' as $$
declare
  -- The brokerage in whose name it is sent, or of its deal.
  sender constant uuid := coalesce(queue_mail.brokerage, (select d.organization_id from public.deals d where d.id = queue_mail.deal));
  mail_rank constant int := case when urgent then 0 when kind = 'notifications' and facts ->> 'daily' = 'true' then 2 else 1 end;
  queued uuid;
begin
  if recipient is null or lower(recipient) like '%.sandbox.invalid'
    or app.is_sandbox(coalesce((select d.organization_id from public.deals d where d.id = queue_mail.deal), queue_mail.brokerage))
  then
    return null;
  end if;
  insert into vault.outbox (kind, recipient, recipient_id, brokerage_id, deal_id, caused_by, urgent, facts, secret, link, rank, turn_at)
    values (queue_mail.kind, lower(queue_mail.recipient),
      coalesce(queue_mail.recipient_id, (select u.id from public.users u where u.email = lower(queue_mail.recipient))),
      sender, queue_mail.deal, app.user_id(), queue_mail.urgent, coalesce(queue_mail.facts, '{}'), queue_mail.secret, queue_mail.link,
      mail_rank, greatest(app.now(), app.last_turn(sender, mail_rank) + interval '1 second'))
    returning id into queued;
  perform pg_notify('dealkeep_mail', '');
  return queued;
end
$$;

create or replace function app.claim_mails(most integer)
  returns TABLE(id uuid, kind text, recipient text, brokerage_name text, deal_id uuid, facts jsonb, secret text, attempts integer, created_at timestamp with time zone)
  language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  -- A statement that runs into its limit takes back what it has deleted, and would find the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  room constant int := least(most, 100);
  part record;
  candidate uuid;
  this vault.outbox;
  some_dead boolean;
  chosen uuid[] := '{}';
begin
  -- What has its turn, by rank, then what is before its turn, as its brokerage has much to send; daily mails come last.
  <<parts>>
  for part in
    select p.rank, p.early from (values (1, 0, false), (2, 1, false), (3, 0, true), (4, 1, true), (5, 2, false), (6, 2, true)) p (place, rank, early) order by p.place
  loop
    loop
      some_dead := false;
      -- Some more than are looked for: others may be claiming the first ones, and where one is dead many are.
      for candidate in select app.mails_in_turn(part.rank, part.early, room + 100) loop
        exit parts when cardinality(chosen) >= room;
        continue when candidate = any (chosen);
        select o.* into this from vault.outbox o
          where o.id = candidate and o.sent_at is null and o.given_up_at is null and o.next_attempt_at <= app.now()
            and (o.claimed_until is null or o.claimed_until <= app.now())
          for update skip locked;
        continue when this.id is null;
        if app.is_needed(this) then
          chosen := chosen || this.id;
        else
          delete from vault.outbox o where o.id = this.id;
          some_dead := true;
        end if;
      end loop;
      exit parts when cardinality(chosen) >= room or clock_timestamp() > until;
      exit when not some_dead;
    end loop;
  end loop;
  return query
    with claimed as (
      -- A claim that ends without an outcome is tried again when others are.
      update vault.outbox o set claimed_until = app.now() + interval '5 minutes', attempts = o.attempts + 1, turn_at = least(o.turn_at, app.now())
      where o.id = any (chosen)
      returning o.*
    )
    select c.id, c.kind, c.recipient, b.name, c.deal_id, c.facts, c.secret, c.attempts, c.created_at
    from claimed c left join public.brokerages b on b.id = c.brokerage_id
    order by array_position(chosen, c.id);
end
$$;

create or replace function app.mail_failed(mail uuid, attempt integer, reason text, final boolean, outage boolean default false)
  returns boolean
  language plpgsql security definer set search_path = '' as $$
declare
  next_at constant timestamptz := (
    select least(o.give_up_at, app.now() + case
      when outage then (array['1 min', '5 min']::interval[])[least(o.attempts, 2)]
      else (array['1 min', '5 min', '15 min', '1 h', '3 h', '6 h']::interval[])[least(o.refusals + 1, 6)] end)
    from vault.outbox o where o.id = mail);
begin
  update vault.outbox o set claimed_until = null, last_error = left(reason, 500),
      given_up_at = case when final or app.now() >= o.give_up_at then app.now() end,
      secret = case when final or app.now() >= o.give_up_at then null else o.secret end,
      refusals = o.refusals + case when outage then 0 else 1 end,
      rank = o.rank % 10 + 10, next_attempt_at = next_at, turn_at = next_at
    where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$$;

