-- compatible: a function that reads less, and answers the same where at most 10,000 events wait.
--
-- Each time an admin looked at what waits of their brokerage, everything that waited of all brokerages was read, and the deal of each looked up.

CREATE OR REPLACE FUNCTION app.queue_status(of_brokerage uuid)
 RETURNS TABLE(mails_waiting integer, mails_failing integer, mails_given_up integer, oldest_mail_at timestamp with time zone, events_waiting integer, events_failing integer, oldest_event_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select m.waiting, m.failing, m.given_up, m.oldest, e.waiting, e.failing, e.oldest
    from (
      select count(*) filter (where u.given_up_at is null)::int as waiting,
        count(*) filter (where u.given_up_at is null and u.last_error is not null)::int as failing,
        count(*) filter (where u.given_up_at is not null)::int as given_up,
        min(u.created_at) filter (where u.given_up_at is null) as oldest
      from (
        select o.given_up_at, o.last_error, o.created_at from vault.outbox o
        where o.brokerage_id = of_brokerage and o.sent_at is null and (o.link is null or app.is_live_link(o.link))
        order by o.created_at desc limit 1000) u) m
    cross join (
      select count(*)::int as waiting, count(*) filter (where w.last_error is not null)::int as failing, min(w.at) as oldest
      from (
        -- The oldest that wait of all brokerages, as app.service_state counts them: the deal of each has to be looked up.
        select v.last_error, v.at
        from (select q.deal_id, q.last_error, q.at from vault.events q order by q.id limit 10000) v join public.deals d on d.id = v.deal_id
        where d.organization_id = of_brokerage order by v.at desc limit 1000) w) e;
end
$function$;
