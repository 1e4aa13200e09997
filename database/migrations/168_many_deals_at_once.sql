-- compatible: functions more, and one that answers the same.

-- What is agreed on each of these deals, as far as the caller may know: one look at the policies for all of them. Asked for each deal apart, fifty offers
-- for a key that sees 12,000 deals took PostgreSQL 160 ms.
create function app.accepted_offers(deals uuid[]) returns table (deal_id uuid, offer_id uuid)
language sql stable set search_path = '' begin atomic
  select distinct on (x.deal_id) x.deal_id, c.offer_id
  from public.exclusivities x
  join public.offer_decisions c on c.participant_id = x.participant_id and c.decision = 'accepted' and c.decided_at >= x.granted_at
  join public.offers o on o.id = c.offer_id
  left join public.deals d on d.id = x.deal_id
  left join public.deal_stages g on g.deal_id = x.deal_id
  where x.deal_id = any (deals) and x.ended_at is null
    and (x.expires_at > app.now() or coalesce(g.state, d.state) in ('diligence', 'closing', 'closed'))
  order by x.deal_id, c.decided_at desc, o.revision_number desc;
end;
revoke execute on function app.accepted_offers(uuid[]) from public;
grant execute on function app.accepted_offers(uuid[]) to dealkeep_server;

create or replace function app.accepted_offer(deal_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (select a.offer_id from app.accepted_offers(array[deal_id]) a);
end
$$;

-- The books of those of these deals that the caller runs, as written_books() writes them, with no customers. Who runs a deal sees all of its books: with
-- the caller's own rights, what they run was looked up for each deal and table anew, 100 ms of PostgreSQL for the ten deals of a pipeline of 10,000.
create function app.books_of_deals_run(deals uuid[], most_uploads integer, most_periods integer, most_adjustments integer)
returns table (deal_id uuid, books text)
language plpgsql stable security definer set search_path = '' as $$
declare
  run constant uuid[] := app.deals_acting_as('broker');
begin
  return query
    select d.id, app.written_books(d.id, most_uploads, most_periods, 0, most_adjustments) from unnest(deals) d (id)
    where d.id = any (run) and app.user_id() is not null limit 100;
end
$$;
revoke execute on function app.books_of_deals_run(uuid[], integer, integer, integer) from public;
grant execute on function app.books_of_deals_run(uuid[], integer, integer, integer) to dealkeep_server;
