-- compatible: a table and functions are added.
-- Secrets must not be encrypted with a key that a running node lacks: each node says which keys it has.

-- The running nodes. Nothing of it has to survive a crash or belongs in a backup: nodes write it anew every some seconds.
create unlogged table vault.nodes (
  id uuid primary key,
  place text not null check (length(place) between 1 and 300),
  -- Ids, as they appear in encrypted text; they do not reveal the keys.
  secrets_keys text[] not null,
  seen_at timestamptz not null
);
select app.protect('vault.nodes');

-- Notes that a node is running, where, and with which keys; removes nodes that ended without a word.
create function app.note_node(node uuid, place text, secrets_keys text[]) returns void
language sql security definer set search_path = '' as $$
  insert into vault.nodes as n (id, place, secrets_keys, seen_at) values (node, place, secrets_keys, app.now())
    on conflict (id) do update set place = excluded.place, secrets_keys = excluded.secrets_keys, seen_at = excluded.seen_at;
  -- Nodes that were all away note themselves at the same time: none waits for another's row while it holds its own.
  delete from vault.nodes n where n.id in (
    select o.id from vault.nodes o where o.seen_at <= app.now() - interval '1 minute' for update skip locked);
$$;

create function app.forget_node(node uuid) returns void
language sql security definer set search_path = '' as $$
  delete from vault.nodes n where n.id = node;
$$;

grant execute on function app.note_node(uuid, text, text[]), app.forget_node(uuid) to dealkeep_server;
