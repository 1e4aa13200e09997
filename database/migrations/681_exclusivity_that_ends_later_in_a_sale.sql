-- compatible: events more are queued, and the same event is no longer queued a second time; nodes call both functions as before.
--
-- Of an exclusivity that passed its date in diligence or closing nobody was told then, only at its release, if there was one.

CREATE OR REPLACE FUNCTION app.sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  free uuid[];
  due uuid[];
  lapsed int;
  expired int;
begin
  -- What somebody else is about to change is left for the next time.
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select x.deal_id from vault.lapsing_exclusivities l join public.exclusivities x on x.id = l.exclusivity_id
        where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and exists (select from public.deal_stages g where g.deal_id = d.id and g.state = 'exclusivity')
    for no key update skip locked);
  due := array(
    select x.id from public.exclusivities x
    where x.id = any (array(
        select l.exclusivity_id from vault.lapsing_exclusivities l where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and x.expires_at <= app.now()
      and (x.deal_id = any (free) or not exists (select from public.deal_stages g where g.deal_id = x.deal_id and g.state = 'exclusivity'))
    for no key update skip locked);
  update public.exclusivities x set ended_at = x.expires_at
    from public.deal_stages g
    where x.id = any (due) and x.deal_id = any (free) and g.deal_id = x.deal_id and g.state = 'exclusivity' and x.ended_at is null;
  get diagnostics lapsed = row_count;
  -- Later in a sale it is kept until a broker releases it, but gives its buyer no more from its date on.
  perform app.queue_event('exclusivity_lapsed', x.deal_id, 'exclusivities', x.id, null, null)
    from public.exclusivities x join public.deal_stages g on g.deal_id = x.deal_id
    where x.id = any (due) and g.state in ('diligence', 'closing') and x.ended_at is null;
  delete from vault.lapsing_exclusivities l where l.exclusivity_id = any (due);
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select e.deal_id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now()
        order by e.expires_at limit 1000))
    for share skip locked);
  update public.ndas n set status = 'expired'
    where n.id = any (array(
        select e.id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now() and e.deal_id = any (free)
        order by e.expires_at limit 1000 for no key update skip locked))
      and n.status in ('sent', 'active') and n.expires_at <= app.now();
  get diagnostics expired = row_count;
  return lapsed + expired;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'UPDATE' then
    if new.ended_at = new.expires_at then
      -- What is no longer watched was told at its date (app.sweep).
      if exists (select from vault.lapsing_exclusivities l where l.exclusivity_id = new.id) then
        perform app.queue_event('exclusivity_lapsed', new.deal_id, 'exclusivities', new.id, null, null);
      end if;
    elsif app.identity() is not null and app.actual_state(new.deal_id) <> 'withdrawn' then
      perform app.queue_event('exclusivity_lapsed', new.deal_id, 'exclusivities', new.id, app.user_id(), null);
    end if;
  elsif app.user_id() is not null then
    perform app.queue_event('exclusivity_granted', new.deal_id, 'exclusivities', new.id, app.user_id(), null);
  end if;
  return null;
end
$function$;
