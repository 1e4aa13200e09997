-- no transaction
-- compatible: indexes alone, of rows of which there are few.
-- By them the jobs find withdrawn invitations and deleted clients that still have a name and an address.

set lock_timeout = '5s';
create index concurrently if not exists members_withdrawn on public.members (updated_at)
  where joined_at is null and status = 'removed' and invited_email not like 'erased-%';
create index concurrently if not exists participants_withdrawn on public.participants (updated_at)
  where joined_at is null and status = 'removed' and invited_email not like 'erased-%';
create index concurrently if not exists connected_clients_deleted on public.connected_clients (deleted_at)
  where deleted_at is not null and brokerage_id is null and metadata_url is null and redirect_uris <> '{}';
