-- compatible: a function is added.
-- The deals that an API key reaches, newest first, in pages: one scan of the index deals_for_keys in its order. The policy on deals compares each deal with a list
-- of all that the key reaches, which is made for one deal and not for thousands.

create function app.deals_for_key(patterns text[], in_state text, updated_since timestamptz, after_at timestamptz, after_id uuid, most int)
returns table (id uuid, title text, state text, organization_id uuid, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz,
  created_at timestamptz, updated_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  brokerage constant uuid := app.key_brokerage('deals:read');
  last_at constant timestamptz := coalesce(after_at, 'infinity');
  last_id constant uuid := coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
  -- A lapsed exclusivity leaves the deal listed, as app.state_now has it.
  return query
    select d.id, d.title, s.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
      x.buyer_user_id, x.granted_at, x.expires_at, d.closed_at, d.created_at, s.updated_at
    from public.deals d
    left join lateral (select g.state, g.updated_at from public.deal_stages g where g.deal_id = d.id limit 1) g on true
    left join lateral (
      select e.buyer_user_id, e.granted_at, e.expires_at from public.exclusivities e
      where e.deal_id = d.id and e.ended_at is null and (e.expires_at > app.now() or g.state <> 'exclusivity' or d.state = 'closed')
      limit 1) x on true
    cross join lateral (select
      case when g.state = 'exclusivity' and x.buyer_user_id is null then 'listed' else coalesce(g.state, d.state) end as state,
      greatest(d.updated_at, g.updated_at) as updated_at) s
    where d.organization_id = brokerage and d.keys_admitted
      and (d.created_at, d.id) < (last_at, last_id)
      and (patterns is null or lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns))
      and (in_state is null or s.state = in_state)
      and (updated_since is null or s.updated_at >= updated_since)
    order by d.created_at desc, d.id desc
    limit most;
end
$$;
grant execute on function app.deals_for_key(text[], text, timestamptz, timestamptz, uuid, int) to dealkeep_server;
