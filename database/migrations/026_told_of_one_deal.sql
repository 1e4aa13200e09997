-- Whoever listens is asked about one deal at a time: what they are to all of their other deals costs a change nothing.
create or replace function app.listeners_told(changes jsonb, presented bytea)
returns table (session_id uuid, topic text, deal_id uuid)
language plpgsql volatile set search_path = '' as $$
#variable_conflict use_column
declare
  deals constant uuid[] := (select coalesce(array_agg(distinct c.deal_id), '{}')
    from jsonb_to_recordset(changes) as c (deal_id uuid, "table" text) where c."table" <> 'deal_opt_ins');
  people constant uuid[] := (select coalesce(array_agg(distinct person), '{}')
    from jsonb_to_recordset(changes) as c (records uuid[], "table" text), unnest(c.records) person
    where c."table" = 'deal_opt_ins');
  listener record;
begin
  for listener in
    -- An opt-in is its owner's, whatever the deal: it stands under no deal here.
    with of_deal as (
      select case when c ->> 'table' <> 'deal_opt_ins' then (c ->> 'deal_id')::uuid end as deal, jsonb_agg(c) as changes
      from jsonb_array_elements(changes) c group by 1
    )
    select s.session_id, s.digest, one.deal, o.changes
    from app.sessions_concerned(deals, people, presented) s
    cross join lateral (select distinct unnest(s.of_deals) as deal) one
    join of_deal o on o.deal is not distinct from one.deal
  loop
    perform from app.enter_with_session(listener.digest, false, case when listener.deal is not null then 'deals' end, listener.deal);
    continue when not found;
    return query
      select listener.session_id, c.topic, c.deal_id
      from jsonb_to_recordset(listener.changes) as c (topic text, "table" text, records uuid[], deal_id uuid, gone boolean)
      where app.sees_any(c."table", c.records, c.deal_id, c.gone);
  end loop;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
end
$$;
