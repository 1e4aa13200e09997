-- compatible: functions more, which no version before calls.
--
-- What tools and pages tell of the offers and the books of one deal. Read row by row, the policies of each table were looked at in each statement, and
-- cost more than the rows, of which most are not needed: a node keeps what it has read of books. Each function asks once what the reader is on the deal.

-- What settles what the reader sees of the books of the deal that this transaction is narrowed to: its currency, which uploads have completed and which
-- adjustments there are. `partial`: there are periods that are not among them, of uploads that have not completed. Nothing for API keys.
create function app.books_in_sight(deal uuid, most_uploads integer, most_adjustments integer)
returns table (digest text, partial boolean)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  is_member boolean;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  is_member := part[12] in ('broker', 'seller') or deal = any (app.qoe_deals(false));
  return query
    select encode(sha256(concat_ws(' ', d.id, d.currency,
        (select string_agg(concat_ws(' ', u.id, u.completed_at), ' ') from (
          select s.id, s.completed_at from public.accounting_snapshots s
          where is_member and s.deal_id = deal and s.status = 'completed'
          order by s.completed_at desc, s.id desc limit most_uploads) u), 'adjusted by',
        (select string_agg(n.id::text, ' ') from (
          select n.id from public.normalizations n where is_member and n.deal_id = deal
          order by n.created_at desc, n.id desc limit most_adjustments) n))::bytea), 'hex'),
      exists (select from public.accounting_snapshots s
        cross join lateral (select from public.pl_periods p where p.snapshot_id = s.id limit 1) p
        where is_member and s.deal_id = deal and s.status <> 'completed')
    from public.deals d where d.id = deal;
end
$$;
revoke execute on function app.books_in_sight(uuid, integer, integer) from public;
grant execute on function app.books_in_sight(uuid, integer, integer) to dealkeep_server;

-- The periods of every upload of a deal, the latest first, as arrays: the upload, label, first and last day, currency and amounts. With the caller's own
-- rights, and started only where a node does not hold them.
create function app.pl_periods_of(deal uuid, from_day date, to_day date, most integer) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(json_agg(json_build_array(p.snapshot_id, p.period_label, p.period_start_date, p.period_end_date, p.currency,
      trim_scale(p.revenue)::text, trim_scale(p.cost_of_goods_sold)::text, trim_scale(p.gross_profit)::text, trim_scale(p.operating_expenses)::text,
      trim_scale(p.owner_compensation)::text, trim_scale(p.depreciation_amortization)::text, trim_scale(p.interest_expense)::text,
      trim_scale(p.tax_expense)::text, trim_scale(p.net_income)::text, trim_scale(p.ebitda)::text)), '[]')::text
    from (
      select k.* from public.pl_periods k
      where k.deal_id = deal and (from_day is null or k.period_start_date >= from_day) and (to_day is null or k.period_end_date <= to_day)
      order by k.period_start_date desc, k.id desc limit most) p);
end
$$;
revoke execute on function app.pl_periods_of(uuid, date, date, integer) from public;
grant execute on function app.pl_periods_of(uuid, date, date, integer) to dealkeep_server;

-- What brokers said to the contradictions of those books: whether the reader is told of all of them, whether they may answer, and the answers that they may
-- read, with the names of whom they may know of.
create function app.contradictions_in_sight(deal uuid)
returns table (told_all boolean, may_answer boolean, answers json)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  of_deal_side boolean;
  of_workspace boolean;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  of_deal_side := part[12] in ('broker', 'seller');
  of_workspace := part[12] in ('buyer', 'viewer') and deal = any (app.qoe_deals(false));
  return query
    select of_deal_side, d.state <> 'closed' and part[10] = 'broker', (
      select coalesce(json_agg(json_build_object('contradiction', a.contradiction, 'figures', a.figures, 'status', a.status, 'why', a.why,
        'answered_by_name', (select app.people_on_deal(deal)) -> a.answered_by::text ->> 1,
        'answered_at', to_char(a.answered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'released_by_name', (select app.people_on_deal(deal)) -> a.released_by::text ->> 1,
        'released_at', to_char(a.released_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))), '[]')
      from (select k.* from public.contradiction_answers k
        where k.deal_id = deal and (of_deal_side or of_workspace and k.released_at is not null) limit 500) a)
    from public.deals d where d.id = deal;
end
$$;
revoke execute on function app.contradictions_in_sight(uuid) from public;
grant execute on function app.contradictions_in_sight(uuid) to dealkeep_server;

-- The offers on that deal that the reader may see, at most 50: current ones before earlier ones are taken, and the latest first. `buyer` is who made one
-- (id, name and role), as far as they are known.
create function app.offers_in_sight(deal uuid)
returns table (id uuid, buyer_user_id uuid, revision_number integer, is_current boolean, submitted_at timestamptz, payload text, buyer jsonb, told_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  of_deal_side boolean;
  principal uuid;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  of_deal_side := part[12] in ('broker', 'seller');
  principal := nullif(part[11], '')::uuid;
  return query
    select o.id, o.buyer_user_id, o.revision_number, o.is_current, o.submitted_at, o.payload::text, b.person, app.now()
    from (
      select k.* from public.offers k where k.deal_id = deal and (of_deal_side or k.participant_id = principal)
      order by k.is_current desc, k.submitted_at desc, k.id desc limit 50) o
    left join lateral (select jsonb_build_array(u.id, u.name, p.role) as person from public.participants p
      cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u
      where p.deal_id = deal and p.user_id = o.buyer_user_id and p.joined_at is not null offset 0) b on true
    order by o.submitted_at desc, o.id desc;
end
$$;
revoke execute on function app.offers_in_sight(uuid) from public;
grant execute on function app.offers_in_sight(uuid) to dealkeep_server;
