-- compatible: a function is added.
-- How changes and webhooks fare, of all brokerages, for operators: changes that are not told yet and since when some wait for transactions to end; deliveries that wait
-- for webhooks that are on, those of them that have failed so far, and when the oldest was written; webhooks that are on, and that were switched off because nothing was taken.
create function app.delivery_state() returns table (changes_waiting bigint, changes_since timestamptz, deliveries_waiting bigint, deliveries_failing bigint,
  oldest_delivery_at timestamptz, webhooks_on bigint, webhooks_failed bigint)
language sql stable security definer set search_path = '' as $$
  select greatest(0, case when o.is_called then o.last_value else o.last_value - 1 end - s.published), s.mark_at,
    w.waiting, w.failing, w.oldest, w.turned_on, w.failed
  from vault.change_stream s
  cross join vault.change_order o
  cross join (
    select coalesce(sum(d.waiting), 0)::bigint as waiting, coalesce(sum(d.failing), 0)::bigint as failing, min(d.oldest) as oldest,
      count(*) filter (where e.state = 'on') as turned_on, count(*) filter (where e.off_reason = 'failing') as failed
    from public.webhook_endpoints e
    left join lateral (
      select count(*) as waiting, count(*) filter (where q.attempts > 0) as failing, min(q.created_at) as oldest
      from public.webhook_deliveries q
      where q.endpoint_id = e.id and q.state = 'waiting' and e.state = 'on' and app.is_key_in_force(e.key_id)) d on true) w
$$;
grant execute on function app.delivery_state() to dealkeep_server;
