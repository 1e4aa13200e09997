-- compatible: an index is added.
-- no transaction

-- Of somebody's ten thousand deals the latest are found without reading the deals.
create index concurrently if not exists deals_in_order on public.deals (id) include (created_at, state, organization_id);
