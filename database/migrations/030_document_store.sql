-- Which store keeps the documents of this database: the store is marked with this id, and a node whose store is not marked
-- with it does not start. Nodes that keep documents in several places would each miss those of the others.
create table vault.document_store (
  only_one boolean primary key default true check (only_one),
  id uuid not null,
  claimed_at timestamptz not null,
  marked_at timestamptz
);
select app.protect('vault.document_store');

-- The store's id, whether the store is marked with it already, and whether it is for whoever asks with this candidate to
-- mark it: one node does at the first start. When it has not for half a minute, it has died over it.
create function app.document_store(candidate uuid, out store_id uuid, out is_marked boolean, out is_mine boolean)
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.document_store as s (id, claimed_at) values (candidate, app.now())
    on conflict (only_one) do update set id = excluded.id, claimed_at = excluded.claimed_at
    where s.marked_at is null and s.claimed_at < app.now() - interval '30 seconds';
  select s.id, s.marked_at is not null, s.id = candidate into store_id, is_marked, is_mine from vault.document_store s;
end
$$;
grant execute on function app.document_store(uuid) to dealkeep_server;

-- Notes that the store with this id is marked.
create function app.document_store_marked(store_id uuid) returns void
language sql security definer set search_path = '' as $$
  update vault.document_store set marked_at = app.now() where id = store_id and marked_at is null
$$;
grant execute on function app.document_store_marked(uuid) to dealkeep_server;
