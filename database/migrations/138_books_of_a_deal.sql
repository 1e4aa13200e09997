-- compatible: a function that no version before calls.
-- Most calls need no rows of the books, as they are kept: a statement of its own is planned and started only where they are read.

-- With the caller's own rights: what row-level security hides from them is not in it.
create function app.books_of(deal uuid, most_uploads integer, most_periods integer, most_customers integer, most_adjustments integer)
returns text language plpgsql stable set search_path = '' as $$
begin
  return (
    with uploads as materialized (
      select s.id, s.completed_at, s.source_name from public.accounting_snapshots s
      where s.deal_id = deal and s.status = 'completed'
      order by s.completed_at desc, s.id desc limit most_uploads
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
        select coalesce(json_agg(json_build_object('id', c.id, 'snapshot_id', c.snapshot_id, 'name', c.customer_name,
          'first', c.period_start_date, 'last', c.period_end_date, 'currency', c.currency, 'revenue', c.revenue_total::text)), '[]')
        from (
          select c.* from public.customer_revenues c join uploads u on u.id = c.snapshot_id
          where c.deal_id = deal
          order by u.completed_at desc, c.period_start_date desc, c.revenue_total desc, c.id limit most_customers) c),
      'adjustments', (
        select coalesce(json_agg(json_build_object('id', n.id, 'period_label', n.period_label, 'category', n.adjustment_category,
          'amount', n.adjustment_amount::text, 'rationale', n.rationale)), '[]')
        from (
          select n.* from public.normalizations n where n.deal_id = deal
          order by n.created_at desc, n.id desc limit most_adjustments) n))::text
    from public.deals d where d.id = deal);
end $$;
revoke execute on function app.books_of(uuid, integer, integer, integer, integer) from public;
grant execute on function app.books_of(uuid, integer, integer, integer, integer) to dealkeep_server;
