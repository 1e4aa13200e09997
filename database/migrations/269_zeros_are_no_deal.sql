-- compatible: what is answered about the id of nothing but zeros is what is answered about any other id of no deal.
--
-- Whoever is narrowed to a deal that they do not see is narrowed to these zeros. A request about a deal with that very id took them for seen, and was answered with empty lists.

create or replace function app.seen_deal(deal uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
declare
  narrowed constant uuid := app.narrowed_to();
  participating uuid[];
  administered uuid[];
begin
  if narrowed is not null then
    return case when narrowed = deal and deal <> '00000000-0000-0000-0000-000000000000' then deal end;
  end if;
  participating := app.deals_as(variadic '{broker,seller,buyer,viewer}'::text[] || app.deal_scopes());
  administered := app.brokerages_as('admin');
  return (select d.id from public.deals d
    where d.id = deal and app.deal_is_visible(d.id, d.organization_id, participating, administered));
end
$$;
