-- compatible: refuses what no page offers.

-- Any admin of two brokerages could move a client that somebody else shared from one to the other: the members of the first lost it, with no
-- record in its trail. A shared client is unshared first, which only its creator may do and which that trail tells.
create function app.keep_shared_client() returns trigger
  language plpgsql set search_path = ''
as $$
begin
  perform app.refuse('client_shared', 'The client is shared with another brokerage. Whoever added it has to stop sharing it there first.');
end
$$;
create trigger stay_shared before update of brokerage_id on public.connected_clients
  for each row when (old.brokerage_id is not null and new.brokerage_id is not null and new.brokerage_id <> old.brokerage_id)
  execute function app.keep_shared_client();
