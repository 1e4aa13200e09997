-- compatible: the function answers the same columns.
--
-- Questions that nobody had answered or distributed when their deal was closed or withdrawn waited for its broker or seller in the list of deals for good. On a closed deal every step is refused,
-- and the first page counts none of either.

create or replace function app.deal_rows(deals uuid[])
returns table(id uuid, organization_id uuid, organization_name text, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean, state text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, questions_waiting integer, offers integer)
language plpgsql
stable security definer
set search_path to ''
set enable_nestloop to 'off'
set plan_cache_mode to 'force_generic_plan'
as $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with known as materialized (select k.* from app.deals_as_known(me, administered, barred, narrowed, deals) k)
    select k.id, k.organization_id, b.name, k.title, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda, k.state, k.caller_role, k.side,
      k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at, k.created_at, k.updated_at,
      -- Each kind by an index that has nothing else.
      (case
          -- Nobody has to do anything about these any more; what was distributed can still be read.
          when d.state in ('closed', 'withdrawn') then 0
          when own.role = 'broker' then (select count(*) from public.questions q where q.deal_id = d.id and q.status in ('pending_broker_review', 'answered'))
          when own.role = 'seller' then (select count(*) from public.questions q where q.deal_id = d.id and q.status = 'with_seller')
          else 0
        end
        + (select count(*) from public.questions q
          where own.side = 'buyer' and q.participant_id = own.principal_id and q.deal_id = d.id and q.status = 'distributed'
            and (r.read_until >= coalesce(q.distributed_at, '-infinity')) is not true))::int,
      (select count(*) from public.offers o where o.deal_id = d.id and o.is_current
        and (own.side in ('broker', 'seller') or o.participant_id = own.principal_id))::int
    from known k
    join (select d.* from public.deals d where d.id = any (deals)) d on d.id = k.id
    join (select b.id, b.name from public.brokerages b where b.id = any (array(select known.organization_id from known))) b on b.id = k.organization_id
    left join (select o.deal_id, o.role, o.principal_id, o.side from vault.deals_of_people o
      where o.user_id = me and o.deal_id = any (deals) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)) own on own.deal_id = k.id
    left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me and r.deal_id = any (deals)) r on r.deal_id = d.id
    where own.side in ('broker', 'seller', 'buyer', 'viewer') or k.organization_id = any (administered);
end
$function$;
