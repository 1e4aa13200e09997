-- compatible: a function that does less for the same answer.
--
-- Before each mail that was claimed, every mail with a link that was due was asked whether its link still works: with 10,000 invitations waiting that took longer than sending one. Now those whose turn
-- it is are asked.

CREATE OR REPLACE FUNCTION app.claim_mails(most integer)
 RETURNS TABLE(id uuid, kind text, recipient text, brokerage_name text, deal_id uuid, facts jsonb, secret text, attempts integer, created_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  -- A statement that runs into its limit takes back what it has deleted, and would find the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  chosen uuid[];
  dead uuid[];
begin
  loop
    select array_agg(d.id), array_agg(d.id) filter (where d.link is not null and not app.is_live_link(d.link)) into chosen, dead
      from (
        select o.id, o.link from vault.outbox o
        where o.sent_at is null and o.given_up_at is null and o.next_attempt_at <= app.now()
          and (o.claimed_until is null or o.claimed_until <= app.now())
        order by o.urgent desc, o.next_attempt_at limit least(most, 100)
        for update skip locked) d;
    exit when dead is null;
    delete from vault.outbox o where o.id = any (dead);
    chosen := array(select c.id from unnest(chosen) c (id) where c.id <> all (dead));
    exit when clock_timestamp() > until;
    -- Where one is dead many are, and each look goes again through those that this transaction has deleted. Others may claim the living ones meanwhile.
    delete from vault.outbox o where o.id = any (array(
      select w.id from vault.outbox w
      where w.sent_at is null and w.given_up_at is null and (w.claimed_until is null or w.claimed_until <= app.now())
        and w.id = any (array(
          select n.id from (
            select o.id, o.link from vault.outbox o
            where o.sent_at is null and o.given_up_at is null and o.next_attempt_at <= app.now()
              and (o.claimed_until is null or o.claimed_until <= app.now())
            order by o.urgent desc, o.next_attempt_at limit 100) n
          where n.link is not null and not app.is_live_link(n.link)))
      for update skip locked));
  end loop;
  return query
    with claimed as (
      update vault.outbox o set claimed_until = app.now() + interval '5 minutes', attempts = o.attempts + 1
      where o.id = any (chosen)
      returning o.*
    )
    select c.id, c.kind, c.recipient, b.name, c.deal_id, c.facts, c.secret, c.attempts, c.created_at
    from claimed c left join public.brokerages b on b.id = c.brokerage_id
    order by c.urgent desc, c.next_attempt_at, c.id;
end
$function$;
