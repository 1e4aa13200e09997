-- compatible: a column that a trigger fills; nodes of the release before neither read nor write it.
--
-- An adjustment had no currency: whatever the books were in later, it counted in that. It keeps the one it was recorded in, which is
-- that of the figures then, and without figures that of the deal. Adjustments from before have none, and count as they did.

alter table public.normalizations add column currency text;

create function app.set_currency_of_books()
 returns trigger
 language plpgsql
 security definer
 set search_path to ''
as $function$
begin
  -- The same row decides the currency of all figures (server/domain/diligence/books.ts).
  new.currency := coalesce(new.currency, (
    select p.currency from public.pl_periods p
    join public.accounting_snapshots s on s.id = p.snapshot_id and s.status = 'completed'
    where p.deal_id = new.deal_id
    order by p.period_end_date desc, p.period_start_date desc, s.completed_at desc, s.id desc limit 1), (
    select d.currency from public.deals d where d.id = new.deal_id));
  return new;
end
$function$;
revoke all on function app.set_currency_of_books() from public;

create trigger set_the_currency before insert on public.normalizations for each row execute function app.set_currency_of_books();

CREATE OR REPLACE FUNCTION app.written_books(deal uuid, most_uploads integer, most_periods integer, most_customers integer, most_adjustments integer)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return (
    with uploads as materialized (
      select s.id, s.completed_at, s.source_name from public.accounting_snapshots s
      where s.deal_id = deal and s.status = 'completed'
      order by s.completed_at desc, s.id desc limit most_uploads
    ), listing as materialized (
      select u.id, sum(counted.rows) over (order by u.completed_at desc, u.id desc) as rows
      from uploads u cross join lateral (
        select count(*) as rows from public.customer_revenues c
        where most_customers > 0 and c.deal_id = deal and c.snapshot_id = u.id) counted
    )
    select json_build_object(
      'currency', d.currency,
      'uploads', (
        select coalesce(json_agg(json_build_object('id', u.id,
          'completed_at', to_char(u.completed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'source_name', u.source_name)), '[]')
        from uploads u),
      'periods', (
        select coalesce(json_agg(json_build_object('id', p.id, 'snapshot_id', p.snapshot_id, 'label', p.period_label,
          'first', p.period_start_date, 'last', p.period_end_date, 'currency', p.currency,
          'amounts', json_build_array(p.revenue::text, p.cost_of_goods_sold::text, p.gross_profit::text, p.operating_expenses::text,
            p.owner_compensation::text, p.depreciation_amortization::text, p.interest_expense::text, p.tax_expense::text,
            p.net_income::text, p.ebitda::text))), '[]')
        from (
          select p.* from public.pl_periods p join uploads u on u.id = p.snapshot_id
          where p.deal_id = deal
          order by u.completed_at desc, p.period_start_date desc, p.id desc limit most_periods) p),
      'customers', (
        select coalesce(json_agg(json_build_object('snapshot_id', c.snapshot_id, 'first', c.period_start_date, 'last', c.period_end_date,
          'currency', c.currency, 'ids', c.ids, 'names', c.names, 'revenues', c.revenues)), '[]')
        from (
          select c.snapshot_id, c.period_start_date, c.period_end_date, c.currency, string_agg(c.id::text, ' ') as ids,
            array_agg(c.customer_name) as names, string_agg(c.revenue_total::text, ' ') as revenues
          from public.customer_revenues c
          where most_customers > 0 and c.deal_id = deal
            and c.snapshot_id in (select l.id from listing l where l.rows <= most_customers)
          group by c.snapshot_id, c.period_start_date, c.period_end_date, c.currency) c),
      'adjustments', (
        select coalesce(json_agg(json_build_object('id', n.id, 'period_label', n.period_label, 'category', n.adjustment_category,
          'amount', n.adjustment_amount::text, 'currency', n.currency, 'rationale', n.rationale)), '[]')
        from (
          select n.* from public.normalizations n where n.deal_id = deal
          order by n.created_at desc, n.id desc limit most_adjustments) n))::text
    from public.deals d where d.id = deal);
end $function$;
